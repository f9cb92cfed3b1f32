// Puts the colours of the site on the element, made readable where they are not.

import { inkOn, mix, parseColour, readableOn, schemeOf, written } from "./theme.ts";

const SHOWN = "--citewell-accent-shown";
const ON_ACCENT = "--citewell-on-accent-shown";

/** Sets light or dark, and an accent that can be read on the panel. */
export function paint(host: HTMLElement): void {
  const wanted = host.getAttribute("theme");
  host.dataset["scheme"] = wanted === "light" || wanted === "dark" ? wanted : schemeOf(document);
  const probe = host.shadowRoot?.querySelector(".probe");
  if (!probe) return;
  const { color, backgroundColor } = getComputedStyle(probe);
  const [accent, surface] = [parseColour(color), parseColour(backgroundColor)];
  if (!accent || !surface) {
    host.style.removeProperty(SHOWN);
    host.style.removeProperty(ON_ACCENT);
    return;
  }
  // Marks stand on a tint of the accent itself.
  const readable = readableOn(accent, [surface, mix(surface, accent, 0.12)]);
  host.style.setProperty(SHOWN, written(readable));
  host.style.setProperty(ON_ACCENT, written(inkOn(readable)));
}
