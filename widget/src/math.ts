// Formulas as MathML, which browsers draw themselves: no style sheet and no font has to be loaded.

import katex from "katex";

export function draw(tex: string, display: boolean): Node {
  const box = document.createElement("span");
  katex.render(tex, box, {
    displayMode: display,
    output: "mathml",
    throwOnError: false,
    trust: false,
    strict: "ignore",
    maxSize: 20,
    maxExpand: 200,
  });
  return box;
}
