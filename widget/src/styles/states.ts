import { css } from "lit";

/** What stands around an answer, and the reader's own wishes about motion and colour. */
export const states = css`
  .welcome {
    display: grid;
    gap: 0.75rem;
  }
  .welcome > p:first-child {
    margin-block-end: 0.75rem;
    font-size: 1.0625rem;
    line-height: 1.55;
    text-wrap: pretty;
  }
  .starters {
    display: grid;
    gap: 0.5rem;
    list-style: none;
  }
  .starters li + li {
    margin: 0;
  }
  .starters a {
    display: block;
    padding: 0.65rem 0.95rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    line-height: 1.45;
    color: inherit;
    text-decoration: none;
  }
  .starters a:hover {
    border-color: var(--accent);
    background: var(--tint);
  }

  .progress {
    display: flex;
    align-items: center;
    gap: 0.6rem;
    margin-block-start: 1rem;
    font-size: 0.875rem;
    color: var(--soft);
  }
  .dots {
    display: inline-flex;
    gap: 0.25rem;
  }
  .dots i {
    inline-size: 0.375rem;
    block-size: 0.375rem;
    border-radius: 50%;
    background: var(--accent);
    animation: breathe 1.2s ease-in-out infinite;
  }
  .dots i:nth-child(2) {
    animation-delay: 0.15s;
  }
  .dots i:nth-child(3) {
    animation-delay: 0.3s;
  }
  @keyframes breathe {
    50% {
      opacity: 0.25;
    }
  }

  .ending {
    display: grid;
    gap: 0.4rem;
    margin-block-start: 1rem;
    padding-block-start: 0.75rem;
    border-block-start: 1px solid var(--line);
  }
  summary {
    inline-size: fit-content;
    min-block-size: 1.5rem;
    cursor: pointer;
  }
  .sources {
    margin-block: 0.2rem 0.4rem;
    display: grid;
    gap: 0.2rem;
    list-style: none;
    font-size: 0.875rem;
    line-height: 1.45;
  }
  .sources li {
    display: flex;
    gap: 0.5rem;
    margin: 0;
    min-block-size: 1.5rem;
  }
  .sources .number {
    min-inline-size: 1rem;
    font-variant-numeric: tabular-nums;
    color: var(--soft);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.25rem 0.75rem;
  }
  .facts {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .facts[data-doubt="true"] {
    color: var(--warn);
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.15rem;
    margin-inline-start: auto;
  }
  .thanks {
    text-align: end;
  }
  .actions .icon {
    inline-size: 1.1rem;
    block-size: 1.1rem;
  }
  .withheld {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .withheld ul {
    padding-block: 0.3rem;
    padding-inline-start: 1.2rem;
  }
  .feedback {
    display: grid;
    gap: 0.6rem;
    inline-size: 100%;
    margin-block-start: 0.4rem;
    padding: 0.8rem 1rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    font-size: 0.875rem;
  }
  .feedback legend {
    padding: 0;
    font-weight: 600;
  }
  .feedback label {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-block-size: 1.9rem;
  }
  .feedback input {
    margin: 0;
    accent-color: var(--accent);
  }
  .feedback .comment {
    display: grid;
    gap: 0.25rem;
  }
  .feedback textarea {
    padding: 0.4rem 0.6rem;
    border: 1px solid var(--edge);
    border-radius: 8px;
    background: var(--surface);
    resize: vertical;
  }

  .refusal,
  .notice {
    display: grid;
    gap: 0.5rem;
    justify-items: start;
    margin-block-start: 1rem;
  }
  .notice {
    padding: 0.75rem 1rem 0.9rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--wash);
    font-size: 0.875rem;
    overflow-wrap: anywhere;
  }
  .notice.problem {
    border-inline-start: 3px solid var(--warn);
  }
  .closest {
    padding: 0.65rem 0.95rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    font-size: 0.875rem;
  }
  .closest p {
    color: var(--soft);
  }

  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation: none !important;
      transition: none !important;
    }
  }
  @media print {
    :host {
      display: none !important;
    }
  }
  @media (forced-colors: active) {
    .mark,
    .launcher,
    .send,
    .badge,
    .asked {
      border: 1px solid currentColor;
    }
    .dots i {
      forced-color-adjust: none;
      background: CanvasText;
    }
  }
`;
