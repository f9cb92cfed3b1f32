// Links: those into the book are told from those that lead away.

import { html, type TemplateResult } from "lit";
import { placeOf } from "../sources.ts";
import type { Source } from "../wire.ts";
import type { Stage } from "./stage.ts";

/** Links what the answer itself links. */
export function bookLink(stage: Stage, href: string, label: unknown): TemplateResult {
  const { words } = stage;
  if (stage.whereIs(href) === "away") {
    return html`<a class="away" href=${href} target="_blank" rel="noopener noreferrer nofollow"
      >${label}<span class="unseen"> (${words.elsewhere})</span></a
    >`;
  }
  const go = (event: Event) => stage.goTo(event, { url: href, chunk_id: "" });
  return html`<a class="own" href=${stage.hrefOf(href)} @click=${go}
    >${label}<span class="unseen"> (${words.sameBook})</span></a
  >`;
}

/** Names a source by where it stands; a text of the reader's own stands nowhere. */
export function sourceLink(stage: Stage, source: Source): TemplateResult {
  if (!source.url) return html`<span>${stage.words.selected}</span>`;
  const go = (event: Event) => stage.goTo(event, source);
  return html`<a dir="auto" href=${stage.hrefOf(source.url)} @click=${go}>${placeOf(source)}</a>`;
}
