// The site around the chat: which addresses belong to it, and where its copy of a page is.

import { bookHref } from "./markdown/links.ts";
import { isSamePage } from "./place.ts";

/** Tells where an address leads: on this page, to another of this site, or away from it. */
export function whereIs(url: string): "here" | "site" | "away" {
  const href = hrefOf(url);
  if (!href || !URL.canParse(href) || new URL(href).origin !== location.origin) return "away";
  return isSamePage(href, location.href) ? "here" : "site";
}

/**
 * Gives the address to follow. Books are cited by their published addresses; on a copy of the
 * site, such as a preview, the page says by its canonical link which site it is a copy of. Gives
 * `null` for what must not be followed.
 */
export function hrefOf(url: string): string | null {
  const published = publishedOrigin();
  return bookHref(published && url.startsWith(`${published}/`) ? location.origin + url.slice(published.length) : url);
}

function publishedOrigin(): string | null {
  const canonical = document.querySelector<HTMLLinkElement>('link[rel="canonical"]')?.href;
  if (!canonical || !URL.canParse(canonical)) return null;
  const { origin, pathname } = new URL(canonical);
  return isSamePage(location.origin + pathname, location.href) ? origin : null;
}
