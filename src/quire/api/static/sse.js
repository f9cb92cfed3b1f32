// Server-sent events read from a fetch body: EventSource cannot send a POST.

/** Yields `{event, data}` from a byte stream whose chunks may end anywhere. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  let fields = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // The standard drops an event whose closing blank line never came.
      if (done) return;
      pending += value;
      // A final CR may be the first half of a CRLF, so it waits for the next chunk.
      const lines = pending.split(/\r\n|\n|\r(?!$)/);
      pending = lines.pop();
      for (const line of lines) {
        if (line) {
          fields.push(parseField(line));
          continue;
        }
        const event = toEvent(fields);
        fields = [];
        if (event) yield event;
      }
    }
  } finally {
    // Leaving early must also close the connection, or the server would go on working.
    reader.cancel().catch(() => {});
  }
}

function parseField(line) {
  const colon = line.indexOf(":");
  if (colon < 0) return { name: line, value: "" };
  return { name: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, "") };
}

function toEvent(fields) {
  const data = fields.filter((field) => field.name === "data").map((field) => field.value);
  if (!data.length) return null;
  const event = fields.findLast((field) => field.name === "event")?.value || "message";
  return { event, data: data.join("\n") };
}
