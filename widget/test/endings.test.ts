import { html, render } from "lit";
import { describe, expect, it } from "vitest";
import { afterEvent, newTurn, type Turn } from "../src/conversation.ts";
import { bookHref } from "../src/markdown/links.ts";
import { hrefOf, whereIs } from "../src/site.ts";
import { wordsOf } from "../src/strings.ts";
import { answerText } from "../src/views/answer.ts";
import { ending } from "../src/views/ending.ts";
import { bookLink } from "../src/views/links.ts";
import { refusal } from "../src/views/refusal.ts";
import type { Stage } from "../src/views/stage.ts";
import { welcome } from "../src/views/welcome.ts";
import type { Outcome, Passage, Quote, Reply, TableOfContents } from "../src/wire.ts";
import { events } from "./service.ts";

function stageOf(more: object = {}): Stage {
  const chat = { quote: null, rating: null, desk: { selection: null }, contents: null, page: null, ...more };
  const words = wordsOf("en");
  return { chat, words, language: "en", direction: "ltr", whereIs, hrefOf, goTo: () => {} } as unknown as Stage;
}

function shown(template: unknown): HTMLElement {
  const box = document.createElement("div");
  render(html`${template}`, box);
  return box;
}

function passage(url: string, section = "Section"): Passage {
  return {
    chunk_id: url,
    chunk_text: "**Lamps** burn [oil][o].",
    chapter: "Chapter",
    section,
    url,
    source_file: "a.md",
  };
}

function quote(url: string, section = "Section", text = "So it is."): Quote {
  return { number: 1, chunk_id: url, chapter: "Chapter", section, quote: text, url, of: "text" };
}

/** What becomes of a question when the service ends with this. */
function ended(reply: Partial<Reply>, asked: Partial<Turn> = {}): Turn {
  const whole = { ...(events("a").at(-1)![1] as Reply), claims: [], ...reply };
  const turn = {
    ...newTurn({ question: "?", selection: null, chapter: null, book: null }, "1", new Date(0)),
    ...asked,
  };
  return afterEvent(turn, { event: "done", data: whole }, "a:1");
}

function refused(status: Outcome, more: Partial<Reply> = {}, asked: Partial<Turn> = {}): string {
  const retrieved = [passage("https://b.example/one"), passage("https://b.example/two", "Other")];
  const turn = ended({ should_answer: false, response: "Said.", status, retrieved, ...more }, asked);
  expect(turn.refused).toBe(true);
  return (shown(refusal(stageOf(), turn)).textContent ?? "").replace(/\s+/g, " ").trim();
}

describe("a question without an answer", () => {
  it("is off the subject only where the service says so, and is shown no passages then", () => {
    expect(refused("not_in_book")).toBe("I couldn't find that in the book.");
    expect(refused("not_in_book", {}, { chapter: "One" })).toBe("I couldn't find that in this chapter.");
  });

  it("is shown the one section that came closest", () => {
    const said = "I couldn't find a direct answer. The closest section is: Chapter › Section Lamps burn oil.";

    expect(refused("no_direct_answer")).toBe(said);
  });

  it("is told in the service's words where these say why", () => {
    expect(refused("unsupported_request")).toBe("Said.");
  });

  it("may have been asked of the selection alone", () => {
    const said = refused("not_in_selection", { offer: "whole_book" }, { selection: "Some text." });

    expect(said).toBe("The selected text doesn't answer that. Search the whole book");
  });
});

describe("below an answer", () => {
  const claim = (...citations: Quote[]) => ({
    text: "So.",
    start: 0,
    end: 3,
    verdict: "supported" as const,
    citations,
  });
  const facts = (reply: Partial<Reply>) =>
    shown(ending(stageOf(), ended(reply))).querySelector(".facts")?.textContent ?? null;

  it("stands what can be counted", () => {
    const one = quote("https://b.example/one");
    const two = quote("https://b.example/two", "Other");
    const more = quote("https://b.example/two", "Other", "And so on.");

    expect(facts({ claims: [claim(one)] })).toBe("1 quote · 1 section");
    expect(facts({ claims: [claim(one, two), claim(two, more)] })).toBe("3 quotes · 2 sections");
  });

  it("stands doubt where there is doubt", () => {
    const claims = [claim(quote("https://b.example/one"))];

    expect(facts({ claims, metrics: { answerability: 0.75, correctness: 0.5 } })).toBe("May not answer your question");
  });

  it("stands nothing where nothing was quoted", () => {
    expect(facts({ claims: [claim()] })).toBeNull();
    expect(facts({ status: "small_talk", should_answer: false })).toBeNull();
    expect(facts({ status: "not_in_book", should_answer: false })).toBeNull();
  });
});

describe("addresses of the book", () => {
  const HARMFUL = [
    "javascript:alert(1)//x",
    " javascript:alert(1)",
    "JaVa\tScript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "blob:https://b.example/1",
    "https://bank.example@evil.example/",
  ];

  it.each(HARMFUL)("are not followed where they could do harm: %s", (url) => {
    const turn = ended({
      sources: [{ ...passage(url), number: 1 }],
      claims: [{ text: "So.", start: 0, end: 3, verdict: "supported", citations: [quote(url)] }],
      response: "So. [1]",
    });
    const contents = { book: "b", title: "B", entries: [{ kind: "chapter", title: "One", url, children: [] }] };
    const open = stageOf({ quote: { turn: "1", claim: 0, number: 1 }, contents });
    const lost = { ...turn, outcome: "no_direct_answer" as const, refused: true, nearest: [passage(url)] };

    for (const view of [answerText(open, turn), ending(open, turn), refusal(open, lost), welcome(open)]) {
      const box = shown(view);
      expect(box.textContent?.trim()).not.toBe("");
      expect(box.querySelectorAll("a")).toHaveLength(0);
    }
    expect(
      shown(bookLink(stageOf(), bookHref(url) ?? "", "label"))
        .querySelector("a")
        ?.getAttribute("href"),
    ).toBe("");
  });

  it.each(["https://b.example/a#b", "/a#b", "../a.html", "mailto:a@b.example"])("are followed: %s", (url) => {
    expect(bookHref(url)).toBe(url);
  });

  it("lead away in a tab of their own", () => {
    const link = shown(
      refusal(stageOf(), { ...ended({}), outcome: "no_direct_answer", nearest: [passage("https://b.example/")] }),
    );

    expect(link.querySelector("a")?.target).toBe("_blank");
    expect(link.querySelector("a")?.rel).toBe("noopener");
  });
});

describe("before the first question", () => {
  it("stand chapters to read, and no questions that nobody has asked", () => {
    const contents: TableOfContents = {
      book: "b",
      title: "Book",
      entries: ["one", "two"].map((name) => ({
        kind: "chapter",
        title: name,
        url: `https://b.example/${name}`,
        children: [],
      })),
    };
    const box = shown(welcome(stageOf({ contents })));

    expect([...box.querySelectorAll("a")].map((link) => [link.textContent, link.getAttribute("href")])).toEqual([
      ["one", "https://b.example/one"],
      ["two", "https://b.example/two"],
    ]);
    expect(box.querySelectorAll("button")).toHaveLength(0);
  });
});
