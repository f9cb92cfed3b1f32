// The panel: who is asked, what was said, and where the next question is written.

import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { Turn } from "../conversation.ts";
import * as icons from "../icons.ts";
import { composer } from "./composer.ts";
import type { Stage } from "./stage.ts";
import { turnView } from "./turn.ts";
import { secondsLeft } from "./trouble.ts";
import { welcome } from "./welcome.ts";

export interface Frame {
  clear(): void;
  /** Nothing where the panel is part of the page. */
  close: (() => void) | null;
}

export function panel(stage: Stage, frame: Frame): TemplateResult {
  const { chat, words } = stage;
  const { turns } = chat.conversation;
  // A page that the panel is part of says itself which book it is.
  return html`<header part="header">
      <h2 id="title" dir="auto">${(frame.close && chat.contents?.title) || words.title}</h2>
      ${turns.length ? headButton(words.newConversation, icons.fresh, frame.clear) : nothing}
      ${frame.close ? headButton(words.close, icons.close, frame.close) : nothing}
    </header>
    <div class="thread" part="thread" tabindex="0" role="region" aria-label=${words.conversation}>
      ${turns.length ? nothing : welcome(stage)}
      ${repeat(
        turns,
        ({ id }) => id,
        (turn) => guard(seenBy(stage, turn), () => turnView(stage, turn)),
      )}
    </div>
    ${composer(stage)}`;
}

function headButton(label: string, icon: TemplateResult, act: () => void): TemplateResult {
  return html`<button type="button" class="plain" title=${label} aria-label=${label} @click=${act}>${icon}</button>`;
}

/** Gives all that a turn's looks depend on. */
function seenBy({ chat, words }: Stage, turn: Turn): unknown[] {
  const { quote, rating } = chat;
  const own = quote?.turn === turn.id ? quote : null;
  // A page may become another without being loaded; its links then lead elsewhere.
  return [turn, own, rating === turn.id, secondsLeft(turn.trouble), words, location.pathname];
}
