// Formulas as MathML, which browsers draw themselves: no style sheet and no font has to be loaded.

import katex from "katex";

/** Draws a formula; one that cannot be read is shown as it was written. */
export function draw(tex: string, display: boolean): Node {
  const box = document.createElement("span");
  try {
    katex.render(tex, box, {
      displayMode: display,
      output: "mathml",
      throwOnError: true,
      trust: false,
      strict: "ignore",
      maxSize: 20,
      maxExpand: 200,
    });
  } catch {
    const source = document.createElement("code");
    source.textContent = tex;
    box.replaceChildren(source);
  }
  return box;
}
