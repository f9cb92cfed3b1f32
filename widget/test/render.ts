// Renders a text as an answer does, into a plain element.

import { render, html } from "lit";
import { readBlocks } from "../src/markdown/lexer.ts";
import { tagMarks } from "../src/markdown/marks.ts";
import { renderBlock, type Rendering } from "../src/markdown/render.ts";
import type { Claim } from "../src/wire.ts";

export function rendered(text: string, claims: Claim[] = [], open?: [claim: number, number: number]): HTMLElement {
  const box = document.createElement("div");
  const by: Rendering = {
    mark: (claim, number) => html`<button class="mark">${claim}:${number}</button>`,
    isOpen: (claim, number) => open?.[0] === claim && open[1] === number,
    quote: () => html`<aside>the quote</aside>`,
    code: (code) => html`<pre><code>${code}</code></pre>`,
    math: (tex, display) => html`<span class="math" data-display=${display}>${tex}</span>`,
    link: (href, label) => html`<a href=${href}>${label}</a>`,
    tableLabel: "Table",
  };
  render(
    readBlocks(tagMarks(text, claims)).map((block) => renderBlock(block, by)),
    box,
  );
  return box;
}

/** Gives the markup without the comments that Lit keeps its place by. */
export function markup(box: HTMLElement): string {
  return box.innerHTML
    .replace(/<!--.*?-->/g, "")
    .replace(/>\n\s*</g, "><")
    .trim();
}

/** Makes claims of the sentences of a text, which `[n]` may follow. */
export function claimsOf(text: string, sentences: string[], verdict: Claim["verdict"] = "supported"): Claim[] {
  const letters = Array.from(text);
  return sentences.map((sentence) => {
    const start = Array.from(text.slice(0, text.indexOf(sentence))).length;
    const end = start + Array.from(sentence).length;
    return { text: letters.slice(start, end).join(""), start, end, verdict, citations: [] };
  });
}
