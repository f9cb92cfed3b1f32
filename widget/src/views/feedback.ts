// Thumbs, and what was wrong.

import { html, nothing, type TemplateResult } from "lit";
import type { Turn } from "../conversation.ts";
import * as icons from "../icons.ts";
import type { Feedback } from "../wire.ts";
import type { Stage } from "./stage.ts";

const REASONS = ["wrong", "incomplete", "off_topic", "unclear"] as const;

export function thumbs(stage: Stage, turn: Turn): TemplateResult {
  const { words, chat, reveal } = stage;
  const given = turn.rating?.sent ? turn.rating.verdict : null;
  const asking = chat.rating === turn.id;
  const toggle = () => {
    chat.set({ rating: asking ? null : turn.id });
    reveal(".feedback");
  };
  return html`<button type="button" class="plain" aria-label=${words.helpful} aria-pressed=${given === "up"}
      @click=${() => rate(stage, turn, "up")}>${icons.up}</button>
    <button type="button" class="plain" id=${downId(turn)} aria-label=${words.notHelpful} aria-pressed=${given === "down"}
      aria-expanded=${asking} @click=${toggle}>${icons.down}</button>`;
}

/** Says whether the reader's word came through. */
export function thanks({ words }: Stage, { rating }: Turn): unknown {
  return rating ? html`<p class="faint thanks">${rating.sent ? words.thanks : words.notRated}</p>` : nothing;
}

/** Asks what was wrong, if the reader just said that something was. */
export function faultForm(stage: Stage, turn: Turn): unknown {
  const { words, chat, focus } = stage;
  if (chat.rating !== turn.id) return nothing;
  const back = () => focus(`#${downId(turn)}`);
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const said = new FormData(event.currentTarget as HTMLFormElement);
    void rate(stage, turn, "down", String(said.get("reason") ?? ""), String(said.get("comment") ?? "")).then(back);
  };
  const cancel = () => {
    chat.set({ rating: null });
    back();
  };
  return html`<form class="feedback" part="feedback" @submit=${send}>
    <fieldset>
      <legend>${words.whatWasWrong}</legend>
      ${REASONS.map((reason) => html`<label><input type="radio" name="reason" value=${reason} required />${words[reason]}</label>`)}
    </fieldset>
    <label class="comment"><span>${words.comment}</span><textarea name="comment" rows="2" maxlength="1000"></textarea></label>
    <div class="row">
      <button type="submit" class="second">${words.sendFeedback}</button>
      <button type="button" class="plain small" @click=${cancel}>${words.cancel}</button>
    </div>
  </form>`;
}

async function rate(
  { chat, words, say }: Stage,
  turn: Turn,
  verdict: Feedback["verdict"],
  reason = "",
  comment = "",
): Promise<void> {
  const sent = await chat.rate(turn, verdict, reason, comment);
  say(sent ? words.thanks : words.notRated);
}

function downId({ id }: Turn): string {
  return `down-${id}`;
}
