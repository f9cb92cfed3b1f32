// The few pictures, drawn by hand on a grid of 24; they say nothing that words beside them do not.

import { html, svg, type SVGTemplateResult, type TemplateResult } from "lit";

function icon(drawing: SVGTemplateResult): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${drawing}</svg>`;
}

export const book = icon(
  svg`<path d="M12 6.5C10 5 7 4.5 3.5 4.5v13c3.5 0 6.5.5 8.5 2 2-1.5 5-2 8.5-2v-13C17 4.5 14 5 12 6.5zm0 0v13"/>`,
);
export const close = icon(svg`<path d="M6 6l12 12M18 6L6 18"/>`);
export const fresh = icon(
  svg`<path d="M11 5H6a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-5M9.5 14.5l1-3.5L18 3.5l2.5 2.5-7.5 7.5z"/>`,
);
export const send = icon(svg`<path d="M12 19V5M6 11l6-6 6 6"/>`);
export const stop = icon(svg`<rect x="7" y="7" width="10" height="10" rx="1.5" fill="currentColor"/>`);
export const copy = icon(svg`<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15V6a2 2 0 0 1 2-2h9"/>`);
export const up = icon(
  svg`<path d="M7 11v9H4v-9zM7 11l4-7c1.7 0 2.5 1.2 2.2 2.8L12.6 10H18a2 2 0 0 1 2 2.3l-1 6A2 2 0 0 1 17 20H7"/>`,
);
export const down = icon(
  svg`<path d="M7 13V4H4v9zM7 13l4 7c1.7 0 2.5-1.2 2.2-2.8L12.6 14H18a2 2 0 0 0 2-2.3l-1-6A2 2 0 0 0 17 4H7"/>`,
);
export const quote = icon(svg`<path d="M5 17c3-1 4-3 4-6V7H4v5h3M15 17c3-1 4-3 4-6V7h-5v5h3"/>`);
export const proven = icon(svg`<path d="M5 12.5l4.5 4.5L19 7.5"/>`);
export const partly = icon(svg`<path d="M4 14c2.5-5 5.5-5 8-2s5.5 3 8-2"/>`);
export const unproven = icon(svg`<path d="M12 5v9M12 18.5v.5"/>`);
export const arrow = icon(svg`<path d="M5 12h14M13 6l6 6-6 6"/>`);
