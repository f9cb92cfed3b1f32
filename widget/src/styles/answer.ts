import { css } from "lit";

/** Questions, answers, marks and quotes. */
export const answer = css`
  /* So that the newest question can be scrolled to the top, with its answer below. */
  .turn:last-child:not([data-status="queued"]) {
    min-block-size: 100%;
  }
  .turn + .turn {
    margin-block-start: 2rem;
  }
  .asked {
    inline-size: fit-content;
    max-inline-size: 88%;
    margin-inline-start: auto;
    padding: 0.55rem 0.95rem;
    border-radius: 1.1rem 1.1rem 0.3rem;
    background: var(--tint);
    overflow-wrap: anywhere;
  }
  .asked [dir]:not(.clip) {
    display: block;
    white-space: pre-line;
  }
  .asked:dir(rtl) {
    border-radius: 1.1rem 1.1rem 1.1rem 0.3rem;
  }
  .scope {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.2rem 0.5rem;
    margin-block-start: 0.3rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .scope .badge {
    background: var(--surface);
  }
  .scope .clip {
    flex: 1 1 8rem;
  }
  .answer {
    margin-block-start: 1rem;
    overflow-wrap: break-word;
    unicode-bidi: isolate;
  }
  .answer > * + *,
  .quote > * + *,
  blockquote > * + *,
  .answer li > * + *,
  .quote li > * + * {
    margin-block-start: 0.75rem;
  }
  .answer .rest {
    margin-block-start: 0.6rem;
  }
  .answer .unread {
    white-space: pre-wrap;
    content-visibility: auto;
    contain-intrinsic-size: auto 60rem;
  }
  .heading {
    line-height: 1.35;
  }
  .answer ul,
  .answer ol,
  .quote ul,
  .quote ol {
    padding-inline-start: 1.4rem;
  }
  li + li {
    margin-block-start: 0.3rem;
  }
  hr {
    border: 0;
    border-block-start: 1px solid var(--line);
  }
  code {
    padding: 0.1em 0.3em;
    border-radius: 5px;
    background: var(--wash);
    font: 0.875em/1.5 var(--mono);
    overflow-wrap: anywhere;
  }
  .code {
    position: relative;
    border: 1px solid var(--line);
    border-radius: 10px;
    background: var(--wash);
  }
  .code pre {
    padding: 0.75rem 0.9rem;
    white-space: pre;
  }
  .code pre code {
    padding: 0;
    background: none;
    overflow-wrap: normal;
  }
  .code .copy {
    position: absolute;
    inset-block-start: 0.3rem;
    inset-inline-end: 0.3rem;
    min-block-size: 1.75rem;
    padding-inline: 0.6rem;
    background: var(--surface);
    font-size: 0.75rem;
    font-weight: 500;
  }
  .copy {
    position: relative;
  }
  .copy[data-said]::after {
    content: attr(data-said);
    position: absolute;
    inset-block-end: calc(100% + 0.3rem);
    inset-inline-end: 0;
    padding: 0.2rem 0.6rem;
    border-radius: 8px;
    background: var(--ink);
    color: var(--surface);
    font-size: 0.75rem;
    white-space: nowrap;
  }
  .scroll {
    overflow-x: auto;
    scrollbar-width: thin;
  }
  table {
    min-inline-size: 100%;
    border-collapse: collapse;
    font-size: 0.875rem;
    line-height: 1.45;
  }
  th,
  td {
    padding: 0.4rem 0.7rem;
    border-block-end: 1px solid var(--line);
    text-align: start;
    vertical-align: top;
  }
  th {
    font-weight: 600;
    white-space: nowrap;
  }
  [data-align="right"] {
    text-align: end;
  }
  [data-align="center"] {
    text-align: center;
  }
  .math {
    unicode-bidi: isolate;
  }
  /* Chromium knows no \`columnalign\`, by which TeX's aligned equations are set. */
  .math mtable[columnalign^="right left"] mtd:nth-child(odd) {
    text-align: right;
  }
  .math mtable[columnalign^="right left"] mtd:nth-child(even) {
    text-align: left;
  }
  .math.display {
    display: block;
    overflow-x: auto;
    padding-block: 0.25rem;
  }

  /* Browsers leave out what MathML Core leaves out: how the columns of a table are aligned. */
  mtable[columnalign^="right"] > mtr > mtd {
    padding-inline: 0;
    text-align: right;
  }
  mtable[columnalign^="left"] > mtr > mtd,
  mtable[columnalign^="right left"] > mtr > mtd:nth-child(even) {
    text-align: left;
  }

  .bound {
    white-space: nowrap;
  }
  .mark {
    display: inline-block;
    min-inline-size: 1.5em;
    margin-inline: 0.2em 0.1em;
    padding: 0 0.35em;
    border: 1px solid transparent;
    border-radius: 999px;
    background: var(--tint);
    font-size: 0.75em;
    font-weight: 600;
    line-height: 1.65;
    font-variant-numeric: tabular-nums;
    color: var(--accent);
    vertical-align: 0.12em;
    position: relative;
  }
  .mark::after {
    content: "";
    position: absolute;
    inset: 50% auto auto 50%;
    inline-size: 24px;
    block-size: 24px;
    transform: translate(-50%, -50%);
  }
  .mark:hover,
  .mark[aria-expanded="true"] {
    background: var(--accent);
    color: var(--on-accent);
  }
  .mark[data-verdict="partly"]:not(:hover, [aria-expanded="true"]) {
    border: 1px dashed currentColor;
  }
  .mark[data-verdict="unsupported"],
  .mark[data-verdict="contradicted"] {
    border: 1px solid currentColor;
    background: none;
    color: var(--bad);
  }
  .quote {
    padding-block: 0.6rem 0.75rem;
    padding-inline: 1rem 0.6rem;
    border: 1px solid var(--line);
    border-inline-start: 3px solid var(--accent);
    border-radius: 4px 10px 10px 4px;
    background: var(--wash);
    font-size: 0.875rem;
  }
  .quote[data-verdict="partly"] {
    border-inline-start-color: var(--warn);
  }
  .quote[data-verdict="unsupported"],
  .quote[data-verdict="contradicted"] {
    border-inline-start-color: var(--bad);
  }
  .quote:dir(rtl) {
    border-radius: 10px 4px 4px 10px;
  }
  .verdict {
    display: flex;
    align-items: center;
    gap: 0.35rem;
    font-size: 0.8125rem;
    font-weight: 600;
    color: var(--good);
  }
  .verdict .plain {
    margin-inline-start: auto;
  }
  .verdict .icon {
    inline-size: 1rem;
    block-size: 1rem;
    stroke-width: 2.25;
  }
  .verdict[data-verdict="partly"] {
    color: var(--warn);
  }
  .verdict[data-verdict="unsupported"],
  .verdict[data-verdict="contradicted"] {
    color: var(--bad);
  }
  .quote > .verdict + * {
    margin-block-start: 0.2rem;
  }
  .quote blockquote {
    padding-inline-end: 0.4rem;
  }
  .where {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: 0.15rem 1rem;
    padding-inline-end: 0.4rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .go {
    display: inline-flex;
    align-items: center;
    gap: 0.25rem;
    min-block-size: 1.5rem;
    font-weight: 600;
  }
  .go .icon {
    inline-size: 0.9rem;
    block-size: 0.9rem;
  }
  .go .icon:dir(rtl) {
    transform: scaleX(-1);
  }
  .own::after,
  .away::after {
    content: "¶" / "";
    margin-inline-start: 0.15em;
    font-size: 0.8em;
  }
  .away::after {
    content: "↗" / "";
  }
`;
