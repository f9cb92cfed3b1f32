// One question and what became of it.

import { html, nothing, type TemplateResult } from "lit";
import { isRunning, type Turn } from "../conversation.ts";
import * as icons from "../icons.ts";
import { fill } from "../strings.ts";
import { answerText } from "./answer.ts";
import { ending } from "./ending.ts";
import { refusal } from "./refusal.ts";
import { QUESTION, type Stage } from "./stage.ts";
import { stopped, trouble } from "./trouble.ts";

export function turnView(stage: Stage, turn: Turn): TemplateResult {
  const { words } = stage;
  return html`<article
    class="turn"
    part="turn"
    id=${`turn-${turn.id}`}
    data-status=${turn.refused ? "refused" : turn.status}
    aria-labelledby=${`asked-${turn.id}`}
    aria-busy=${isRunning(turn)}
  >
    <div class="asked" part="question">
      <p id=${`asked-${turn.id}`}><span class="unseen">${words.you}: </span><span dir="auto">${turn.question}</span></p>
      ${askedOf(stage, turn)}
    </div>
    ${turn.status === "queued" ? waiting(stage, turn) : answer(stage, turn)}
  </article>`;
}

function askedOf({ words }: Stage, turn: Turn): unknown {
  if (turn.selection) {
    return html`<p class="scope">
      <span class="badge">${words.fromSelection}</span><span class="clip" dir="auto">“${turn.selection}”</span>
    </p>`;
  }
  return turn.chapter ? html`<p class="scope">${fill(words.inChapter, { chapter: turn.chapter })}</p>` : nothing;
}

function waiting({ words, chat, focus }: Stage, turn: Turn): TemplateResult {
  const remove = () => {
    chat.withdraw(turn.id);
    focus(QUESTION);
  };
  return html`<p class="progress">
    <span>${words.queued}</span>
    <button type="button" class="plain small" @click=${remove}>${words.remove}</button>
  </p>`;
}

function answer(stage: Stage, turn: Turn): unknown {
  const body =
    turn.refused || !turn.text
      ? nothing
      : html`<div class="answer" part="answer" dir="auto">${answerText(stage, turn)}</div>`;
  return [body, below(stage, turn)];
}

function below(stage: Stage, turn: Turn): unknown {
  const { words } = stage;
  switch (turn.status) {
    case "searching":
    case "checking": {
      const says = turn.reconnecting ? words.reconnecting : words[turn.status];
      return html`<p class="progress"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>${says}</p>`;
    }
    case "failed":
      return trouble(stage, turn);
    case "stopped":
      return stopped(stage, turn);
    case "done":
      return turn.refused ? [refusal(stage, turn), ending(stage, turn)] : ending(stage, turn);
    case "queued":
      return nothing;
  }
}

export function chipOf({ words, chat, focus }: Stage, selection: string): TemplateResult {
  const remove = () => {
    chat.setDesk({ selection: null });
    focus(QUESTION);
  };
  return html`<div class="chip" part="selection">
    ${icons.quote}
    <p>
      <span class="badge">${words.fromSelection}</span>
      <span class="unseen">${words.selected}: </span><span class="clip" dir="auto">${selection}</span>
    </p>
    <button type="button" class="plain small" aria-label=${words.removeSelection} @click=${remove}>
      ${icons.close}
    </button>
  </div>`;
}
