// The button beside selected text.

import { html, nothing } from "lit";
import { ref } from "lit/directives/ref.js";
import * as icons from "../icons.ts";
import type { Selected } from "../selection.ts";
import type { Words } from "../strings.ts";

export function askAbout(selected: Selected | null, words: Words, take: () => void): unknown {
  if (!selected) return nothing;
  // Through the style object: a style attribute is what a strict policy of the site forbids.
  const place = (element?: Element) => {
    const { style } = element as HTMLElement;
    style.setProperty("--x", `${selected.x}px`);
    style.setProperty("--y", `${selected.y}px`);
  };
  // A press must not take the selection away before the click.
  const keep = (event: Event) => event.preventDefault();
  return html`<button type="button" class="about" part="ask-about" aria-keyshortcuts="Control+I Meta+I"
    ${ref((element) => element && place(element))} @pointerdown=${keep} @click=${take}>
    ${icons.quote}<span>${words.askAbout}</span><kbd aria-hidden="true">${shortcut()}</kbd>
  </button>`;
}

function shortcut(): string {
  return /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘I" : "Ctrl I";
}
