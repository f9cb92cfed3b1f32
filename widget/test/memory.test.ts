import { beforeEach, describe, expect, it } from "vitest";
import { EMPTY, newTurn, type Conversation } from "../src/conversation.ts";
import { Memory } from "../src/memory.ts";

const DESK = { open: true, draft: "half a ques", selection: null };

function turn(id: string, question = "What?") {
  return newTurn({ question, selection: null, chapter: null, book: null }, id, new Date(0));
}

function memory(storage: Storage | null = sessionStorage) {
  return new Memory("https://citewell.example/ book", storage);
}

describe("what the tab remembers", () => {
  beforeEach(() => sessionStorage.clear());

  it("is the conversation, its id, and what was being written", () => {
    const conversation: Conversation = { sessionId: "s", turns: [{ ...turn("1"), status: "done", text: "So." }] };
    memory().save({ conversation, desk: DESK });

    expect(memory().load()).toEqual({ conversation, desk: DESK });
  });

  it("is kept apart for each book", () => {
    memory().save({ conversation: { sessionId: "s", turns: [] }, desk: DESK });

    expect(new Memory("https://citewell.example/ other", sessionStorage).load().conversation).toEqual(EMPTY);
  });

  it("asks again what was on its way before its first event", () => {
    const [early, late] = [
      { ...turn("1"), status: "searching" as const },
      { ...turn("2"), status: "checking" as const, lastEventId: "a:3" },
    ];
    memory().save({ conversation: { sessionId: null, turns: [early, late] }, desk: DESK });

    expect(
      memory()
        .load()
        .conversation.turns.map(({ status }) => status),
    ).toEqual(["queued", "checking"]);
  });

  it("gives way, the oldest first, where there is no room", () => {
    const small = fullAt(2_000);
    const turns = ["1", "2", "3"].map((id) => turn(id, "x".repeat(700)));
    memory(small).save({ conversation: { sessionId: null, turns }, desk: DESK });

    expect(
      memory(small)
        .load()
        .conversation.turns.map(({ id }) => id),
    ).toEqual(["3"]);
  });

  it("is nothing where storage is forbidden or broken", () => {
    sessionStorage.setItem("citewell.1.https://citewell.example/ book", "{broken");

    expect(memory().load().conversation).toEqual(EMPTY);
    expect(memory(null).load().conversation).toEqual(EMPTY);
  });

  it("keeps other things beside it", () => {
    memory().note("contents", { title: "Book" });

    expect(memory().noted("contents")).toEqual({ title: "Book" });
    expect(memory().noted("nothing")).toBeNull();
  });

  it("gives the reader one id, long enough for the service", () => {
    const id = memory().readerId();

    expect(id).toMatch(/^[\w-]{22,128}$/);
    expect(memory().readerId()).toBe(id);
  });
});

function fullAt(size: number): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem(name: string, value: string) {
      if (value.length > size) throw new DOMException("full", "QuotaExceededError");
      kept.set(name, value);
    },
  } as unknown as Storage;
}
