// Going to a sentence of this page and marking it, without a change of the page's own markup.

import { findNamed, namedBy, textOf } from "./fragment.ts";

const NAME = "quire-cited";
const SKIPPED = "script, style, noscript, template, nav, quire-chat, .katex-mathml";

/** Goes to the words or the heading that the address names on this page, and gives them, if they are there. */
export function goToSentence(url: string): Range | Element | null {
  const named = namedBy(url);
  const range = named && (findIn("main, [role=main], article", named) ?? findIn("body", named));
  const anchor = anchorOf(url);
  if (range) mark(range);
  const target = range ? blockOf(range.startContainer) : anchor;
  if (!target) return null;
  for (let box = target.closest("details"); box; box = box.parentElement?.closest("details") ?? null) box.open = true;
  target.scrollIntoView({ block: range ? "center" : "start", behavior: "instant" });
  if (range) centre(range, scrollerOf(target));
  focusOn(target);
  return range ?? target;
}

// A sentence can stand at the end of a paragraph that is longer than the window.
function centre(range: Range, scroller: Element): void {
  const { top, height } = range.getBoundingClientRect();
  scroller.scrollBy({ top: top + height / 2 - innerHeight / 2, behavior: "instant" });
}

function scrollerOf(target: Element): Element {
  for (let box = target.parentElement; box; box = box.parentElement) {
    const scrolls = box.scrollHeight > box.clientHeight && /auto|scroll/.test(getComputedStyle(box).overflowY);
    if (scrolls) return box;
  }
  return document.scrollingElement ?? document.documentElement;
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
  sheet.replaceSync(`::highlight(${NAME}) { background-color: #ffe066; color: #1c1e21; }`);
  document.adoptedStyleSheets.push(sheet);
}

function anchorOf(url: string): Element | null {
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
function focusOn(target: Element): void {
  if (!(target instanceof HTMLElement) || target.hasAttribute("tabindex")) return;
  target.tabIndex = -1;
  target.addEventListener("blur", () => target.removeAttribute("tabindex"), { once: true });
  target.focus({ preventScroll: true });
}
