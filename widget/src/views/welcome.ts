// What stands in the panel before the first question.

import { html, nothing, type TemplateResult } from "lit";
import { chaptersFor } from "../place.ts";
import { targetLink } from "./links.ts";
import type { Stage } from "./stage.ts";

const CHAPTERS = 4;

export function welcome(stage: Stage): TemplateResult {
  const { words } = stage;
  return html`<div class="welcome" part="welcome">
    <p>${words.welcome}</p>
    ${chapters(stage)}
  </div>`;
}

// Places to read, which are surely there; a question made from a heading may have no answer.
function chapters(stage: Stage): unknown {
  const { chat, words } = stage;
  if (!chat.contents || chat.desk.selection) return nothing;
  const entries = chaptersFor(chat.contents, chat.page ?? location.href, CHAPTERS);
  if (!entries.length) return nothing;
  return html`<p class="label" id="starters">${words.starters}</p>
    <ul class="starters" part="starters" aria-labelledby="starters">
      ${entries.map(({ title, url }) => html`<li>${targetLink(stage, { url, chunk_id: "" }, title)}</li>`)}
    </ul>`;
}
