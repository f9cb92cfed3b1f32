// How a question ends that has no answer: each ending says only what is known.

import { html, nothing, type TemplateResult } from "lit";
import type { Turn } from "../conversation.ts";
import { previewOf } from "../markdown/plain.ts";
import type { Words } from "../strings.ts";
import type { Passage } from "../wire.ts";
import { sourceLink } from "./links.ts";
import { QUESTION, type Stage } from "./stage.ts";

export function refusal(stage: Stage, turn: Turn): TemplateResult {
  const { words } = stage;
  const said = endingOf(turn, words);
  const [closest] = turn.outcome === "no_direct_answer" ? turn.nearest : [];
  return html`<div class="refusal" part="refusal" data-outcome=${turn.outcome ?? nothing}>
    ${said ? html`<p><strong>${said}</strong></p>` : html`<p dir="auto">${turn.text}</p>`}
    ${closest ? card(stage, closest) : nothing} ${turn.offersBook ? offer(stage, turn) : nothing}
  </div>`;
}

/** Says in the chat's own language how a question ended; what the service explains itself, it says in its words. */
export function endingOf({ outcome, chapter }: Turn, words: Words): string {
  switch (outcome) {
    case "not_in_book":
      return chapter ? words.notInChapter : words.notInBook;
    case "no_direct_answer":
      return words.noDirectAnswer;
    case "not_in_selection":
      return words.notInSelection;
    default:
      return "";
  }
}

function offer({ words, chat, asked, focus }: Stage, turn: Turn): TemplateResult {
  const ask = () => {
    chat.setDesk({ selection: null });
    asked(chat.ask(turn.question, null));
    focus(QUESTION);
  };
  return html`<button type="button" class="second" @click=${ask}>${words.askBook}</button>`;
}

function card(stage: Stage, passage: Passage): TemplateResult {
  return html`<p>${stage.words.closest}</p>
    <div class="closest" dir="auto">
      ${sourceLink(stage, passage)}
      <p dir="auto">${previewOf(passage.chunk_text)}</p>
    </div>`;
}
