// What stands below an answer: what can be checked of it, where it comes from, and what to do with it.

import { html, nothing, type TemplateResult } from "lit";
import type { Turn } from "../conversation.ts";
import * as icons from "../icons.ts";
import { plainText } from "../markdown/plain.ts";
import { citedSources, copyable, factsOf } from "../sources.ts";
import { fill, type Words } from "../strings.ts";
import { copyButton } from "./code.ts";
import { faultForm, thanks, thumbs } from "./feedback.ts";
import { sourceLink } from "./links.ts";
import type { Stage } from "./stage.ts";

/** Up to so many sources are shown at once. */
const FEW = 4;

export function ending(stage: Stage, turn: Turn): TemplateResult {
  const { words } = stage;
  return html`<footer class="ending">
    ${turn.notices.map((code) => html`<p class="faint">${words[code as keyof Words] ?? code}</p>`)}
    ${turn.refused ? nothing : sources(stage, turn)} ${withheld(stage, turn)}
    <div class="row">
      ${facts(stage, turn)}
      ${timeOf(stage, turn)}
      <span class="actions">
        ${copyButton(stage, icons.copy, () => copyable(turn, words.sources), words.copyAnswer)} ${thumbs(stage, turn)}
      </span>
    </div>
    ${thanks(stage, turn)} ${faultForm(stage, turn)}
  </footer>`;
}

// What can be checked, or that there is doubt; small talk and refusals have neither.
function facts({ words }: Stage, turn: Turn): unknown {
  const counted = turn.refused ? "" : factsOf(turn, words);
  if (!counted) return nothing;
  return html`<p class="facts" data-doubt=${turn.doubtful}>${turn.doubtful ? words.doubt : counted}</p>`;
}

function sources(stage: Stage, turn: Turn): unknown {
  const cited = citedSources(turn);
  if (!cited.length) return nothing;
  return html`<details class="cited" ?open=${cited.length <= FEW}>
    <summary class="label">${stage.words.sources} (${cited.length})</summary>
    <ol class="sources" part="sources">
      ${cited.map(
        (source) =>
          html`<li value=${source.number}>
            <span class="number" aria-hidden="true">${source.number}</span>
            ${sourceLink(stage, source)}
          </li>`,
      )}
    </ol>
  </details>`;
}

function withheld({ words }: Stage, { withheld: texts }: Turn): unknown {
  if (!texts.length) return nothing;
  const summary = texts.length === 1 ? words.withheldOne : fill(words.withheldMany, { count: texts.length });
  return html`<details class="withheld">
    <summary>${summary}</summary>
    <ul>
      ${texts.map((text) => html`<li dir="auto">${plainText(text)}</li>`)}
    </ul>
  </details>`;
}

function timeOf({ language }: Stage, { answeredAt }: Turn): unknown {
  if (!answeredAt) return nothing;
  const at = new Date(answeredAt);
  const today = at.toDateString() === new Date().toDateString();
  const short = new Intl.DateTimeFormat(
    language,
    today ? { timeStyle: "short" } : { dateStyle: "short", timeStyle: "short" },
  );
  const whole = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "medium" });
  return html`<time class="faint" datetime=${answeredAt} title=${whole.format(at)}>${short.format(at)}</time>`;
}
