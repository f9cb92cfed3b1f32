// A service of a test's own: it answers each request by the next line of its script.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export interface Service {
  address: string;
  /** What was asked, as `METHOD path`. */
  asked: string[];
  bodies: Record<string, unknown>[];
  stop(): void;
}

export async function service(...script: Answer[]): Promise<Service> {
  const asked: string[] = [];
  const bodies: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push(`${request.method} ${request.url}`);
    bodies.push(body ? (JSON.parse(body) as Record<string, unknown>) : {});
    const answer = script.shift();
    if (answer) answer(request, response, body);
    else response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}/`,
    asked,
    bodies,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const SESSION = "366d4d0d-34ee-4168-b9ec-bf2b62a80d4e";

/** The events of an answer of three sentences. */
export function events(id: string, question = "?"): [event: string, data: unknown][] {
  const texts = ["One.", " Two.", " Three."];
  const claims = texts.map((text) => ({ text: text.trim(), start: 0, end: 0, verdict: "supported", citations: [] }));
  const reply = {
    response: `${question}: One. Two. Three.`,
    sources: [],
    retrieved: [],
    status: "answered",
    session_id: SESSION,
    timestamp: "2026-01-01T00:00:00Z",
    confidence_level: "high",
    metrics: { answerability: 0.95, correctness: 0.9 },
    should_answer: true,
    answer_id: id,
    claims,
    unsupported_claims: [],
    context_mode: "retrieval_pipeline",
    missing_terms: [],
    offer: null,
    book: "b",
    notices: [],
  };
  return [
    ["start", { session_id: SESSION, answer_id: id }],
    ["retrieved", { retrieved: [] }],
    ...texts.map((text, at): [string, unknown] => ["sentence", { text, claim: claims[at] }]),
    ["done", reply],
  ];
}

/** Streams the events from one number to another, and then ends or cuts the connection. */
export function streams(id: string, from: number, to: number, end: "ends" | "cut" | "stays" = "ends"): Answer {
  return (_, response, body) => {
    const question = body ? String((JSON.parse(body) as { message?: string }).message) : "?";
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    events(id, question)
      .slice(from, to)
      .forEach(([event, data], at) => {
        response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\nid: ${id}:${from + at + 1}\n\n`);
      });
    if (end === "ends") response.end();
    // What was written must be on its way before the connection is torn.
    if (end === "cut") setTimeout(() => response.destroy(), 50);
  };
}

export function refuses(status: number, problem: object, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { "Content-Type": "application/problem+json", ...headers });
    response.end(JSON.stringify(problem));
  };
}
