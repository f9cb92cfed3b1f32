// Where the page is in the book, told by addresses.

import type { TableOfContents, TocEntry } from "./wire.ts";

export interface Place {
  chapter: string;
  /** What the page is about, in its own headings. */
  topics: string[];
}

/** Gives the contents with what the chat needs of them, small enough to be kept in the tab. */
export function outlineOf({ book, title, entries }: TableOfContents): TableOfContents {
  const outline = ({ kind, title, url, children }: TocEntry): TocEntry => ({
    kind,
    title,
    url,
    children: children.map(outline),
  });
  return { book, title, entries: entries.map(outline) };
}

/** Finds the page in the table of contents. */
export function placeIn({ entries }: TableOfContents, address: string): Place | null {
  const page = pagesOf(entries).find(({ url }) => pathOf(url) === pathOf(address));
  return page ? { chapter: page.title, topics: page.children.map(({ title }) => title) } : null;
}

/** Gives up to `most` topics worth asking about: those of the page, or else of the whole book. */
export function topicsFor(contents: TableOfContents, place: Place | null, most: number): string[] {
  const own = place?.topics ?? [];
  if (own.length) return own.slice(0, most);
  const chapters = pagesOf(contents.entries).filter(({ kind }) => kind === "chapter");
  // Spread over the book, so that its end is suggested too.
  const step = Math.max(1, Math.floor(chapters.length / most));
  return chapters
    .filter((_, at) => at % step === 0)
    .slice(0, most)
    .map(({ title }) => title);
}

/** Tells whether two addresses are of one page, however it is spelled. */
export function isSamePage(one: string, other: string): boolean {
  const [first, second] = [new URL(one, location.href), new URL(other, location.href)];
  return first.origin === second.origin && pathOf(first.href) === pathOf(second.href);
}

function pagesOf(entries: readonly TocEntry[]): TocEntry[] {
  return entries.flatMap((entry) => (entry.kind === "part" ? pagesOf(entry.children) : [entry]));
}

function pathOf(address: string): string {
  const { pathname } = new URL(address, location.href);
  return pathname.replace(/\/(index\.html?)?$/, "").replace(/\.html?$/, "") || "/";
}
