// Going to a sentence of this page and marking it, without a change of the page's own markup.

import { findNamed, namedBy, textOf } from "./fragment.ts";

const NAME = "citewell-cited";
const SKIPPED = "script, style, noscript, template, nav, citewell-chat, .katex-mathml";

/** Goes to the words or the heading that the address names on this page, and gives them, if they are there. */
export function goToSentence(url: string): Range | Element | null {
  const named = namedBy(url);
  const range = named && (findIn("main, [role=main], article", named) ?? findIn("body", named));
  const anchor = anchorOf(url);
  if (range) mark(range);
  const target = range ? blockOf(range.startContainer) : anchor;
  if (!target) return null;
  for (let box = target.closest("details"); box; box = box.parentElement?.closest("details") ?? null) box.open = true;
  scrollTo(target, range);
  focusOn(target, range !== null);
  return range ?? target;
}

function findIn(where: string, named: NonNullable<ReturnType<typeof namedBy>>): Range | null {
  const root = document.querySelector(where);
  if (!root) return null;
  const { text, at } = textOf(root, SKIPPED);
  const found = findNamed(text, named);
  const [first, last] = found ? [at[found[0]], at[found[1] - 1]] : [];
  if (!first || !last) return null;
  const range = document.createRange();
  range.setStart(first.node, first.offset);
  range.setEnd(last.node, last.offset + 1);
  return range;
}

// To the words themselves: their paragraph may be taller than the window.
function scrollTo(target: HTMLElement, range: Range | null): void {
  const before = target.style.scrollMarginTop;
  if (range) {
    const within = range.getBoundingClientRect().top - target.getBoundingClientRect().top;
    target.style.scrollMarginTop = `${innerHeight / 3 - within}px`;
  }
  target.scrollIntoView({ block: "start", behavior: "instant" });
  target.style.scrollMarginTop = before;
}

function mark(range: Range): void {
  if (!("highlights" in CSS)) {
    const selection = getSelection();
    selection?.removeAllRanges();
    selection?.addRange(range);
    return;
  }
  addStyle();
  CSS.highlights.set(NAME, new Highlight(range));
}

let styled = false;

// A sheet of the page's own is needed: what is inside a shadow root cannot style what is outside.
function addStyle(): void {
  if (styled) return;
  styled = true;
  const sheet = new CSSStyleSheet();
  // Where the browser went to the words itself, it marks them too: on top, and in a colour of its own.
  const looks = "{ background-color: #ffe066; color: #1c1e21; }";
  sheet.replaceSync(`::highlight(${NAME}) ${looks} ::target-text ${looks}`);
  document.adoptedStyleSheets.push(sheet);
}

function anchorOf(url: string): HTMLElement | null {
  const id = decodeURIComponent(new URL(url, location.href).hash.slice(1).split(":~:")[0] ?? "");
  return id ? document.getElementById(id) : document.querySelector("h1");
}

function blockOf(node: Node): HTMLElement | null {
  const element = node instanceof Element ? node : node.parentElement;
  return (
    element?.closest<HTMLElement>(
      "p, li, td, th, dt, dd, pre, blockquote, figcaption, h1, h2, h3, h4, h5, h6, summary, div",
    ) ?? null
  );
}

// So that reading goes on from there, also by keyboard and screen reader.
function focusOn(target: HTMLElement, lit: boolean): void {
  if (target.hasAttribute("tabindex")) return;
  const before = target.style.outline;
  target.tabIndex = -1;
  // The marked words tell where the focus is; a frame around their whole paragraph would say less.
  if (lit) target.style.outline = "none";
  const leave = () => {
    target.removeAttribute("tabindex");
    target.style.outline = before;
  };
  target.addEventListener("blur", leave, { once: true });
  target.focus({ preventScroll: true });
}
