// Formulas: shown as written until the reader of formulas, a file of its own, is there.

import { html, type TemplateResult } from "lit";
import { directive } from "lit/directive.js";
import { HOME } from "../home.ts";
import { AsyncDirective } from "lit/async-directive.js";

type Draw = (tex: string, display: boolean) => Node;

let draw: Draw | null = null;
let loading: Promise<void> | null = null;

/** Loads it once; a failure leaves formulas as they were written. */
function load(): Promise<void> {
  const address = new URL("widget-math.js", HOME).href;
  loading ??= import(/* @vite-ignore */ address).then(
    (loaded: { draw: Draw }) => {
      draw = loaded.draw;
    },
    () => {
      loading = null;
    },
  );
  return loading;
}

class Formula extends AsyncDirective {
  private shown: { key: string; node: unknown } | null = null;

  override render(tex: string, display: boolean): unknown {
    const key = `${display} ${tex}`;
    if (this.shown?.key === key) return this.shown.node;
    if (draw) return (this.shown = { key, node: draw(tex, display) }).node;
    void load().then(() => {
      if (draw && this.isConnected) this.setValue(this.render(tex, display));
    });
    return tex;
  }
}

const drawn = directive(Formula);

export function formula(tex: string, display: boolean, label: string): TemplateResult {
  return display
    ? html`<span class="math display" dir="ltr" tabindex="0" role="group" aria-label=${label}>${drawn(tex, true)}</span>`
    : html`<span class="math" dir="ltr">${drawn(tex, false)}</span>`;
}
