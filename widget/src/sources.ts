// What an answer rests on: names, and the text to copy.

import type { Turn } from "./conversation.ts";
import { fill, type Words } from "./strings.ts";
import type { Claim, Quote, Source } from "./wire.ts";

/** Names where something stands in the book. */
export function placeOf({ chapter, section }: { chapter: string; section: string }): string {
  return !section || section === chapter ? chapter : `${chapter} › ${section}`;
}

/** Gives the sources that a claim of the answer cites, each place once. */
export function citedSources({ claims, sources }: Turn): Source[] {
  const cited = new Set(claims.flatMap(proofs).map((quote) => quote.chunk_id));
  return sources.filter((source) => cited.has(source.chunk_id));
}

/** Counts what can be checked of an answer: its quotes, and the sections they stand in; nothing without quotes. */
export function factsOf({ claims }: Turn, words: Words): string {
  const cited = claims.flatMap(proofs);
  const quotes = new Set(cited.map(({ chunk_id, quote }) => `${chunk_id} ${quote}`)).size;
  const sections = new Set(cited.map(placeOf)).size;
  if (!quotes) return "";
  const count = (count: number, one: string, many: string) => (count === 1 ? one : fill(many, { count }));
  return `${count(quotes, words.quoteOne, words.quoteMany)} · ${count(sections, words.sectionOne, words.sectionMany)}`;
}

/** Writes the answer with every quote that proves it, for pasting elsewhere. */
export function copyable(turn: Turn, heading: string): string {
  const quotes = turn.claims
    .flatMap(proofs)
    .toSorted((one, other) => one.number - other.number)
    .map((quote) => `[${quote.number}] ${placeOf(quote)}: “${oneLine(quote.quote)}” ${quote.url}`.trim());
  if (!quotes.length) return `${turn.text}\n`;
  return `${turn.text}\n\n${heading}\n${[...new Set(quotes)].join("\n")}\n`;
}

// The quotes of a contradicted claim speak against it.
function proofs({ verdict, citations }: Claim): Quote[] {
  return verdict === "contradicted" ? [] : citations;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
