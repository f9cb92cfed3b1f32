// How one question and its answer look.

import { announce, copyButton, make } from "./dom.js";
import {
  codeBox,
  isCode,
  plainText,
  renderBlock,
  renderMarkdown,
  splitBlocks,
  tagMarks,
} from "./markdown.js";
import { citedSources, contextLink, copyable, place } from "./sources.js";

const PROGRESS = {
  searching: "Searching the book…",
  checking: "Checking each sentence against the book…",
};
const CONFIDENCE = {
  high: "High confidence",
  medium: "Medium confidence",
  low: "Low confidence: the book touches on this only in part",
  insufficient: "The book does not answer this",
};
const UNPROVEN = {
  unsupported: "The book does not support this.",
  contradicted: "The book says otherwise:",
};
const PREVIEW = 200;
const NEAREST = 3;

/** The quote that is open, of which there is at most one on the page. */
let opened = null;

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && opened) closeQuote();
});

/** Shows a turn and follows its changes; `retry` asks its question again. */
export class TurnView {
  constructor(turn, retry) {
    this.turn = turn;
    this.retry = retry;
    this.blocks = [];
    this.body = make("div", { class: "answer" });
    this.progress = make("p", { class: "progress" });
    this.end = make("div", { class: "end" });
    const heading = make("h2", { id: `question-${turn.id}`, class: "question" }, turn.question);
    this.node = make(
      "article",
      { class: "turn", "aria-labelledby": heading.id },
      heading,
      this.body,
      this.progress,
      this.end,
    );
    this.update();
  }

  /** Shows what has changed in the turn. */
  update() {
    const { status, refused } = this.turn;
    this.node.dataset.status = refused ? "refused" : status;
    this.progress.textContent = PROGRESS[status] ?? "";
    this.progress.hidden = !PROGRESS[status];
    this.showText();
    this.end.replaceChildren(...(PROGRESS[status] ? [] : this.ending()));
  }

  /** Renders the text anew from the first block that changed, so that what is being read stays put. */
  showText() {
    const { text, claims, refused } = this.turn;
    const blocks = refused ? [] : splitBlocks(tagMarks(text, claims));
    let same = 0;
    while (same < blocks.length && blocks[same].source === this.blocks[same]?.source) same += 1;
    if (same === blocks.length && same === this.blocks.length) return;

    const held = document.activeElement?.closest?.(".mark")?.id;
    const open = opened && this.body.contains(opened.mark) ? opened : null;
    const inQuote = open?.panel.contains(document.activeElement);
    if (open) closeQuote({ refocus: false });
    for (const gone of this.blocks.splice(same)) gone.node.remove();
    for (const block of blocks.slice(same)) {
      const node = renderBlock(block, (claim, number) => this.mark(claim, number));
      this.blocks.push({ source: block.source, node });
      this.body.append(node);
    }
    const again = open && document.getElementById(open.mark.id);
    if (again) this.openQuote(again, open.claim, open.number, inQuote);
    if (held && !document.getElementById(held)?.contains(document.activeElement)) {
      document.getElementById(held)?.focus({ preventScroll: true });
    }
  }

  mark(claim, number) {
    const [citation] = this.quotesOf(claim, number);
    if (!citation) return make("sup", {}, `[${number}]`);
    const mark = make(
      "button",
      {
        type: "button",
        class: "mark",
        id: `mark-${this.turn.id}-${claim}-${number}`,
        "aria-expanded": "false",
        "aria-label": `Source ${number}: quote from ${place(citation)}`,
      },
      String(number),
    );
    mark.addEventListener("click", () => {
      const wasOpen = opened?.mark === mark;
      if (opened) closeQuote();
      if (!wasOpen) this.openQuote(mark, claim, number, true);
    });
    return mark;
  }

  quotesOf(claim, number) {
    return (this.turn.claims[claim]?.citations ?? []).filter((quote) => quote.number === number);
  }

  openQuote(mark, claim, number, focus) {
    const quotes = this.quotesOf(claim, number);
    const { text, verdict } = this.turn.claims[claim];
    const close = make("button", { type: "button", class: "quiet", onclick: () => closeQuote() }, "Close");
    const panel = make(
      "div",
      {
        class: "quote",
        id: `quote-${mark.id}`,
        role: "group",
        tabindex: "-1",
        "aria-label": `Source ${number}: ${place(quotes[0])}`,
      },
      make("p", { class: "where" }, make("span", {}, place(quotes[0])), close),
      verdict === "partly" ? make("p", { class: "note" }, "The book supports this in part.") : null,
      ...quotes.flatMap((quote) => this.quote(quote, isCode(text))),
    );
    insertAfter(mark, panel);
    mark.setAttribute("aria-expanded", "true");
    mark.setAttribute("aria-controls", panel.id);
    opened = { mark, panel, claim, number };
    if (!focus) return;
    panel.focus({ preventScroll: true });
    panel.scrollIntoView({ block: "nearest" });
  }

  quote(citation, ofCode) {
    const here = contextLink(this.turn, citation);
    // The quote of a block of code comes without its fence, and must not be read as Markdown.
    const bare = ofCode && !isCode(citation.quote);
    const words = bare ? [codeBox(citation.quote)] : renderMarkdown(citation.quote);
    return [
      make("blockquote", {}, ...words),
      make(
        "p",
        { class: "links" },
        here && make("a", { href: here }, "Read in context"),
        make("a", { href: citation.url, target: "_blank", rel: "noopener" }, "Published page"),
      ),
    ];
  }

