import { css } from "lit";

/** Colours, type, and what all controls share. A site's own variables come first, Infima's next. */
export const base = css`
  :host {
    all: initial;
    --surface: var(--citewell-surface, var(--ifm-background-surface-color, #ffffff));
    --ink: var(--citewell-ink, var(--ifm-font-color-base, #1c1e21));
    --wanted: var(--citewell-accent, var(--ifm-color-primary, #2b5fc7));
    --accent: var(--citewell-accent-shown, var(--wanted));
    --on-accent: var(--citewell-on-accent-shown, #ffffff);
    --soft: color-mix(in srgb, var(--ink) 72%, var(--surface));
    --line: color-mix(in srgb, var(--ink) 14%, var(--surface));
    --edge: color-mix(in srgb, var(--ink) 52%, var(--surface));
    --wash: color-mix(in srgb, var(--ink) 5%, var(--surface));
    --tint: color-mix(in srgb, var(--accent) 10%, var(--surface));
    --warn: #9a5b00;
    --bad: #b3261e;
    --good: #1a7f4b;
    --shade: 0 1px 2px rgb(0 0 0 / 8%), 0 8px 28px rgb(0 0 0 / 16%);
    --round: var(--citewell-radius, 16px);
    --font: var(--citewell-font, var(--ifm-font-family-base, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif));
    --mono: var(--citewell-font-mono, var(--ifm-font-family-monospace, ui-monospace, SFMono-Regular, Menlo, Consolas, monospace));
    color-scheme: light;
  }
  :host([data-scheme="dark"]) {
    --surface: var(--citewell-surface, var(--ifm-background-surface-color, #1f2125));
    --ink: var(--citewell-ink, var(--ifm-font-color-base, #e6e8eb));
    --wanted: var(--citewell-accent, var(--ifm-color-primary, #8fb4ff));
    --warn: #f0b95c;
    --bad: #ff9c94;
    --good: #6fd49b;
    --shade: 0 1px 2px rgb(0 0 0 / 40%), 0 8px 28px rgb(0 0 0 / 56%);
    color-scheme: dark;
  }
  :host([hidden]) {
    display: none;
  }

  /* Styles of the site for every element, as \`* { letter-spacing: … }\`, reach the host and are inherited. */
  .root {
    all: initial;
    display: block;
    color-scheme: inherit;
    font: 400 0.9375rem/1.6 var(--font);
    color: var(--ink);
    text-align: start;
  }
  *,
  *::before {
    box-sizing: border-box;
  }
  p,
  h2,
  ul,
  ol,
  blockquote,
  fieldset,
  pre {
    margin: 0;
    padding: 0;
    border: 0;
  }
  [hidden] {
    display: none !important;
  }
  button,
  textarea,
  input {
    font: inherit;
    color: inherit;
  }
  button {
    cursor: pointer;
  }
  button[aria-disabled="true"] {
    cursor: not-allowed;
    opacity: 0.55;
  }
  a {
    color: var(--accent);
    text-decoration: underline;
    text-decoration-thickness: 1px;
    text-underline-offset: 0.18em;
  }
  a:hover {
    text-decoration-thickness: 2px;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .icon {
    inline-size: 1.25rem;
    block-size: 1.25rem;
    flex: none;
    fill: none;
    stroke: currentColor;
    stroke-width: 1.75;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  .plain {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 0.35rem;
    min-inline-size: 2rem;
    min-block-size: 2rem;
    padding: 0.25rem;
    border: 0;
    border-radius: 8px;
    background: none;
    color: var(--soft);
  }
  .plain:hover,
  .plain[aria-pressed="true"] {
    background: var(--wash);
    color: var(--ink);
  }
  .plain[aria-pressed="true"] {
    color: var(--accent);
  }
  .plain.small {
    min-inline-size: 1.75rem;
    min-block-size: 1.75rem;
    padding-inline: 0.4rem;
    font-size: 0.8125rem;
  }
  .plain.small .icon {
    inline-size: 1rem;
    block-size: 1rem;
  }
  .second {
    min-block-size: 2.25rem;
    padding: 0.3rem 0.9rem;
    border: 1px solid var(--edge);
    border-radius: 999px;
    background: var(--surface);
    font-weight: 500;
  }
  .second:hover {
    background: var(--wash);
  }
  .faint {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .label {
    font-size: 0.8125rem;
    font-weight: 600;
    color: var(--soft);
  }
  .clip {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .badge {
    flex: none;
    padding: 0.05rem 0.5rem;
    border-radius: 999px;
    background: var(--tint);
    font-size: 0.75rem;
    font-weight: 600;
    color: var(--accent);
  }
  .probe {
    color: var(--wanted);
    background-color: var(--surface);
  }
  .unseen {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;
