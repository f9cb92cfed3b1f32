// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Asking } from "../src/asking.ts";
import { Client } from "../src/client.ts";
import { EMPTY, restored, type Conversation, type Turn } from "../src/conversation.ts";
import { refuses, service, SESSION, streams, type Answer, type Service } from "./service.ts";

let running: Service | null = null;

beforeEach(() => void vi.stubGlobal("navigator", { onLine: true }));
afterEach(() => {
  running?.stop();
  vi.unstubAllGlobals();
});

async function asking(...script: Answer[]) {
  const server = (running = await service(...script));
  const state = { conversation: EMPTY as Conversation, seen: [] as string[] };
  const ended: Turn[] = [];
  const asker = new Asking({
    client: new Client({ server: server.address, key: "cw_test", reader: "r".repeat(36) }),
    read: () => state.conversation,
    write: (conversation) => {
      state.conversation = conversation;
      state.seen.push(conversation.turns.map(({ status, reconnecting }) => (reconnecting ? "cut" : status)).join(" "));
    },
    hint: () => ({ page: "https://book.example/page" }),
    ended: (turn) => ended.push(turn),
  });
  const ask = (question: string, more: Partial<Turn> = {}) =>
    asker.ask({ question, selection: null, chapter: null, book: null, ...more });
  const end = (count: number) => vi.waitFor(() => expect(ended).toHaveLength(count), 10_000);
  return { server, state, ended, asker, ask, end, turns: () => state.conversation.turns };
}

describe("a question", () => {
  it("is asked with where the reader is, and answered sentence by sentence", async () => {
    const { ask, end, server, state, turns } = await asking(streams("a", 0, 6));
    ask("What?");
    await end(1);

    expect(server.bodies[0]).toMatchObject({
      message: "What?",
      session_id: null,
      filters: null,
      context_mode: "retrieval_pipeline",
      user_context: { page: "https://book.example/page" },
    });
    expect(turns()[0]).toMatchObject({
      status: "done",
      text: "What?: One. Two. Three.",
      answerId: "a",
      doubtful: false,
    });
    expect(state.conversation.sessionId).toBe(SESSION);
    expect(new Set(state.seen)).toEqual(new Set(["queued", "searching", "checking", "done"]));
  });

  it("about a selection is answered from that alone", async () => {
    const { ask, end, server } = await asking(streams("a", 0, 6));
    ask("Why?", { selection: "A selected sentence.", chapter: null });
    await end(1);

    expect(server.bodies[0]).toMatchObject({ context_mode: "user_provided", user_context: "A selected sentence." });
  });

  it("is kept to the chapter only where the reader said so", async () => {
    const { ask, end, server } = await asking(streams("a", 0, 6));
    ask("Why?", { chapter: "Nodes" });
    await end(1);

    expect(server.bodies[0]).toMatchObject({ filters: { chapter: "Nodes" } });
  });

  it("waits for the one before it, and continues the same conversation", async () => {
    const { ask, end, server, turns, state } = await asking(streams("a", 0, 6), streams("b", 0, 6));
    ask("One?");
    ask("Two?");
    expect(turns().map(({ status }) => status)).toEqual(["searching", "queued"]);
    await end(2);

    expect(server.bodies.map(({ message, session_id }) => [message, session_id])).toEqual([
      ["One?", null],
      ["Two?", SESSION],
    ]);
    expect(state.seen).not.toContain("searching searching");
  });

  it("that waits can be taken back", async () => {
    const { ask, end, asker, server } = await asking(streams("a", 0, 6));
    ask("One?");
    asker.withdraw(ask("Two?").id);
    await end(1);

    expect(server.asked).toHaveLength(1);
  });
});

