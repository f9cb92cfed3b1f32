// What an answer rests on: names, and the text to copy.

import type { Turn } from "./conversation.ts";
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

/** Gives the first few places that came nearest. */
export function nearestSources({ sources }: Turn, most: number): Source[] {
  const names = sources.map(placeOf);
  return sources.filter((_, at) => names.indexOf(names[at] ?? "") === at).slice(0, most);
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
