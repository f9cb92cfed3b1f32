// Text to tokens: GitHub's Markdown by `marked`, with citation marks and formulas beside it.

import { Marked, type Token, type Tokens, type TokenizerAndRendererExtension } from "marked";
import { MARK, MARK_START } from "./marks.ts";

export interface MarkToken {
  type: "mark";
  raw: string;
  claim: number;
  number: number;
}

export interface MathToken {
  type: "math";
  raw: string;
  tex: string;
  display: boolean;
}

/** Beyond so many characters a text is shown as it stands, since reading it would hold up the page. */
export const MOST_READ = 40_000;

const mark: TokenizerAndRendererExtension = {
  name: "mark",
  level: "inline",
  start: (source) => indexOf(source, MARK_START),
  tokenizer(source): Tokens.Generic | undefined {
    const found = MARK.exec(source);
    if (!found) return undefined;
    return { type: "mark", raw: found[0], claim: Number(found[1]), number: Number(found[2]) };
  },
};

const inlineMath: TokenizerAndRendererExtension = {
  name: "math",
  level: "inline",
  start: (source) => indexOf(source, "$"),
  tokenizer(source): Tokens.Generic | undefined {
    // A price is no formula: what is inside touches its signs, and no digit follows the last one.
    const found = /^\$\$([^$]+)\$\$|^\$([^\s$]|[^\s$][^$\n]*[^\s$\\])\$(?!\d)/.exec(source);
    if (!found) return undefined;
    const tex = found[1] ?? found[2] ?? "";
    return { type: "math", raw: found[0], tex, display: found[1] !== undefined };
  },
};

const blockMath: TokenizerAndRendererExtension = {
  name: "math",
  level: "block",
  start: (source) => indexOf(source, "$$"),
  tokenizer(source): Tokens.Generic | undefined {
    const found = /^ {0,3}\$\$([^$]+)\$\$[ \t]*(?:\n|$)/.exec(source);
    if (!found) return undefined;
    return { type: "math", raw: found[0], tex: (found[1] ?? "").trim(), display: true };
  },
};

const reader = new Marked({ gfm: true });
reader.use({ extensions: [blockMath, inlineMath, mark] });

/** Reads a text into blocks; one that is too long or breaks the reader is given as plain text. */
export function readBlocks(text: string): Token[] {
  const clean = withoutOverrides(text);
  if (clean.length > MOST_READ) return plainBlocks(clean);
  try {
    return reader.lexer(clean).filter(({ type }) => type !== "space" && type !== "def");
  } catch {
    return plainBlocks(clean);
  }
}

const PIECE = 4_000;

// In pieces, so that the browser may lay out only those that are seen.
function plainBlocks(text: string): Token[] {
  const pieces: Token[] = [];
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = text.slice(at, at + PIECE);
    pieces.push({ type: "plain", raw: piece, text: piece });
  }
  return pieces;
}

/** Takes out what reorders the text around it: what is shown would not be what was checked. */
export function withoutOverrides(text: string): string {
  return text.replace(/[\u202A-\u202E\u2066-\u2069]/g, "");
}

function indexOf(source: string, sign: string): number | undefined {
  const at = source.indexOf(sign);
  return at < 0 ? undefined : at;
}