describe("a stream that is cut", () => {
  it("goes on behind the last event that was seen", async () => {
    const { ask, end, server, state, turns } = await asking(streams("a", 0, 4, "cut"), streams("a", 4, 6));
    ask("What?");
    await end(1);

    expect(server.asked).toEqual(["POST /widget/stream", "GET /streams/a"]);
    expect(state.seen).toContain("cut");
    expect(turns()[0]).toMatchObject({ status: "done", reconnecting: false });
    expect(turns()[0]?.claims).toHaveLength(3);
  });

  it("is told to be lost if the service no longer knows it; what was checked stays", async () => {
    const gone = refuses(404, { code: "UnknownStream", detail: "gone" });
    const { ask, end, turns } = await asking(streams("a", 0, 4, "cut"), gone);
    ask("What?");
    await end(1);

    expect(turns()[0]).toMatchObject({ status: "failed", text: "One. Two.", trouble: { kind: "lost" } });
  });

  it("goes on after the page was left, too", async () => {
    const { asker, end, state, server, turns } = await asking(streams("a", 4, 6));
    const left = {
      id: "t",
      question: "What?",
      status: "checking",
      answerId: "a",
      lastEventId: "a:4",
      text: "One. Two.",
    };
    state.conversation = restored({
      sessionId: SESSION,
      turns: [{ ...left, claims: [], withheld: [] } as unknown as Turn],
    });
    asker.goOn();
    await end(1);

    expect(server.asked).toEqual(["GET /streams/a"]);
    expect(turns()[0]).toMatchObject({ status: "done" });
  });
});

describe("stopping", () => {
  it("keeps what was checked, closes the connection, and lets it be asked again", async () => {
    const { ask, asker, end, turns } = await asking(streams("a", 0, 4, "stays"), streams("b", 0, 6));
    const { id } = ask("What?");
    await vi.waitFor(() => expect(turns()[0]?.text).toBe("One. Two."), 5_000);
    asker.stop();
    await end(1);
    expect(turns()[0]).toMatchObject({ status: "stopped", text: "One. Two.", trouble: null });

    asker.retry(id);
    await end(2);
    expect(turns()[0]).toMatchObject({ status: "done", question: "What?", answerId: "b" });
  });
});

describe("trouble", () => {
  it("of too many questions says how long to wait, and holds those that wait", async () => {
    const limited = refuses(
      429,
      { code: "RateLimited", detail: "Slow down.", request_id: "r1" },
      { "Retry-After": "7" },
    );
    const { ask, asker, end, turns, server } = await asking(limited, streams("a", 0, 6), streams("b", 0, 6));
    const before = Date.now();
    const { id } = ask("One?");
    ask("Two?");
    await end(1);

    expect(turns()[0]).toMatchObject({
      status: "failed",
      question: "One?",
      trouble: { kind: "rate", requestId: "r1" },
    });
    expect(turns()[0]?.trouble?.retryAt).toBeGreaterThanOrEqual(before + 7000);
    expect(turns()[1]?.status).toBe("queued");
    asker.retry(id);
    await end(3);
    expect(server.bodies.map(({ message }) => message)).toEqual(["One?", "One?", "Two?"]);
  });

  it("of the service is told in its words", async () => {
    const { ask, end, turns } = await asking(refuses(503, { code: "IndexUnavailable", detail: "Not now." }));
    ask("One?");
    await end(1);

    expect(turns()[0]).toMatchObject({ status: "failed", trouble: { kind: "busy", detail: "Not now." } });
  });

  it("with a conversation that is no longer the reader's begins another", async () => {
    const gone = refuses(404, { code: "UnknownThread", detail: "No such conversation." });
    const { ask, end, state, server, turns } = await asking(gone, streams("a", 0, 6));
    state.conversation = { sessionId: "old", turns: [] };
    ask("One?");
    await end(1);

    expect(server.bodies.map(({ session_id }) => session_id)).toEqual(["old", null]);
    expect(turns()[0]?.status).toBe("done");
  });

  it("of one question does not hold the next", async () => {
    const { ask, end, turns } = await asking(
      refuses(422, { code: "InvalidRequest", detail: "No." }),
      streams("a", 0, 6),
    );
    ask("One?");
    ask("Two?");
    await end(2);

    expect(turns().map(({ status }) => status)).toEqual(["failed", "done"]);
  });

  it("in the middle of a stream ends it", async () => {
    const broken: Answer = (_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.end('event: error\ndata: {"status":504,"code":"ModelTimedOut","detail":"Too long."}\nid: a:1\n\n');
    };
    const { ask, end, turns } = await asking(broken);
    ask("One?");
    await end(1);

    expect(turns()[0]).toMatchObject({ status: "failed", trouble: { kind: "busy", detail: "Too long." } });
  });

  it.each([
    [true, "unreachable"],
    [false, "offline"],
  ])("with the network keeps the question (online: %s)", async (onLine, kind) => {
    vi.stubGlobal("navigator", { onLine });
    const { ask, end, turns, server } = await asking();
    server.stop();
    ask("One?");
    await end(1);

    expect(turns()[0]).toMatchObject({ status: "failed", question: "One?", trouble: { kind } });
  });
});
