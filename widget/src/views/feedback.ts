// Thumbs, and what was wrong.

import { html, nothing, type TemplateResult } from "lit";
import type { Turn } from "../conversation.ts";
import * as icons from "../icons.ts";
import type { Stage } from "./stage.ts";

const REASONS = ["wrong", "incomplete", "off_topic", "unclear"] as const;

export function thumbs(stage: Stage, turn: Turn): unknown {
  const { words, chat } = stage;
  const given = turn.rating?.sent ? turn.rating.verdict : null;
  const asking = chat.rating === turn.id;
  return html`
    <button type="button" class="plain" aria-label=${words.helpful} aria-pressed=${given === "up"}
      @click=${() => rate(stage, turn)}>${icons.up}</button>
    <button type="button" class="plain" aria-label=${words.notHelpful} aria-pressed=${given === "down"} aria-expanded=${asking}
      @click=${() => chat.set({ rating: asking ? null : turn.id })}>${icons.down}</button>
    ${asking ? form(stage, turn) : said(stage, turn)}
  `;
}

async function rate({ chat, words, say }: Stage, turn: Turn, verdict: "up" | "down" = "up", reason = "", comment = ""): Promise<void> {
  await chat.rate(turn, verdict, reason, comment);
  const rated = chat.conversation.turns.find(({ id }) => id === turn.id)?.rating;
  say(rated?.sent ? words.thanks : words.notRated);
}

function said({ words }: Stage, { rating }: Turn): unknown {
  if (!rating) return nothing;
  return html`<span class="faint">${rating.sent ? words.thanks : words.notRated}</span>`;
}

function form(stage: Stage, turn: Turn): TemplateResult {
  const { words, chat } = stage;
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    void rate(stage, turn, "down", String(data.get("reason") ?? ""), String(data.get("comment") ?? ""));
  };
  return html`<form class="feedback" part="feedback" @submit=${send}>
    <fieldset>
      <legend>${words.whatWasWrong}</legend>
      ${REASONS.map((reason) => html`<label><input type="radio" name="reason" value=${reason} required />${words[reason]}</label>`)}
    </fieldset>
    <label class="comment"><span>${words.comment}</span><textarea name="comment" rows="2" maxlength="1000"></textarea></label>
    <div class="row">
      <button type="submit" class="second">${words.sendFeedback}</button>
      <button type="button" class="plain small" @click=${() => chat.set({ rating: null })}>${words.cancel}</button>
    </div>
  </form>`;
}
