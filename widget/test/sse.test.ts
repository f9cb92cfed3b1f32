import { describe, expect, it } from "vitest";
import { eventParser, readEvents } from "../src/sse.ts";

const STREAM =
  'event: start\ndata: {"a":1}\nid: x:1\n\n: still working\n\nevent: sentence\r\ndata: one\r\ndata: two\r\nid: x:2\r\n\r\n';

describe("a stream of events", () => {
  it("is read with names, data and ids", () => {
    expect(eventParser()(STREAM)).toEqual([
      { event: "start", data: '{"a":1}', id: "x:1" },
      { event: "sentence", data: "one\ntwo", id: "x:2" },
    ]);
  });

  it("may be cut anywhere", () => {
    const whole = eventParser()(STREAM);
    for (let cut = 1; cut < STREAM.length; cut += 1) {
      const parse = eventParser();
      expect([...parse(STREAM.slice(0, cut)), ...parse(STREAM.slice(cut))]).toEqual(whole);
    }
  });

  it("loses an event that was not finished", () => {
    expect(eventParser()("event: done\ndata: {}\n")).toEqual([]);
  });

  it("keeps letters whole whose bytes come apart", async () => {
    const bytes = new TextEncoder().encode("data: Größe 🤖\n\n");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });

    for await (const event of readEvents(body)) expect(event).toEqual({ event: "message", data: "Größe 🤖", id: "" });
    expect.assertions(1);
  });
});
