// A refusal is an answer: it says that the book does not say, and shows what comes nearest.

import { html, nothing, type TemplateResult } from "lit";
import type { Turn } from "../conversation.ts";
import { previewOf } from "../markdown/plain.ts";
import { nearestSources } from "../sources.ts";
import type { Source } from "../wire.ts";
import { sourceLink } from "./links.ts";
import { QUESTION, type Stage } from "./stage.ts";

const NEAREST = 3;
export function refusal(stage: Stage, turn: Turn): TemplateResult {
  const { words } = stage;
  const nearest = turn.selection ? [] : nearestSources(turn, NEAREST);
  const missed = turn.selection ? words.notInSelection : nearest.length ? words.notInBook : "";
  // The service lists the nearest passages below its first paragraph; here they are links.
  const [said = ""] = nearest.length ? turn.text.split("\n\n") : [turn.text];
  return html`<div class="refusal" part="refusal">
    ${missed ? html`<p><strong>${missed}</strong></p>` : nothing}
    <p dir="auto">${said}</p>
    ${
      nearest.length
        ? html`<ul class="nearest" aria-label=${words.nearest}>
          ${nearest.map((source) => passage(stage, source))}
        </ul>`
        : nothing
    }
    ${turn.offersBook ? offer(stage, turn) : nothing}
  </div>`;
}

function offer({ words, chat, asked, focus }: Stage, turn: Turn): TemplateResult {
  const ask = () => {
    chat.setDesk({ selection: null });
    asked(chat.ask(turn.question, null));
    focus(QUESTION);
  };
  return html`<button type="button" class="second" @click=${ask}>${words.askBook}</button>`;
}

function passage(stage: Stage, source: Source): TemplateResult {
  return html`<li dir="auto">
    ${sourceLink(stage, source)}
    <p dir="auto">${previewOf(source.chunk_text)}</p>
  </li>`;
}
