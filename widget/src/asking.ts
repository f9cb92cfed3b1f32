// Asks one question at a time, in order, and follows each answer to its end.

import { AskError, unreachable, type Client, type Received } from "./client.ts";
import {
  afterEvent,
  askAgain,
  isRunning,
  newTurn,
  withTurn,
  type Asked,
  type Conversation,
  type Trouble,
  type Turn,
} from "./conversation.ts";
import { newId } from "./ids.ts";
import type { ChatRequest } from "./wire.ts";

/** How long to wait before each try to go on with a cut stream, in milliseconds. */
const TRIES = [300, 1_000, 2_000, 4_000];
/** After such failures the next question would fail too. */
const HOLDING: readonly Trouble["kind"][] = ["offline", "unreachable", "rate", "busy"];

export interface Asker {
  client: Client;
  read(): Conversation;
  write(conversation: Conversation): void;
  /** Gives what the page tells about where the reader is. */
  hint(): Record<string, string> | null;
  /** Is told when a turn has come to its end. */
  ended(turn: Turn): void;
}

export class Asking {
  private running: AbortController | null = null;
  private held = false;

  constructor(private readonly by: Asker) {}

  /** Puts a question behind those that wait, and gives its turn. */
  ask(asked: Asked): Turn {
    const turn = newTurn(asked, newId(), new Date());
    const conversation = this.by.read();
    this.by.write({ ...conversation, turns: [...conversation.turns, turn] });
    this.goOn();
    return turn;
  }

  /** Asks a question again that has no answer, or none any more. */
  retry(id: string): void {
    const turn = this.find(id);
    if (!turn || isRunning(turn)) return;
    this.put(askAgain(turn));
    this.goOn();
  }

  /** Takes a question back that was not asked yet. */
  withdraw(id: string): void {
    const conversation = this.by.read();
    const turns = conversation.turns.filter((turn) => turn.id !== id || turn.status !== "queued");
    this.by.write({ ...conversation, turns });
  }

  /** Stops the answer that is being made; what was checked stays. */
  stop(): void {
    this.running?.abort();
  }

  /** Forgets whatever runs, since its conversation is over or the page is left. */
  leave(): void {
    const { running } = this;
    this.running = null;
    running?.abort();
  }

  /** Asks what waits; also after a pause that a failure made. */
  goOn(): void {
    this.held = false;
    this.pump();
  }

  private pump(): void {
    if (this.running || this.held) return;
    const { turns } = this.by.read();
    const next = turns.find(isRunning) ?? turns.find(({ status }) => status === "queued");
    if (next) void this.run(next);
  }

  private async run(turn: Turn): Promise<void> {
    const own = (this.running = new AbortController());
    const first = turn.status === "queued";
    if (first) this.put({ ...turn, status: "searching" });
    try {
      await this.follow(turn.id, first, own.signal);
    } catch (error) {
      if (this.running !== own) return;
      this.fail(turn.id, error, own.signal.aborted);
    }
    if (this.running !== own) return;
    this.running = null;
    const ended = this.find(turn.id);
    if (ended && ended.status !== "queued") this.by.ended(ended);
    this.pump();
  }

  /** Reads the stream to its end, however often the connection is cut. */
  private async follow(id: string, first: boolean, signal: AbortSignal): Promise<void> {
    let tries = 0;
    for (let fresh = first; ; fresh = false) {
      const before = this.find(id)?.lastEventId;
      try {
        await this.readAll(id, this.open(id, fresh, signal));
      } catch (error) {
        if (signal.aborted || !isCut(error) || !this.find(id)?.lastEventId) throw error;
      }
      signal.throwIfAborted();
      const turn = this.find(id);
      if (!turn || !isRunning(turn)) return;
      tries = turn.lastEventId === before ? tries + 1 : 1;
      const wait = TRIES[tries - 1];
      if (!turn.lastEventId || wait === undefined) throw new AskError({ ...unreachable(), kind: "lost" });
      this.put({ ...turn, reconnecting: true });
      await (navigator.onLine ? pause(wait, signal) : online(signal));
    }
  }

  private open(id: string, fresh: boolean, signal: AbortSignal): AsyncGenerator<Received> {
    const turn = this.find(id);
    if (fresh || !turn?.answerId || !turn.lastEventId) return this.by.client.ask(this.request(id), signal);
    return this.by.client.resume(turn.answerId, turn.lastEventId, signal);
  }

  private async readAll(id: string, events: AsyncGenerator<Received>): Promise<void> {
    for await (const { said, id: eventId } of events) {
      const turn = this.find(id);
      if (!turn) return;
      const conversation = withTurn(this.by.read(), afterEvent(turn, said, eventId));
      const named = said.event === "start" || said.event === "done";
      this.by.write(named ? { ...conversation, sessionId: said.data.session_id } : conversation);
    }
  }

  private fail(id: string, error: unknown, stopped: boolean): void {
    const turn = this.find(id);
    if (!turn) return;
    const settled = { ...turn, reconnecting: false };
    if (stopped) {
      this.put({ ...settled, status: "stopped" });
      return;
    }
    const trouble = error instanceof AskError ? error.trouble : { ...unreachable(), kind: "lost" as const };
    if (error instanceof AskError && error.code === "UnknownThread" && this.by.read().sessionId) {
      // This reader has no such conversation any more: the question begins another.
      this.by.write(withTurn({ ...this.by.read(), sessionId: null }, askAgain(turn)));
      return;
    }
    this.held = HOLDING.includes(trouble.kind);
    this.put({ ...settled, status: "failed", trouble });
  }

  private request(id: string): ChatRequest {
    const { sessionId } = this.by.read();
    const turn = this.find(id);
    return {
      message: turn?.question ?? "",
      session_id: sessionId,
      book: turn?.book ?? null,
      filters: turn?.chapter ? { chapter: turn.chapter } : null,
      context_mode: turn?.selection ? "user_provided" : "retrieval_pipeline",
      user_context: turn?.selection ?? this.by.hint(),
    };
  }

  private find(id: string): Turn | undefined {
    return this.by.read().turns.find((turn) => turn.id === id);
  }

  private put(turn: Turn): void {
    this.by.write(withTurn(this.by.read(), turn));
  }
}

// Whatever is no word of the service is the network's.
function isCut(error: unknown): boolean {
  return !(error instanceof AskError) || error.trouble.kind === "offline" || error.trouble.kind === "unreachable";
}

/** Waits for the network to come back. */
function online(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    addEventListener("online", () => resolve(), { once: true, signal });
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    const cancel = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", cancel, { once: true });
  });
}
