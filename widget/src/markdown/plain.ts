// The words of a text without its markup: for screen readers, previews and the clipboard.

import type { Token, Tokens } from "marked";
import { readBlocks } from "./lexer.ts";

const PREVIEW = 160;
/** Where a note begins or ends in a page's source: its title is words, the rest is not. */
const ADMONITION = /^[ \t]*:{3,}[ \t]*[\w-]*[ \t]*(?:\[([^\]\n]*)\]|(.*))$/gm;

/** Gives the first words of a passage. */
export function previewOf(source: string): string {
  const text = plainText(source.replace(ADMONITION, "$1$2"));
  return text.length > PREVIEW ? `${text.slice(0, PREVIEW).replace(/\s+\S*$/, "")}…` : text;
}

/** Gives the words of a text on one line. */
export function plainText(text: string): string {
  return readBlocks(text).map(wordsOf).join(" ").replace(/\s+/g, " ").trim();
}

function wordsOf(token: Token): string {
  switch (token.type) {
    case "mark":
      return "";
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].map((row) => row.map((cell) => all(cell.tokens)).join(", ")).join("; ");
    }
    case "list":
      return (token as Tokens.List).items.map((item) => all(item.tokens)).join(" ");
    case "code":
    case "codespan":
    case "escape":
      return (token as Tokens.Code).text;
    case "image":
      return (token as Tokens.Image).text;
    case "math":
      return String((token as Tokens.Generic)["tex"]);
    case "br":
      return " ";
    default:
      return "tokens" in token && token.tokens ? all(token.tokens) : token.raw;
  }
}

function all(tokens: readonly Token[]): string {
  return tokens.map(wordsOf).join("");
}
