import { describe, expect, it } from "vitest";
import { newTurn, type Turn } from "../src/conversation.ts";
import { announcementOf } from "../src/announce.ts";
import { copyable } from "../src/sources.ts";
import { directionOf, fill, shownLanguage, wordsOf } from "../src/strings.ts";

describe("the chat's words", () => {
  it.each(["de", "ur", "es"])("have the same gaps in %s as in English", (language) => {
    const [own, english] = [wordsOf(language), wordsOf("en")];
    const gaps = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted();

    expect(Object.keys(own)).toEqual(Object.keys(english));
    for (const name of Object.keys(english) as (keyof typeof english)[]) {
      expect(gaps(own[name])).toEqual(gaps(english[name]));
      expect(own[name].trim()).not.toBe("");
    }
  });

  it("fall back to English, and know who writes from the right", () => {
    expect(shownLanguage("fr-CA")).toBe("en");
    expect(wordsOf("de-AT")).toBe(wordsOf("de"));
    expect([directionOf("ur-PK"), directionOf("de")]).toEqual(["rtl", "ltr"]);
    expect(fill("{a} of {b}", { a: 1, b: 2 })).toBe("1 of 2");
  });
});

describe("an answer in other places", () => {
  const quote = {
    number: 1,
    chunk_id: "c",
    chapter: "One",
    section: "First",
    quote: "So\nit is.",
    url: "https://b.example/#x",
    of: "text" as const,
  };
  const turn: Turn = {
    ...newTurn({ question: "What?", selection: null, chapter: null, book: null }, "1", new Date(0)),
    status: "done",
    text: "It **is** so. [1]",
    doubtful: false,
    claims: [{ text: "It **is** so.", start: 0, end: 13, verdict: "supported", citations: [quote] }],
  };

  it("is copied with its proof", () => {
    expect(copyable(turn, "Sources")).toBe(
      "It **is** so. [1]\n\nSources\n[1] One › First: “So it is.” https://b.example/#x\n",
    );
  });

  it("is read out once, without marks and markup", () => {
    expect(announcementOf(turn, wordsOf("en"))).toBe("Answer: It is so. 1 quote · 1 section");
  });

  it("is announced as what it is when there is none", () => {
    const offline = { kind: "offline" as const, detail: "", requestId: "", retryAt: null };

    expect(announcementOf({ ...turn, status: "failed", trouble: offline }, wordsOf("en"))).toMatch(
      /^You are offline\. /,
    );
    expect(announcementOf({ ...turn, status: "stopped" }, wordsOf("de"))).toMatch(/^Angehalten\./);
  });
});
