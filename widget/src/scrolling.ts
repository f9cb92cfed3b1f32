// Scrolling within the thread alone: `scrollIntoView` would move the page and the panel, too.

/** Pixels between what is scrolled to and the edge. */
const MARGIN = 20;

/** Puts what the selector names to the top of the thread. */
export function scrollToTop(thread: Element | null, selector: string): void {
  move(thread, selector, (above) => above);
}

/** Brings what the selector names into view, as far as needed; its beginning comes first. */
export function bringIntoView(thread: Element | null, selector: string): void {
  move(thread, selector, (above, below) => (above < 0 ? above : Math.min(above, Math.max(0, below))));
}

function move(thread: Element | null, selector: string, by: (above: number, below: number) => number): void {
  const wanted = thread?.querySelector(selector);
  if (!thread || !wanted) return;
  const [outer, inner] = [thread.getBoundingClientRect(), wanted.getBoundingClientRect()];
  thread.scrollTop += by(inner.top - outer.top - MARGIN, inner.bottom - outer.bottom + MARGIN);
}
