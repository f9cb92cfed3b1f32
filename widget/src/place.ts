// Where the page is in the book, told by addresses.

import type { TableOfContents, TocEntry } from "./wire.ts";

export interface Place {
  chapter: string;
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
  return page ? { chapter: page.title } : null;
}

/** Gives up to `most` chapters to read: those behind the page that is open, or else the first ones. */
export function chaptersFor({ entries }: TableOfContents, address: string, most: number): TocEntry[] {
  const pages = pagesOf(entries);
  const here = pages.findIndex(({ url }) => pathOf(url) === pathOf(address));
  const others = pages.filter((_, at) => at !== here);
  const chapters = others.some(({ kind }) => kind === "chapter")
    ? others.filter(({ kind }) => kind === "chapter")
    : others;
  const next = chapters.filter((chapter) => pages.indexOf(chapter) > here);
  return (next.length ? next : chapters).slice(0, most);
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
