import { describe, expect, it } from "vitest";
import { readBlocks } from "../src/markdown/lexer.ts";
import { tagMarks } from "../src/markdown/marks.ts";
import { plainText } from "../src/markdown/plain.ts";
import { HOSTILE } from "./hostile.ts";
import { rendered } from "./render.ts";

const ALLOWED = new Set(
  "DIV P STRONG EM S CODE PRE BR HR UL OL LI BLOCKQUOTE TABLE THEAD TBODY TR TH TD A SPAN BUTTON ASIDE".split(" "),
);
const ATTRIBUTES = new Set(
  "class href start scope role tabindex aria-label aria-hidden data-align data-display".split(" "),
);

describe("an answer that tries to do harm", () => {
  it("comes in at least forty kinds", () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(40);
  });

  it.each(HOSTILE)("is only text: $name", ({ answer }) => {
    const box = rendered(answer);

    for (const element of box.querySelectorAll("*")) {
      expect(ALLOWED).toContain(element.tagName);
      for (const { name } of element.attributes) expect(ATTRIBUTES).toContain(name);
    }
    for (const link of box.querySelectorAll("a")) {
      expect(link.getAttribute("href")).toMatch(/^https?:\/\/[^@]*$/);
    }
    expect(box.textContent).not.toMatch(/[\u202A-\u202E\u2066-\u2069\uFDD0\uFDD1]/);
    expect("hacked" in window).toBe(false);
  });

  it.each(HOSTILE)("keeps its letters: $name", ({ answer }) => {
    const letters = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "");
    const shown = letters(rendered(answer).textContent ?? "");

    // What is not shown is markup and addresses, never more than the text that stands in them.
    expect(letters(answer).length).toBeGreaterThanOrEqual(shown.length);
    if (!/[[<$`&]/.test(answer)) expect(shown.length).toBe(letters(answer).length);
  });

  it.each(HOSTILE)("is read in less than half a second of work: $name", ({ answer }) => {
    const begun = process.cpuUsage();
    readBlocks(tagMarks(answer, []));
    plainText(answer);

    expect(process.cpuUsage(begun).user).toBeLessThan(500_000);
  });
});
