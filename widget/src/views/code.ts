// Code as it stands, with a button that copies it.

import { html, type TemplateResult } from "lit";
import { withoutOverrides } from "../markdown/lexer.ts";
import type { Stage } from "./stage.ts";

export function codeBox(stage: Stage, code: string): TemplateResult {
  const { words } = stage;
  return html`<div class="code">
    <div class="scroll" tabindex="0" role="group" aria-label=${words.code}><pre dir="ltr"><code>${withoutOverrides(code)}</code></pre></div>
    ${copyButton(stage, words.copy, () => code)}
  </div>`;
}

/** Makes a button that copies what `text()` gives, and says whether it worked. */
export function copyButton(stage: Stage, label: unknown, text: () => string, name?: string): TemplateResult {
  const { words } = stage;
  async function copy(event: Event): Promise<void> {
    const button = event.currentTarget as HTMLButtonElement;
    const said = (await stage.copy(text())) ? words.copied : words.notCopied;
    button.dataset["said"] = said;
    stage.say(said);
    setTimeout(() => delete button.dataset["said"], 2000);
  }
  return html`<button type="button" class="plain copy" aria-label=${name ?? words.copy} @click=${copy}>${label}</button>`;
}
