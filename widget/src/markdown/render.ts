// Tokens to templates. Text only ever enters as text, and attributes only as checked addresses.

import type { Token, Tokens } from "marked";
import { html, nothing, type TemplateResult } from "lit";
import { withoutOverrides, type MarkToken, type MathToken } from "./lexer.ts";
import { safeHref } from "./links.ts";

type Shown = TemplateResult | string | typeof nothing;

/** What the renderer is told by who shows the answer. */
export interface Rendering {
  /** Gives the node of a citation mark. */
  mark(claim: number, number: number): Shown;
  /** Tells whether the quote behind this mark is open. */
  isOpen(claim: number, number: number): boolean;
  /** Gives the open quote, to stand below what it proves. */
  quote(): Shown;
  /** Gives a block of code with what belongs to it. */
  code(code: string, language: string): Shown;
  math(tex: string, display: boolean): Shown;
  link(href: string, label: unknown): Shown;
  /** Names what scrolls sideways. */
  tableLabel: string;
}

/** Deeper nesting is nobody's intent, and is shown as its own source. */
const DEEPEST = 12;
const LONGEST_BOUND = 24;

/** Renders one block. */
export function renderBlock(token: Token, by: Rendering, depth = 0): Shown {
  if (depth > DEEPEST) return html`<p>${token.raw}</p>`;
  switch (token.type) {
    case "paragraph":
      return paragraph(inlineTokens(token), by);
    case "text":
      return token.tokens ? paragraph(token.tokens, by) : html`<p>${decoded(token.raw)}</p>`;
    case "heading":
      return html`<p class="heading"><strong>${inline(inlineTokens(token), by)}</strong></p>
        ${quoteIn(inlineTokens(token), by)}`;
    case "code":
      return by.code((token as Tokens.Code).text, (token as Tokens.Code).lang ?? "");
    case "math":
      return by.math((token as unknown as MathToken).tex, true);
    case "table":
      return table(token as Tokens.Table, by);
    case "list":
      return list(token as Tokens.List, by, depth);
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens ?? [], by, depth + 1)}</blockquote>`;
    case "hr":
      return html`<hr />`;
    case "space":
    case "def":
      return nothing;
    case "plain":
      return html`<p class="unread">${token.raw}</p>`;
    default:
      // HTML among them: it is shown, not obeyed.
      return html`<p>${token.raw.trim()}</p>`;
  }
}

/** Renders tokens that stand in a line; marks are bound to the word before them, which they prove. */
export function inline(tokens: readonly Token[], by: Rendering, depth = 0): Shown[] {
  const shown: Shown[] = [];
  const one = (token: Token) => (depth > DEEPEST ? token.raw : inlineOne(token, by, depth));
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as Token;
    let end = at + 1;
    while (tokens[end]?.type === "mark") end += 1;
    if (end === at + 1) {
      shown.push(one(token));
      continue;
    }
    const marks = tokens.slice(at + 1, end).map(one);
    const [before, word] = lastWord(token);
    if (before) shown.push(before);
    const bound = word === null ? one(token) : word;
    shown.push(html`<span class=${isShort(token, word) ? "bound" : nothing}>${bound}${marks}</span>`);
    at = end - 1;
  }
  return shown;
}

/** Parts a text before its last word; what is no plain text stays whole. */
function lastWord(token: Token): [before: string, word: string | null] {
  if (token.type !== "text" || ("tokens" in token && token.tokens)) return ["", null];
  const text = decoded(token.raw);
  const word = /\S*$/.exec(text)?.[0] ?? "";
  return [text.slice(0, text.length - word.length), word];
}

// A browser breaks the line before a button; but what is too long for a line must be broken.
function isShort(token: Token, word: string | null): boolean {
  return (word ?? token.raw).length <= LONGEST_BOUND;
}

function inlineOne(token: Token, by: Rendering, depth: number): Shown {
  const within = () => inline(inlineTokens(token), by, depth + 1);
  switch (token.type) {
    case "mark": {
      const { claim, number } = token as unknown as MarkToken;
      return by.mark(claim, number);
    }
    case "math":
      return by.math((token as unknown as MathToken).tex, (token as unknown as MathToken).display);
    case "strong":
      return html`<strong>${within()}</strong>`;
    case "em":
      return html`<em>${within()}</em>`;
    case "del":
      return html`<s>${within()}</s>`;
    case "codespan":
      return html`<code>${(token as Tokens.Codespan).text}</code>`;
    case "br":
      return html`<br />`;
    case "reference":
      return html`${within()}`;
    case "link": {
      const href = safeHref((token as Tokens.Link).href);
      return href ? by.link(href, within()) : html`${within()}`;
    }
    case "image":
      // A picture would be fetched from where a model says.
      return (token as Tokens.Image).text;
    case "text":
      return token.tokens ? html`${within()}` : decoded(token.raw);
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return /^<br\s*\/?>$/i.test(token.raw) ? html`<br />` : token.raw;
  }
}

// The paragraph is parted behind an open mark, so that its quote stands right below the sentence.
function paragraph(tokens: readonly Token[], by: Rendering): TemplateResult {
  const cut = 1 + tokens.findIndex((token) => isOpenMark(token, by));
  const head = cut ? tokens.slice(0, cut) : tokens;
  const rest = cut ? tokens.slice(cut) : [];
  const bare = tokens.every((token) => token.type === "mark" || !token.raw.trim());
  return html`<p class=${bare ? "marks" : nothing}>${inline(head, by)}</p>
    ${cut ? by.quote() : quoteIn(tokens, by)}
    ${rest.length ? html`<p class="rest">${inline(rest, by)}</p>` : nothing}`;
}

function list({ ordered, start, items }: Tokens.List, by: Rendering, depth: number): Shown {
  const shown = items.map((item) => {
    const box = item.task ? html`<span aria-hidden="true">${item.checked ? "☑" : "☐"}</span> ` : nothing;
    return html`<li>${box}${blocks(item.tokens, by, depth + 1, !item.loose)}</li>`;
  });
  if (!ordered) return html`<ul>${shown}</ul>`;
  const first = Number(start);
  return html`<ol start=${first > 1 && first < 1e6 ? first : nothing}>${shown}</ol>`;
}

function blocks(tokens: readonly Token[], by: Rendering, depth: number, tight = false): Shown[] {
  return tokens.map((token) => {
    if (!tight || token.type !== "text") return renderBlock(token, by, depth);
    return html`${inline(token.tokens ?? [], by)}${quoteIn(token.tokens ?? [], by)}`;
  });
}

function table({ header, rows, align }: Tokens.Table, by: Rendering): TemplateResult {
  const side = (at: number) => align[at] ?? nothing;
  const head = header.map((cell, at) => html`<th scope="col" data-align=${side(at)}>${inline(cell.tokens, by)}</th>`);
  const body = rows.map(
    (row) => html`<tr>${row.map((cell, at) => html`<td data-align=${side(at)}>${inline(cell.tokens, by)}</td>`)}</tr>`,
  );
  const all = [header, ...rows].flat().flatMap((cell) => cell.tokens);
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${by.tableLabel}>
      <table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>
    </div>
    ${quoteIn(all, by)}`;
}

function quoteIn(tokens: readonly Token[], by: Rendering): Shown {
  const holds = (token: Token): boolean => isOpenMark(token, by) || ("tokens" in token && !!token.tokens?.some(holds));
  return tokens.some(holds) ? by.quote() : nothing;
}

function isOpenMark(token: Token, by: Rendering): boolean {
  if (token.type !== "mark") return false;
  const { claim, number } = token as unknown as MarkToken;
  return by.isOpen(claim, number);
}

function inlineTokens(token: Token): readonly Token[] {
  return ("tokens" in token && token.tokens) || [];
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0" };

// Models write entities for signs that Markdown would read; as text they mean the sign.
function decoded(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,4});/gi, (whole, name: string) => {
    if (name[0] !== "#") return NAMED[name.toLowerCase()] ?? whole;
    const code = name[1]?.toLowerCase() === "x" ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    // What the lexer took out must not come back by this door.
    return code > 0 && code <= 0x10ffff ? withoutOverrides(String.fromCodePoint(code)) : whole;
  });
}
