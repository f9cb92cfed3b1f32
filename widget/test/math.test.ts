import { describe, expect, it, vi } from "vitest";
import { draw } from "../src/math.ts";

// KaTeX looks for this when it is loaded, and the page of the tests does not have it.
vi.hoisted(() => Object.defineProperty(document, "compatMode", { value: "CSS1Compat" }));

describe("a formula", () => {
  it("is drawn as MathML, and keeps its source for who listens", () => {
    const drawn = draw("\\frac{a}{b}", true) as HTMLElement;

    expect(drawn.querySelector("math")?.getAttribute("display")).toBe("block");
    expect(drawn.querySelector("mfrac")).not.toBeNull();
    expect(drawn.querySelector("annotation")?.textContent).toBe("\\frac{a}{b}");
  });

  it.each(["\\frac{a", "\\nosuchcommand{x}", "\\def\\a{\\a\\a}\\a"])(
    "that cannot be read stays as written: %s",
    (tex) => {
      expect((draw(tex, false) as HTMLElement).innerHTML).toBe(`<code>${tex}</code>`);
    },
  );

  it.each([
    "\\href{javascript:window.hacked=1}{x}",
    "\\url{javascript:window.hacked=1}",
    "\\includegraphics{https://evil.example/x.png}",
    "\\htmlStyle{position:fixed}{x}",
    "\\htmlClass{panel}{x}",
    "\\text{<img src=x onerror=window.hacked=1>}",
    "\\rule{10000em}{10000em}",
  ])("reaches for nothing outside: %s", (tex) => {
    const drawn = draw(tex, false) as HTMLElement;

    expect(drawn.querySelector("a, img, script, [href], [src], [style], [onerror], .panel")).toBeNull();
    expect(drawn.textContent).not.toBe("");
  });
});
