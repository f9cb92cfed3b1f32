// The text of an answer: sentences with their marks, and the quote that is open in place.

import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { isSameQuote } from "../chat.ts";
import type { Turn } from "../conversation.ts";
import * as icons from "../icons.ts";
import { readBlocks } from "../markdown/lexer.ts";
import { tagMarks, UNPROVEN } from "../markdown/marks.ts";
import { renderBlock, type Rendering } from "../markdown/render.ts";
import { placeOf } from "../sources.ts";
import { fill } from "../strings.ts";
import type { Claim, Quote, Verdict } from "../wire.ts";
import { codeBox } from "./code.ts";
import { formula } from "./formula.ts";
import { bookLink, targetLink } from "./links.ts";
import type { Stage } from "./stage.ts";

const VERDICTS: Record<Exclude<Verdict, "not_a_claim">, TemplateResult> = {
  supported: icons.proven,
  partly: icons.partly,
  unsupported: icons.unproven,
  contradicted: icons.unproven,
};

/** Shows the answer; what has not changed is not rendered again. */
export function answerText(stage: Stage, turn: Turn): unknown {
  const { quote } = stage.chat;
  const open = quote?.turn === turn.id ? quote : null;
  return guard([turn.text, turn.claims, open, stage.words, location.pathname], () => {
    const by = rendering(stage, turn);
    return readBlocks(tagMarks(turn.text, turn.claims)).map((block) =>
      guard([block.raw, holdsOpen(block.raw, open), stage.words, location.pathname], () => renderBlock(block, by)),
    );
  });
}

// A block without marks looks the same whichever quote is open.
function holdsOpen(raw: string, open: unknown): unknown {
  return raw.includes("\uFDD0") ? open : null;
}

function rendering(stage: Stage, turn: Turn): Rendering {
  const { chat, words } = stage;
  const isOpen = (claim: number, number: number) => isSameQuote(chat.quote, { turn: turn.id, claim, number });
  return {
    mark: (claim, number) => mark(stage, turn, claim, number, isOpen(claim, number)),
    isOpen,
    quote: () => (chat.quote ? openQuote(stage, turn, chat.quote) : nothing),
    code: (code) => codeBox(stage, code),
    math: (tex, display) => formula(tex, display, words.formula),
    link: (href, label) => bookLink(stage, href, label),
    tableLabel: words.table,
  };
}

function mark(stage: Stage, turn: Turn, claim: number, number: number, open: boolean): TemplateResult {
  const { words, chat, reveal } = stage;
  const toggle = () => {
    chat.toggleQuote({ turn: turn.id, claim, number });
    reveal(`#${quoteId(turn, claim, number)}`);
  };
  const verdict = turn.claims[claim]?.verdict ?? "unsupported";
  const [first] = quotesOf(turn.claims[claim], number);
  if (!first && number !== UNPROVEN) return html`<sup>${number}</sup>`;
  const says = verdict === "not_a_claim" ? "" : words[verdict];
  const label = first ? fill(words.source, { number, place: placeOf(first) }) : says;
  return html`<button
      type="button"
      class="mark"
      id=${markId(turn.id, claim, number)}
      part="mark"
      data-verdict=${verdict}
      aria-expanded=${open}
      aria-controls=${open ? quoteId(turn, claim, number) : nothing}
      aria-label=${first ? `${label}. ${says}` : label}
      @click=${toggle}
    >${number === UNPROVEN ? "?" : number}</button>`;
}

function openQuote(stage: Stage, turn: Turn, open: { claim: number; number: number }): TemplateResult {
  const { words } = stage;
  const claim = turn.claims[open.claim];
  const quotes = quotesOf(claim, open.number);
  const verdict = claim?.verdict ?? "unsupported";
  return html`<aside
    class="quote"
    part="quote"
    dir=${stage.direction}
    data-verdict=${verdict}
    id=${quoteId(turn, open.claim, open.number)}
    aria-label=${quotes[0] ? fill(words.source, { number: open.number, place: placeOf(quotes[0]) }) : words.unsupported}
  >
    <p class="verdict" data-verdict=${verdict}>
      ${verdict === "not_a_claim" ? nothing : html`${VERDICTS[verdict]}<span>${words[verdict]}</span>`}
      <button type="button" class="plain small" aria-label=${words.close} @click=${() => closeQuote(stage)}>${icons.close}</button>
    </p>
    ${quotes.map((quote) => oneQuote(stage, quote, claim?.text ?? ""))}
  </aside>`;
}

function oneQuote(stage: Stage, quote: Quote, claim: string): TemplateResult {
  const { words } = stage;
  const label = html`${words.goTo}${icons.arrow}`;
  const link = stage.hrefOf(quote.url) ? targetLink(stage, quote, label, "go") : nothing;
  const kinds = { text: "", heading: words.ofHeading, selection: words.ofSelection, own_text: words.ofSelection };
  // A text of the reader's own stands nowhere in the book.
  const where = [kinds[quote.of], quote.of === "own_text" ? "" : placeOf(quote)].filter(Boolean).join(" · ");
  return html`<blockquote dir="auto">${quoted(stage, quote.quote, isCode(claim))}</blockquote>
    <p class="where">
      <span>${where}</span>
      ${link}
    </p>`;
}

// The quote of a block of code comes without its fence, and must not be read as Markdown.
function quoted(stage: Stage, text: string, ofCode: boolean): unknown {
  if (ofCode && !isCode(text)) return codeBox(stage, text);
  const by: Rendering = { ...rendering(stage, NO_TURN), mark: () => nothing, isOpen: () => false };
  return readBlocks(text).map((block) => renderBlock(block, by));
}

const NO_TURN = { id: "", claims: [] } as unknown as Turn;

function isCode(text: string): boolean {
  return /^\s*(`{3,}|~{3,})/.test(text);
}

function quotesOf(claim: Claim | undefined, number: number): Quote[] {
  return (claim?.citations ?? []).filter((quote) => number === UNPROVEN || quote.number === number);
}

/** Closes the open quote; the focus goes back to its mark. */
export function closeQuote({ chat, focus }: Stage): void {
  const { quote } = chat;
  if (!quote) return;
  chat.set({ quote: null });
  focus(`#${markId(quote.turn, quote.claim, quote.number)}`);
}

function markId(turn: string, claim: number, number: number): string {
  return `mark-${turn}-${claim}-${number}`;
}

function quoteId(turn: Turn, claim: number, number: number): string {
  return `quote-${turn.id}-${claim}-${number}`;
}
