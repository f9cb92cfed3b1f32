// Text to tokens: GitHub's Markdown by `marked`, with citation marks and formulas beside it.

import { Lexer, Marked, type Token, type Tokens, type TokenizerAndRendererExtension } from "marked";
import { MARK, MARK_END, MARK_START } from "./marks.ts";

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

// Links whose targets stand elsewhere on the page of the book, and marks of its footnotes. As the service has it:
// words in brackets are such a link, numbers and letters are not.
const REFERENCE = /^\[((?:[^[\]\\`!^@|={}$;]|`[^`]*`)+)\](?:(\[[^[\]\n^]*\])|(?!\(|\[(?!\^)))/;
const reference: TokenizerAndRendererExtension = {
  name: "reference",
  level: "inline",
  start: (source) => indexOf(source, "["),
  tokenizer(source, before): Tokens.Generic | undefined {
    const note = /^\[\^[^[\]\n]+\]/.exec(source);
    if (note) return { type: "reference", raw: note[0], tokens: [] };
    const found = REFERENCE.exec(source);
    const words = found?.[1] ?? "";
    const meant = found?.[2] !== undefined || /\p{L}{3}|`/u.test(words);
    if (!found || !meant || words !== words.trim() || /[\w)\]!]$/.test(before.at(-1)?.raw ?? "")) return undefined;
    return { type: "reference", raw: found[0], tokens: this.lexer.inlineTokens(words) };
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
reader.use({ extensions: [blockMath, inlineMath, mark, reference] });

/** Reads a text into blocks; one that is too long or breaks the reader is given as plain text. */
export function readBlocks(text: string): Token[] {
  const clean = withoutOverrides(text);
  if (clean.length > MOST_READ) return plainBlocks(clean);
  try {
    return tokensOf(withoutTowers(clean)).filter(({ type }) => type !== "space" && type !== "def");
  } catch {
    return plainBlocks(clean);
  }
}

/** What stands in a line is read in pieces of so many characters: the time it takes grows with their square. */
const LINE_PIECE = 1_500;
/** Text that is not read is shown in larger ones, so that a browser may lay out only those that are seen. */
const PLAIN_PIECE = 4_000;

// As `Marked.lexer` does, but for the pieces.
function tokensOf(text: string): Token[] {
  const lexer = new Lexer(reader.defaults);
  lexer.blockTokens(text, lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    for (const piece of piecesOf(src, LINE_PIECE)) lexer.inlineTokens(piece, tokens);
  }
  return lexer.tokens;
}

/** Cuts a long text behind a mark, or else at a blank, where little can be torn. */
export function piecesOf(text: string, size: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > size) {
    const head = rest.slice(0, size);
    const cut = [head.lastIndexOf(MARK_END), head.lastIndexOf(" ")].find((at) => at > 0) ?? size - 1;
    pieces.push(rest.slice(0, cut + 1));
    rest = rest.slice(cut + 1);
  }
  return [...pieces, rest];
}

function plainBlocks(text: string): Token[] {
  return piecesOf(text, PLAIN_PIECE).map((piece) => ({ type: "plain", raw: piece, text: piece }));
}

// Quotes within quotes within quotes cost the most to read, and nobody means them.
function withoutTowers(text: string): string {
  return text.replace(/^((?:[ \t]*>){8})(?:[ \t]*>)+/gm, "$1");
}

/** Takes out what reorders the text around it: what is shown would not be what was checked. */
export function withoutOverrides(text: string): string {
  return text.replace(/[\u202A-\u202E\u2066-\u2069]/g, "");
}

function indexOf(source: string, sign: string): number | undefined {
  const at = source.indexOf(sign);
  return at < 0 ? undefined : at;
}
