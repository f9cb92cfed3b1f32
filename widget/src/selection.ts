// Text that the reader selects on the page, and where the button beside it stands.

export const SHORTEST = 10;
export const LONGEST = 16_000;

export interface Selected {
  text: string;
  /** Where the button goes, in pixels of the window. */
  x: number;
  y: number;
}

const SETTLED = 250;
const BELOW = 8;
const ROOM = 56;

/** Follows the page's selection and tells of each that a question can be about, or of none. */
export class SelectionWatch {
  private timer = 0;

  constructor(
    private readonly owner: Element,
    private readonly tell: (selected: Selected | null) => void,
  ) {}

  start(): void {
    document.addEventListener("selectionchange", this.settle);
    addEventListener("scroll", this.look, { passive: true });
    addEventListener("resize", this.look, { passive: true });
  }

  stop(): void {
    document.removeEventListener("selectionchange", this.settle);
    removeEventListener("scroll", this.look);
    removeEventListener("resize", this.look);
    clearTimeout(this.timer);
  }

  /** Gives what is selected right now. */
  now(): Selected | null {
    const selection = getSelection();
    if (!selection?.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const text = cleaned(selection.toString());
    if (text.length < SHORTEST || text.length > LONGEST || this.isOwn(range)) return null;
    const box = lastBox(range);
    return box ? { text, ...spotFor(box) } : null;
  }

  // While it is being dragged it changes with every move.
  private settle = (): void => {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.look, SETTLED);
  };

  private look = (): void => this.tell(this.now());

  private isOwn({ commonAncestorContainer: node }: Range): boolean {
    const element = node instanceof Element ? node : node.parentElement;
    return this.owner.contains(node) || !!element?.closest("[contenteditable=true], input, textarea");
  }
}

/** Gives the selected words as they read: without the blanks of the page's layout. */
export function cleaned(text: string): string {
  return text
    .replace(/[\u200B\u00AD]/g, "")
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function lastBox(range: Range): DOMRect | null {
  return [...range.getClientRects()].findLast(({ width, height }) => width > 0 && height > 0) ?? null;
}

function spotFor(box: DOMRect): { x: number; y: number } {
  const below = box.bottom + BELOW;
  return {
    x: box.right,
    y: below + ROOM > innerHeight ? Math.max(box.top - ROOM + BELOW, BELOW) : below,
  };
}
