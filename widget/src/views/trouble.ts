// What is said when there is no answer, and what can be done about it. The question is always kept.

import { html, nothing, type TemplateResult } from "lit";
import type { Trouble, Turn } from "../conversation.ts";
import { fill, type Words } from "../strings.ts";
import { QUESTION, type Stage } from "./stage.ts";

export function stopped({ words, chat, focus }: Stage, turn: Turn): TemplateResult {
  const again = () => {
    chat.retry(turn.id);
    focus(QUESTION);
  };
  return html`<div class="notice" part="notice">
    <p>${turn.text ? words.stopped : words.stoppedEarly}</p>
    <button type="button" class="second" @click=${again}>${words.askAgain}</button>
  </div>`;
}

export function trouble({ words, chat, language, focus }: Stage, turn: Turn): unknown {
  const { trouble: what } = turn;
  if (!what) return nothing;
  const left = secondsLeft(what);
  const label = left > 0 ? fill(words.retryIn, { wait: seconds(left, language) }) : words.retry;
  const again = () => {
    if (left > 0) return;
    chat.retry(turn.id);
    focus(QUESTION);
  };
  return html`<div class="notice problem" part="notice" data-kind=${what.kind}>
    <p><strong>${words[what.kind]}</strong></p>
    ${detailOf(what, words).map((line) => html`<p>${line}</p>`)}
    <button type="button" class="second" aria-disabled=${left > 0} @click=${again}>
      ${label}
    </button>
    ${what.requestId && what.kind !== "rate" ? html`<p class="faint">${fill(words.request, { id: what.requestId })}</p>` : nothing}
  </div>`;
}

/** Gives how long is still to wait; `grace` milliseconds ago counts as now. */
export function secondsLeft(what: Trouble | null, grace = 0): number {
  return what?.retryAt ? Math.max(0, Math.ceil((what.retryAt + grace - Date.now()) / 1000)) : 0;
}

/** Says what happened, in the chat's words where it has any; else in the service's. */
export function detailOf(what: Trouble, words: Words): string[] {
  const own: Partial<Record<Trouble["kind"], string>> = {
    offline: words.offlineDetail,
    unreachable: words.unreachableDetail,
    rate: words.rateDetail,
    lost: words.lostDetail,
  };
  return [own[what.kind] ?? what.detail].filter(Boolean);
}

function seconds(count: number, language: string): string {
  const minutes = count >= 120;
  const unit = minutes ? "minute" : "second";
  const shown = minutes ? Math.ceil(count / 60) : count;
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(shown);
}
