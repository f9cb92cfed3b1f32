// Making way for the sentence a reader went to: a panel that stands on it becomes low for a while.

const LOW = "data-low";
/** Events that end a use: at its beginning, what is pressed would move away from under the finger. */
const USED = ["click", "keyup"];
/** Where the sentence then goes, as a share of the window's height. */
const UPPER = 0.2;

/** Lowers the panel if it covers what was gone to; it rises again as soon as it is used. */
export function makeWay(host: HTMLElement, panel: Element | null, shown: Range | Element): void {
  if (!panel || !overlap(panel.getBoundingClientRect(), shown.getBoundingClientRect())) return;
  host.toggleAttribute(LOW, true);
  scrollBy({ top: shown.getBoundingClientRect().top - innerHeight * UPPER, behavior: "instant" });
  const lowered = performance.now();
  const rise = ({ timeStamp }: Event) => {
    // The click that went to the sentence is still on its way up.
    if (timeStamp < lowered) return;
    host.removeAttribute(LOW);
    for (const name of USED) panel.removeEventListener(name, rise);
  };
  for (const name of USED) panel.addEventListener(name, rise);
}

function overlap(one: DOMRect, other: DOMRect): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
