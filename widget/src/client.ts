// Talking to the service: questions as streams that survive a cut connection, and the little beside.

import type { Failure, Trouble } from "./conversation.ts";
import { readEvents } from "./sse.ts";
import type { ChatEvent, ChatRequest, Feedback, Problem, TableOfContents } from "./wire.ts";

/** A failure that the reader is told about. */
export class AskError extends Error {
  constructor(
    readonly trouble: Trouble,
    /** What the service calls it. */
    readonly code = "",
  ) {
    super(trouble.detail);
  }
}

export interface Received {
  said: ChatEvent;
  id: string;
}

export interface Line {
  server: string;
  key: string;
  reader: string;
}

export class Client {
  constructor(private readonly line: Line) {}

  /** Asks; gives the events until the connection ends. */
  async *ask(question: ChatRequest, signal: AbortSignal): AsyncGenerator<Received> {
    const response = await this.fetch("widget/stream", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify(question),
      signal,
    });
    yield* received(response);
  }

  /** Goes on with a stream behind the event seen last. */
  async *resume(answerId: string, lastEventId: string, signal: AbortSignal): AsyncGenerator<Received> {
    const response = await this.fetch(`streams/${answerId}`, {
      headers: { Accept: "text/event-stream", "Last-Event-ID": lastEventId },
      signal,
    });
    yield* received(response);
  }

  /** Gives the first book of the service, which is the one asked when none is named. */
  async firstBook(): Promise<string | null> {
    const books = (await (await this.fetch("books")).json()) as { book: string }[];
    return books[0]?.book ?? null;
  }

  async contents(book: string): Promise<TableOfContents> {
    const response = await this.fetch(`books/${encodeURIComponent(book)}/toc?depth=2`);
    return (await response.json()) as TableOfContents;
  }

  async rate(feedback: Feedback): Promise<void> {
    await this.fetch("feedback", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(feedback),
    });
  }

  private async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("X-Citewell-Reader", this.line.reader);
    if (this.line.key) headers.set("Authorization", `Bearer ${this.line.key}`);
    let response: Response;
    try {
      response = await fetch(new URL(path, this.line.server), { ...init, headers });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new AskError(unreachable());
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

async function* received(response: Response): AsyncGenerator<Received> {
  if (!response.body) return;
  for await (const { event, data, id } of readEvents(response.body)) {
    const said = { event, data: JSON.parse(data) } as ChatEvent;
    if (said.event === "error") throw told(said.data, null);
    yield { said, id };
  }
}

/** Says why nothing came back at all. */
export function unreachable(): Trouble {
  return { kind: navigator.onLine ? "unreachable" : "offline", detail: "", requestId: "", retryAt: null };
}

async function errorOf(response: Response): Promise<AskError> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  const wait = Number(response.headers.get("Retry-After"));
  const retryAt = wait > 0 ? Date.now() + wait * 1000 : null;
  return told({ ...problem, status: response.status }, retryAt);
}

function told(problem: Partial<Problem>, retryAt: number | null): AskError {
  const { detail = "", request_id: requestId = "", code = "" } = problem;
  return new AskError({ kind: kindOf(problem), detail, requestId, retryAt }, code);
}

function kindOf({ status = 0, code = "" }: Partial<Problem>): Failure {
  if (status === 429) return "rate";
  if (code === "UnknownStream" || code === "AnswerInterrupted") return "lost";
  return status >= 500 ? "busy" : "refused";
}
