// Links: those into the book are told from those that lead away, which open in a tab of their own.

import { html, nothing, type TemplateResult } from "lit";
import { placeOf } from "../sources.ts";
import type { Passage } from "../wire.ts";
import type { Stage, Target } from "./stage.ts";

/** Links what the answer itself links. */
export function bookLink(stage: Stage, href: string, label: unknown): TemplateResult {
  const { words } = stage;
  const away = stage.whereIs(href) === "away";
  const shown = html`${label}<span class="unseen"> (${away ? words.elsewhere : words.sameBook})</span>`;
  if (!away) return targetLink(stage, { url: href, chunk_id: "" }, shown, "own");
  return html`<a class="away" href=${href} target="_blank" rel="noopener noreferrer nofollow">${shown}</a>`;
}

/** Names a source by where it stands; a text of the reader's own stands nowhere. */
export function sourceLink(stage: Stage, source: Passage): TemplateResult {
  if (!source.url) return html`<span>${stage.words.selected}</span>`;
  return targetLink(stage, source, placeOf(source));
}

/** Links something in the book; what must not be followed is only named. */
export function targetLink(stage: Stage, target: Target, label: unknown, kind = ""): TemplateResult {
  const href = stage.hrefOf(target.url);
  if (!href) return html`<span dir="auto">${label}</span>`;
  const away = stage.whereIs(target.url) === "away";
  return html`<a dir="auto" class=${kind || nothing} href=${href} target=${away ? "_blank" : nothing}
    rel=${away ? "noopener" : nothing} @click=${(event: Event) => stage.goTo(event, target)}>${label}</a>`;
}
