// What a site can say about its chat, by attributes of the element or of the script.

export const ATTRIBUTES = ["server", "key", "book", "theme", "position", "language", "page"] as const;

export type Option = (typeof ATTRIBUTES)[number];

/** Puts a chat on the page for a script tag that has a key or says `data-auto`, with its options. */
export function mountFrom(script: HTMLScriptElement, tag: string): void {
  if (document.querySelector(tag) || script.dataset["auto"] === "off") return;
  const chat = document.createElement(tag);
  for (const name of ATTRIBUTES) {
    const value = script.dataset[name];
    if (value !== undefined) chat.setAttribute(name, value);
  }
  document.body.append(chat);
}

/** Finds the script tag that loaded this module; a module is not told which one it was. */
export function ownScript(address: string): HTMLScriptElement | null {
  const scripts = document.querySelectorAll<HTMLScriptElement>("script[type=module][src]");
  return [...scripts].find(({ src }) => src === address) ?? null;
}
