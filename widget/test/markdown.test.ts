import { describe, expect, it } from "vitest";
import { plainText, previewOf } from "../src/markdown/plain.ts";
import { claimsOf, markup, rendered } from "./render.ts";

describe("an answer's Markdown", () => {
  it("becomes paragraphs, emphasis and code", () => {
    const box = rendered("A **bold** and *slanted* `word`.\n\nNext.");

    expect(markup(box)).toBe("<p>A <strong>bold</strong> and <em>slanted</em> <code>word</code>.</p><p>Next.</p>");
  });

  it("becomes lists, also ones that begin elsewhere and hold others", () => {
    const box = rendered("3. three\n4. four\n   - inner");

    expect(box.querySelector("ol")?.getAttribute("start")).toBe("3");
    expect(box.querySelector("ol li ul li")?.textContent).toBe("inner");
  });

  it("becomes tables whose columns are aligned", () => {
    const box = rendered("| a | b |\n| :-- | --: |\n| 1 | 2 |");

    expect([...box.querySelectorAll("th, td")].map((cell) => cell.textContent)).toEqual(["a", "b", "1", "2"]);
    expect(box.querySelectorAll("td")[1]?.dataset["align"]).toBe("right");
    expect(box.querySelector("[role=group]")?.getAttribute("tabindex")).toBe("0");
  });

  it("keeps code as it stands", () => {
    expect(rendered("```python\nif a < b:\n    print('*x*')\n```").querySelector("pre")?.textContent).toBe(
      "if a < b:\n    print('*x*')",
    );
  });

  it("finds formulas, and leaves prices alone", () => {
    const box = rendered("With $x^2$ it costs $5 or $6.\n\n$$\n\\frac{a}{b}\n$$");
    const found = [...box.querySelectorAll<HTMLElement>(".math")];

    expect(found.map((one) => [one.textContent, one.dataset["display"]])).toEqual([
      ["x^2", "false"],
      ["\\frac{a}{b}", "true"],
    ]);
    expect(box.textContent).toContain("$5 or $6");
  });

  it("shows the signs that entities stand for", () => {
    expect(rendered("a &lt; b &amp; c &#8805; d").textContent?.trim()).toBe("a < b & c ≥ d");
  });

  it.each([
    ["[Mermaid.js] draws [like a pencil][pencil][^1].", "Mermaid.js draws like a pencil."],
    ["the [`Vec`][vec] of `a[i][j]`", "the Vec of a[i][j]"],
    ["within [0, 1] of m[row][column]", "within [0, 1] of m[row][column]"],
  ])("shows links by reference as their words: %s", (source, shown) => {
    expect(rendered(source).textContent?.trim()).toBe(shown);
    expect(plainText(source)).toBe(shown);
  });

  it("follows links of the web alone, and shows what the others are called", () => {
    const box = rendered("[one](https://ok.example/a) [two](mailto:a@b.example) [three](../page.md)");

    expect([...box.querySelectorAll("a")].map((link) => link.textContent)).toEqual(["one"]);
    expect(box.textContent).toContain("one two three");
  });

  it("reads as plain words", () => {
    expect(plainText("# Title\n\nA **bold** [link](https://a.example).\n\n| a | b |\n|---|---|\n| 1 | 2 |")).toBe(
      "Title A bold link. a, b; 1, 2",
    );
  });
});

describe("citation marks", () => {
  const text = "One is so. [1] Two is so. [2][3]";
  const claims = claimsOf(text, ["One is so.", "Two is so."]);

  it("name their claim and their source", () => {
    const marks = [...rendered(text, claims).querySelectorAll(".mark")];

    expect(marks.map((mark) => mark.textContent)).toEqual(["0:1", "1:2", "1:3"]);
  });

  it("are found behind letters that take two units", () => {
    const said = "A robot 🤖🤖 waves. [1] It stops. [2]";
    const marks = rendered(said, claimsOf(said, ["A robot 🤖🤖 waves.", "It stops."])).querySelectorAll(".mark");

    expect([...marks].map((mark) => mark.textContent)).toEqual(["0:1", "1:2"]);
  });

  it("stay on the line of the word before them", () => {
    const bound = rendered(text, claims).querySelectorAll(".bound");

    expect([...bound].map((one) => one.textContent)).toEqual(["so.0:1", "so.1:21:3"]);
  });

  it("open their quote right below the sentence", () => {
    const box = rendered(text, claims, [0, 1]);

    expect([...box.children].map((child) => `${child.tagName}: ${child.textContent?.trim()}`)).toEqual([
      "P: One is so.0:1",
      "ASIDE: the quote",
      "P: Two is so.1:21:3",
    ]);
  });

  it("open their quote inside the item of a list", () => {
    const list = "- One is so. [1]\n- Two is so. [2]";
    const box = rendered(list, claimsOf(list, ["One is so.", "Two is so."]), [1, 2]);

    expect(box.querySelectorAll("li")[1]?.querySelector("aside")).not.toBeNull();
    expect(box.querySelectorAll("aside")).toHaveLength(1);
  });

  it("are given to claims that the book does not support", () => {
    const said = "One is so. [1] Two is not.";
    const [one, two] = claimsOf(said, ["One is so.", "Two is not."]);
    const marks = rendered(said, [one!, { ...two!, verdict: "unsupported" }]).querySelectorAll(".mark");

    expect([...marks].map((mark) => mark.textContent)).toEqual(["0:1", "1:0"]);
  });

  it("are not made of brackets inside a claim", () => {
    const said = "The list a[1] is short. [2]";

    expect(rendered(said, claimsOf(said, ["The list a[1] is short."])).querySelectorAll(".mark")).toHaveLength(1);
  });
});

describe("a preview", () => {
  it("has a note's title and words, and not the signs around them", () => {
    expect(previewOf(":::note[On time]\n\nClocks *drift*.\n\n:::\n\nAnd so on.")).toBe(
      "On time Clocks drift. And so on.",
    );
    expect(previewOf(":::tip Mind the gap\nJump.\n:::")).toBe("Mind the gap Jump.");
  });

  it("ends with a whole word", () => {
    expect(previewOf("word ".repeat(60))).toMatch(/^(word )*word…$/);
  });
});
