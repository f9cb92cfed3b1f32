// Server-sent events read from a fetch body: an EventSource can send neither a POST nor a key.

export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Yields the events of a byte stream whose pieces may end anywhere. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parse = eventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // The standard drops an event whose closing blank line never came.
      if (done) return;
      yield* parse(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Leaving early must also close the connection, or the server would go on working.
    reader.cancel().catch(() => {});
  }
}

/** Makes a function that takes the next piece of text and gives the events it completes. */
export function eventParser(): (piece: string) => ServerEvent[] {
  let pending = "";
  let fields: [name: string, value: string][] = [];
  let lastId = "";
  return (piece) => {
    const events: ServerEvent[] = [];
    // A final CR may be the first half of a CRLF, so it waits for the next piece.
    const lines = (pending + piece).split(/\r\n|\n|\r(?!$)/);
    pending = lines.pop() ?? "";
    for (const line of lines) {
      if (line) {
        fields.push(fieldOf(line));
        continue;
      }
      const data = fields.filter(([name]) => name === "data").map(([, value]) => value);
      lastId = fields.findLast(([name]) => name === "id")?.[1] ?? lastId;
      const event = fields.findLast(([name]) => name === "event")?.[1] || "message";
      fields = [];
      if (data.length) events.push({ event, data: data.join("\n"), id: lastId });
    }
    return events;
  };
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
