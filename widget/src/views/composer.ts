// Where the question is written.

import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { LIMIT, lengthOf, NEAR_LIMIT } from "../chat.ts";
import * as icons from "../icons.ts";
import { fill } from "../strings.ts";
import { QUESTION, type Stage } from "./stage.ts";
import { chipOf } from "./turn.ts";

const LINE = 40;
const MOST_ROWS = 6;

export function composer(stage: Stage): TemplateResult {
  const { chat, words, focus } = stage;
  const { draft, selection } = chat.desk;
  const length = lengthOf(draft.trim());
  const running = !!chat.running;
  const stop = () => {
    chat.stop();
    focus(QUESTION);
  };
  return html`<form class="composer" part="composer" @submit=${(event: Event) => submit(stage, event)}>
    ${selection ? chipOf(stage, selection) : nothing}
    <div class="field">
      <textarea
        id="question"
        part="input"
        rows=${rowsOf(draft)}
        dir=${draft ? "auto" : stage.direction}
        placeholder=${words.placeholder}
        aria-label=${words.question}
        aria-describedby="counter"
        aria-invalid=${length > LIMIT}
        autocomplete="off"
        .value=${live(draft)}
        @input=${(event: Event) => write(stage, event)}
        @keydown=${(event: KeyboardEvent) => onKey(stage, event)}
      ></textarea>
      ${
        running
          ? html`<button type="button" class="send" part="stop" aria-label=${words.stop} @click=${stop}>${icons.stop}</button>`
          : nothing
      }
      ${
        running && !length
          ? nothing
          : html`<button type="submit" class="send" part="send" aria-label=${words.send}
            aria-disabled=${!length || length > LIMIT}>${icons.send}</button>`
      }
    </div>
    <div class="under">
      ${scope(stage)}
      <p id="counter" class="counter">${counter(stage, length)}</p>
    </div>
  </form>`;
}

/** Asks what is written, and empties the field. */
function submit({ chat, asked }: Stage, event: Event): void {
  event.preventDefault();
  const { draft } = chat.desk;
  if (!draft.trim() || lengthOf(draft.trim()) > LIMIT) return;
  chat.setDesk({ draft: "" });
  asked(chat.ask(draft));
}

function onKey(stage: Stage, event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  submit(stage, event);
}

function write({ chat }: Stage, event: Event): void {
  const field = event.currentTarget as HTMLTextAreaElement;
  chat.setDesk({ draft: field.value });
}

// For browsers that cannot size a field by its content.
function rowsOf(draft: string): number {
  const lines = draft.split("\n").map((line) => 1 + Math.floor(line.length / LINE));
  return Math.min(
    MOST_ROWS,
    lines.reduce((sum, count) => sum + count, 0),
  );
}

function counter({ words }: Stage, length: number): string {
  if (length < NEAR_LIMIT) return "";
  const count = fill(words.counter, { count: length, limit: LIMIT });
  return length > LIMIT ? `${count}: ${fill(words.tooLong, { over: length - LIMIT })}` : count;
}

function scope({ chat, words }: Stage): unknown {
  const { place } = chat;
  if (!place || chat.desk.selection) return nothing;
  return html`<label class="only">
    <input
      type="checkbox"
      .checked=${live(chat.onlyChapter)}
      @change=${(event: Event) => chat.set({ onlyChapter: (event.currentTarget as HTMLInputElement).checked })}
    />
    <span class="clip">${fill(words.onlyChapter, { chapter: place.chapter })}</span>
  </label>`;
}
