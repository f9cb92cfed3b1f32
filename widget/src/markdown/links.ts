// Which addresses of an answer may be followed.

/** Gives the address if it is an absolute one of the web, and `null` for everything else. */
export function safeHref(href: string): string | null {
  if (!/^https?:\/\//i.test(href)) return null;
  try {
    const url = new URL(href);
    const web = url.protocol === "https:" || url.protocol === "http:";
    // `https://bank.example@evil.example` shows one host and opens another.
    return web && !url.username && !url.password ? url.href : null;
  } catch {
    return null;
  }
}
