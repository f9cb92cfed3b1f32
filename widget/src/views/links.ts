// Links inside answers: those into the book are told from those that lead away.

import { html, type TemplateResult } from "lit";
import type { Stage } from "./stage.ts";

export function bookLink(stage: Stage, href: string, label: unknown): TemplateResult {
  const { words } = stage;
  if (stage.whereIs(href) === "away") {
    return html`<a class="away" href=${href} target="_blank" rel="noopener noreferrer nofollow" title=${words.elsewhere}
      >${label}</a
    >`;
  }
  const go = (event: Event) => stage.goTo(event, { url: href, chunk_id: "" });
  return html`<a class="own" href=${stage.hrefOf(href)} title=${words.sameBook} @click=${go}>${label}</a>`;
}
