// The conversation as data, and how each event changes it. Nothing here touches the page.

import type { ChatEvent, Claim, Outcome, Passage, Source } from "./wire.ts";

export type Status = "queued" | "searching" | "checking" | "done" | "stopped" | "failed";

/** Why a question has no answer, in the kinds that the reader is told apart. */
export type Failure = "offline" | "unreachable" | "rate" | "busy" | "lost" | "refused";

export interface Trouble {
  kind: Failure;
  detail: string;
  requestId: string;
  /** When it may be tried again, in milliseconds since 1970. */
  retryAt: number | null;
}

export interface Rating {
  verdict: "up" | "down";
  reason: string;
  sent: boolean;
}

/** A question and its answer. */
export interface Turn {
  id: string;
  question: string;
  askedAt: string;
  /** The text the answer may come from alone, if the reader selected some. */
  selection: string | null;
  /** The chapter the search is kept to, if the reader said so. */
  chapter: string | null;
  status: Status;
  reconnecting: boolean;
  book: string | null;
  answerId: string | null;
  /** The last event seen, which the stream goes on behind. */
  lastEventId: string | null;
  text: string;
  claims: Claim[];
  withheld: string[];
  sources: Source[];
  /** The passages that came nearest, where there is no answer. */
  nearest: Passage[];
  /** Whether the answer may be about something else. */
  doubtful: boolean;
  outcome: Outcome | null;
  refused: boolean;
  offersBook: boolean;
  missing: string[];
  notices: string[];
  answeredAt: string | null;
  trouble: Trouble | null;
  rating: Rating | null;
}

export interface Conversation {
  sessionId: string | null;
  turns: Turn[];
}

export const EMPTY: Conversation = { sessionId: null, turns: [] };

const UNANSWERED = {
  reconnecting: false,
  answerId: null,
  lastEventId: null,
  text: "",
  claims: [],
  withheld: [],
  sources: [],
  nearest: [],
  doubtful: false,
  outcome: null,
  refused: false,
  offersBook: false,
  missing: [],
  notices: [],
  answeredAt: null,
  trouble: null,
  rating: null,
} satisfies Partial<Turn>;

export type Asked = Pick<Turn, "question" | "selection" | "chapter" | "book">;

/** Makes a turn that waits to be asked. */
export function newTurn(asked: Asked, id: string, at: Date): Turn {
  return { ...UNANSWERED, ...asked, id, askedAt: at.toISOString(), status: "queued" };
}

/** Makes the turn wait to be asked anew; its question stays. */
export function askAgain(turn: Turn): Turn {
  return { ...turn, ...UNANSWERED, status: "queued" };
}

/** Tells whether the answer is still being made. */
export function isRunning({ status }: Turn): boolean {
  return status === "searching" || status === "checking";
}

/** Gives the turn as it is after one more event. */
export function afterEvent(turn: Turn, said: ChatEvent, id: string): Turn {
  const seen = { ...turn, lastEventId: id || turn.lastEventId, reconnecting: false };
  switch (said.event) {
    case "start":
      return { ...seen, answerId: said.data.answer_id };
    case "retrieved":
      return { ...seen, status: "checking" };
    case "sentence":
      return { ...seen, text: turn.text + said.data.text, claims: [...turn.claims, said.data.claim] };
    case "withheld":
      return { ...seen, withheld: [...turn.withheld, said.data.claim.text] };
    case "done": {
      const { data } = said;
      const refused = REFUSALS.includes(data.status);
      return {
        ...seen,
        status: "done",
        book: data.book,
        answerId: data.answer_id,
        text: data.response,
        claims: data.claims,
        // An operator may have unsupported statements shown; these are in the text, with their mark.
        withheld: data.unsupported_claims.filter((text) => !data.claims.some((claim) => claim.text === text)),
        sources: data.sources,
        nearest: refused ? data.retrieved : [],
        doubtful: data.metrics.correctness !== null && data.metrics.answerability < DOUBT_BELOW,
        outcome: data.status,
        refused,
        offersBook: data.offer === "whole_book",
        missing: data.missing_terms,
        notices: data.notices.map(({ code }) => code),
        answeredAt: data.timestamp,
      };
    }
    case "error":
      return seen;
  }
}

/** The service answers from .7 on; a little above that, it is still wrong often enough to say so. */
const DOUBT_BELOW = 0.8;
const REFUSALS: readonly Outcome[] = ["not_in_book", "no_direct_answer", "not_in_selection", "unsupported_request"];

/** Puts a changed turn in its place; the conversation may have been cleared meanwhile. */
export function withTurn(conversation: Conversation, turn: Turn): Conversation {
  return { ...conversation, turns: conversation.turns.map((one) => (one.id === turn.id ? turn : one)) };
}

/** Gives the conversation as it can go on after the page was left. */
export function restored(kept: Conversation): Conversation {
  return {
    ...kept,
    turns: kept.turns.map((turn) =>
      // Without an event seen there is no stream to go on with.
      isRunning(turn) && !turn.lastEventId ? { ...turn, status: "queued" } : turn,
    ),
  };
}
