// Citation marks: `[n]` behind a claim becomes a token of its own before Markdown is read.

import type { Claim } from "../wire.ts";

// Unicode keeps these two for a program's own use, so no text can contain them by intent.
const OPEN = "\uFDD0";
const CLOSE = "\uFDD1";

/** Finds a mark at the beginning of a text. */
export const MARK = new RegExp(`^${OPEN}(\\d+):(\\d+)${CLOSE}`);
export const MARK_START = OPEN;
export const MARK_END = CLOSE;

/** A mark of this number has no source: it says that its claim is not proven. */
export const UNPROVEN = 0;

/**
 * Replaces the `[n]` marks, which stand only between claims, by tokens that name their claim.
 * A claim without a mark that the book does not support gets one.
 */
export function tagMarks(text: string, claims: readonly Claim[]): string {
  // The service counts characters, JavaScript strings count UTF-16 units.
  const characters = Array.from(withoutTokens(text));
  let tagged = "";
  let done = 0;
  claims.forEach((claim, index) => {
    const end = Math.max(done, claim.end);
    const next = Math.max(end, claims[index + 1]?.start ?? characters.length);
    tagged += characters.slice(done, end).join("");
    tagged += tagBetween(characters.slice(end, next).join(""), index, claim);
    done = next;
  });
  return tagged + characters.slice(done).join("");
}

function tagBetween(between: string, index: number, claim: Claim): string {
  const tagged = between.replace(/[ \t]*\[(\d{1,3})\]/g, (_, number) => token(index, Number(number)));
  const proven = claim.verdict !== "unsupported" && claim.verdict !== "contradicted";
  return proven || tagged !== between ? tagged : token(index, UNPROVEN) + tagged;
}

function token(claim: number, number: number): string {
  return `${OPEN}${claim}:${number}${CLOSE}`;
}

// One for one, so that the offsets of claims stay true.
function withoutTokens(text: string): string {
  return text.replace(/[\uFDD0\uFDD1]/g, "\uFFFD");
}