  ending() {
    const { status, refused } = this.turn;
    if (status === "failed") return [this.problem()];
    if (status === "stopped") return [this.stopped()];
    const notices = (this.turn.notices ?? []).map((text) => make("p", { class: "foot" }, text));
    const rest = refused ? [this.refusal(), this.withheld()].filter(Boolean) : this.proof();
    return [...notices, ...rest];
  }

  proof() {
    const { turn } = this;
    const sources = citedSources(turn).map((source) =>
      make(
        "li",
        {},
        make("span", { class: "number" }, String(source.number)),
        make("a", { href: contextLink(turn, source) }, place(source)),
        make("span", { class: "similarity" }, `similarity ${source.similarity_score.toFixed(2)}`),
      ),
    );
    return [
      make("h3", {}, "Sources"),
      make("ul", { class: "sources" }, ...sources),
      this.unproven(),
      this.withheld(),
      make(
        "p",
        { class: "foot" },
        make("span", {}, CONFIDENCE[turn.confidence]),
        copyButton("Copy with sources", () => copyable(turn)),
      ),
    ].filter(Boolean);
  }

  unproven() {
    const unproven = this.turn.claims.filter(({ verdict }) => UNPROVEN[verdict]);
    if (!unproven.length) return null;
    return make(
      "div",
      { class: "unproven" },
      make("h3", {}, "Shown without proof"),
      make(
        "ul",
        {},
        ...unproven.map(({ text, verdict, citations }) =>
          make(
            "li",
            {},
            plainText(text),
            make("p", { class: "note" }, UNPROVEN[verdict]),
            ...citations.flatMap((quote) => this.quote(quote, isCode(text))),
          ),
        ),
      ),
    );
  }

  withheld() {
    // An operator may have unsupported statements shown; these are in the text, with their warning.
    const shown = new Set(this.turn.claims.map(({ text }) => text));
    const withheld = this.turn.withheld.filter((text) => !shown.has(text));
    if (!withheld.length) return null;
    const summary =
      withheld.length === 1
        ? "1 statement was withheld because the book does not support it"
        : `${withheld.length} statements were withheld because the book does not support them`;
    const items = withheld.map((text) => make("li", {}, plainText(text)));
    return make(
      "details",
      { class: "withheld" },
      make("summary", {}, summary),
      make("ul", {}, ...items),
    );
  }

  refusal() {
    const { turn } = this;
    const names = turn.sources.map(place);
    const nearest = turn.sources.filter((_, i) => names.indexOf(names[i]) === i).slice(0, NEAREST);
    return make(
      "div",
      { class: "refusal" },
      make("h3", {}, "Not in the book"),
      make("p", {}, turn.text),
      nearest.length ? make("h4", {}, "Nearest passages") : null,
      nearest.length ? make("ul", {}, ...nearest.map((source) => passage(turn, source))) : null,
    );
  }

  stopped() {
    const said = this.turn.text
      ? "Stopped. What you see was checked; the rest was not written."
      : "Stopped before the first sentence.";
    return make("p", { class: "foot" }, make("span", {}, said), this.retryButton("Ask again"));
  }

  problem() {
    const { problem } = this.turn;
    return make(
      "div",
      { class: "problem" },
      make("h3", {}, problem.title),
      make("p", {}, problem.detail),
      problem.suggested_action ? make("p", {}, problem.suggested_action) : null,
      problem.retry_after ? make("p", {}, `It asks to wait ${problem.retry_after} seconds.`) : null,
      make(
        "p",
        { class: "foot" },
        problem.request_id ? make("span", {}, "Request ", make("code", {}, problem.request_id)) : null,
        this.retryButton("Retry"),
      ),
    );
  }

  retryButton(label) {
    return make("button", { type: "button", class: "strong", onclick: this.retry }, label);
  }
}

/** Tells screen readers how a turn ended, once. */
export function announceEnd(turn) {
  if (turn.status === "failed") announce(`${turn.problem.title}. ${turn.problem.detail}`);
  else if (turn.status === "stopped") announce("Stopped.");
  else if (turn.refused) announce(`Not in the book. ${turn.text}`);
  else announce(`Answer: ${plainText(tagMarks(turn.text, turn.claims))} ${CONFIDENCE[turn.confidence]}.`);
}

/** Puts the panel right below the sentence; a paragraph, which may not hold it, is parted for it. */
function insertAfter(mark, panel) {
  const anchor = mark.closest(".bound");
  const paragraph = anchor.closest("p");
  if (!paragraph) {
    anchor.after(panel);
    return;
  }
  const range = document.createRange();
  range.setStartAfter(anchor);
  range.setEndAfter(paragraph.lastChild);
  const rest = range.extractContents();
  paragraph.after(panel);
  if (rest.textContent) panel.after(make("p", { class: "rest" }, rest));
}

function closeQuote({ refocus = true } = {}) {
  const { mark, panel } = opened;
  opened = null;
  const rest = panel.nextElementSibling;
  if (rest?.className === "rest") {
    panel.previousElementSibling.append(...rest.childNodes);
    rest.remove();
  }
  panel.remove();
  mark.setAttribute("aria-expanded", "false");
  mark.removeAttribute("aria-controls");
  if (refocus) mark.focus();
}

function passage(turn, source) {
  const words = plainText(source.chunk_text);
  const preview = words.length > PREVIEW ? `${words.slice(0, PREVIEW).trimEnd()}…` : words;
  return make("li", {}, make("a", { href: contextLink(turn, source) }, place(source)), make("p", {}, preview));
}
