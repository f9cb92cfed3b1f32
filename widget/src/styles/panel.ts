import { css } from "lit";

/** The launcher, the panel, and where the question is written. */
export const panel = css`
  .launcher {
    position: fixed;
    z-index: var(--citewell-z-index, 300);
    inset-block-end: max(1.25rem, env(safe-area-inset-bottom));
    inset-inline-end: 1.25rem;
    display: inline-flex;
    align-items: center;
    gap: 0.5rem;
    min-block-size: 3rem;
    padding-block: 0.6rem;
    padding-inline: 1rem 1.15rem;
    border: 1px solid transparent;
    border-radius: 999px;
    background: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
    box-shadow: var(--shade);
  }
  .launcher:focus-visible {
    outline-offset: 3px;
  }
  :host([position="left"]) .launcher,
  :host([position="left"]) .panel[open] {
    inset-inline: auto;
    left: 1.25rem;
  }
  :host([position="right"]) .launcher,
  :host([position="right"]) .panel[open] {
    inset-inline: auto;
    right: 1.25rem;
  }

  .panel[open] {
    position: fixed;
    z-index: var(--citewell-z-index, 300);
    inset: auto;
    inset-block-end: 1.25rem;
    inset-inline-end: 1.25rem;
    display: flex;
    flex-direction: column;
    inline-size: min(var(--citewell-width, 27rem), calc(100vw - 2.5rem));
    block-size: min(var(--citewell-height, 44rem), calc(100dvh - 2.5rem));
    max-inline-size: none;
    max-block-size: none;
    margin: 0;
    padding: 0;
    overflow: hidden;
    border: 1px solid var(--line);
    border-radius: var(--round);
    background: var(--surface);
    color: var(--ink);
    box-shadow: var(--shade);
  }
  @media (max-width: 30rem), (max-height: 24rem) {
    :host(:not([position="inline"])) .panel[open] {
      overflow-y: auto;
      inset: 0;
      inline-size: 100%;
      block-size: 100dvh;
      border: 0;
      border-radius: 0;
    }
  }
  :host([position="inline"]) {
    display: block;
    block-size: 100%;
  }
  :host([position="inline"]) .root {
    block-size: 100%;
  }
  :host([position="inline"]) .panel[open] {
    position: static;
    inline-size: 100%;
    block-size: 100%;
    box-shadow: none;
  }
  :host([data-low]) .panel[open] {
    block-size: min(20rem, 45dvh);
  }
  .panel::backdrop {
    background: rgb(0 0 0 / 40%);
  }

  .about {
    position: fixed;
    z-index: var(--citewell-z-index, 300);
    inset-block-start: var(--y);
    /* Half of the longest label: the button stays on the screen, also at its edge. */
    left: clamp(7.5rem, var(--x), 100vw - 7.5rem);
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
    min-block-size: 2.25rem;
    padding-block: 0.25rem;
    padding-inline: 0.6rem 0.75rem;
    border: 1px solid var(--line);
    border-radius: 999px;
    background: var(--surface);
    font-size: 0.875rem;
    font-weight: 600;
    white-space: nowrap;
    box-shadow: var(--shade);
    transform: translateX(-50%);
  }
  .about .icon {
    inline-size: 1rem;
    block-size: 1rem;
    color: var(--accent);
  }
  .about kbd {
    font: 500 0.75rem var(--font);
    color: var(--soft);
  }
  @media (hover: none) {
    .about kbd {
      display: none;
    }
  }

  header {
    display: flex;
    flex: none;
    align-items: center;
    gap: 0.25rem;
    padding-block: 0.7rem;
    padding-inline: 1.25rem 0.75rem;
    border-block-end: 1px solid var(--line);
  }
  header h2 {
    flex: 1;
    min-inline-size: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    font-size: 1rem;
    font-weight: 650;
    line-height: 1.4;
    text-align: -webkit-match-parent;
    text-align: match-parent;
  }
  .thread {
    /* Holds what only screen readers see, which would make the page longer otherwise. */
    position: relative;
    flex: 1 0 8rem;
    min-block-size: 0;
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: 1.25rem;
    scrollbar-width: thin;
  }
  .thread:focus-visible {
    outline-offset: -3px;
  }

  .composer {
    flex: none;
    padding: 0.5rem 0.9rem max(0.7rem, env(safe-area-inset-bottom));
  }
  .field {
    display: flex;
    align-items: flex-end;
    gap: 0.4rem;
    padding-block: 0.4rem;
    padding-inline: 0.9rem 0.4rem;
    border: 1px solid var(--edge);
    border-radius: 1.4rem;
    background: var(--surface);
  }
  .field:focus-within {
    border-color: var(--accent);
    box-shadow: 0 0 0 1px var(--accent);
  }
  .field textarea {
    flex: 1;
    min-inline-size: 0;
    max-block-size: 9rem;
    margin: 0;
    padding: 0.25rem 0;
    field-sizing: content;
    resize: none;
    border: 0;
    outline: 0;
    background: none;
  }
  ::placeholder {
    color: var(--soft);
    opacity: 1;
  }
  .send {
    display: grid;
    flex: none;
    place-items: center;
    inline-size: 2.1rem;
    block-size: 2.1rem;
    padding: 0;
    border: 1px solid transparent;
    border-radius: 50%;
    background: var(--accent);
    color: var(--on-accent);
  }
  .send[aria-disabled="true"] {
    background: var(--line);
    color: var(--soft);
    opacity: 1;
  }
  .under {
    display: flex;
    justify-content: space-between;
    gap: 1rem;
    padding-inline: 0.9rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .under:has(.only),
  .under:has(.counter:not(:empty)) {
    margin-block-start: 0.4rem;
  }
  .only {
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
    min-inline-size: 0;
    min-block-size: 1.5rem;
  }
  .only input {
    flex: none;
    margin: 0;
    accent-color: var(--accent);
  }
  [aria-invalid="true"] ~ .counter,
  .composer:has([aria-invalid="true"]) .counter {
    color: var(--bad);
    font-weight: 600;
  }
  .chip {
    display: flex;
    align-items: start;
    gap: 0.5rem;
    margin-block-end: 0.5rem;
    padding-block: 0.4rem;
    padding-inline: 0.75rem 0.35rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--wash);
    font-size: 0.8125rem;
  }
  .chip p {
    display: grid;
    flex: 1;
    gap: 0.15rem;
    justify-items: start;
    min-inline-size: 0;
  }
  .chip .clip {
    max-inline-size: 100%;
  }
  .chip .icon {
    inline-size: 1rem;
    block-size: 1rem;
  }
`;
