// What stands in the panel before the first question.

import { html, nothing, type TemplateResult } from "lit";
import { topicsFor } from "../place.ts";
import { fill, wordsOf } from "../strings.ts";
import { QUESTION, type Stage } from "./stage.ts";

const STARTERS = 3;

export function welcome(stage: Stage): TemplateResult {
  const { words } = stage;
  return html`<div class="welcome" part="welcome">
    <p>${words.welcome}</p>
    ${starters(stage)}
  </div>`;
}

function starters({ chat, words, asked, focus }: Stage): unknown {
  // They are about the page or the book: a selection is asked about in the reader's own words.
  if (!chat.contents || chat.desk.selection) return nothing;
  // A question is asked in the language of the book, whatever the chat speaks.
  const { starter } = wordsOf(document.documentElement.lang);
  const questions = topicsFor(chat.contents, chat.place, STARTERS).map((topic) =>
    topic.endsWith("?") ? topic : fill(starter, { topic }),
  );
  const ask = (question: string) => {
    asked(chat.ask(question));
    focus(QUESTION);
  };
  return html`<p class="label" id="starters">${words.starters}</p>
    <ul class="starters" aria-labelledby="starters">
      ${questions.map(
        (question) =>
          html`<li><button type="button" part="starter" dir="auto" @click=${() => ask(question)}>${question}</button></li>`,
      )}
    </ul>`;
}
