// Which addresses may be followed.

const WEB = ["http:", "https:"];
const BOOK = [...WEB, "mailto:"];

/** Gives the address if it is an absolute one of the web, and `null` for everything else: for what an answer links. */
export function safeHref(href: string): string | null {
  return /^https?:\/\//i.test(href) && isSafe(href, WEB) ? new URL(href).href : null;
}

/** Gives an address of the book, absolute or not, unless it could run a program: for citations and chapters. */
export function bookHref(href: string): string | null {
  return href && isSafe(href, BOOK) ? href : null;
}

function isSafe(href: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(href, document.baseURI)) return false;
  const url = new URL(href, document.baseURI);
  // `https://bank.example@evil.example` shows one host and opens another.
  return protocols.includes(url.protocol) && !url.username && !url.password;
}
