// What the service sends, as far as the chat reads it: the native contract's streamed events.

export type Verdict = "supported" | "partly" | "unsupported" | "contradicted" | "not_a_claim";
/** What a response is. */
export type Outcome =
  | "answered"
  | "not_in_book"
  | "no_direct_answer"
  | "not_in_selection"
  | "unsupported_request"
  | "small_talk"
  | "no_context";
export type Level = "high" | "medium" | "low" | "insufficient";

/** A sentence of the book that proves a claim. */
export interface Quote {
  number: number;
  chunk_id: string;
  chapter: string;
  section: string;
  quote: string;
  url: string;
  of: "text" | "heading" | "selection" | "own_text";
}

/** One statement of the answer and whether the book says so. */
export interface Claim {
  text: string;
  start: number;
  end: number;
  verdict: Verdict;
  citations: Quote[];
}

/** A passage of the book. */
export interface Passage {
  chunk_id: string;
  chunk_text: string;
  chapter: string;
  section: string;
  url: string;
  source_file: string;
}

/** A passage that the answer rests on. */
export interface Source extends Passage {
  number: number;
}

/** The whole answer, as the last event has it. */
export interface Reply {
  response: string;
  sources: Source[];
  /** What the answer could be made from; for a refusal, the nearest passages. */
  retrieved: Passage[];
  status: Outcome;
  session_id: string;
  timestamp: string;
  confidence_level: Level;
  /** `correctness` is known for what was searched for. */
  metrics: { answerability: number; correctness: number | null };
  should_answer: boolean;
  answer_id: string;
  claims: Claim[];
  unsupported_claims: string[];
  context_mode: "retrieval_pipeline" | "user_provided";
  missing_terms: string[];
  offer: "whole_book" | null;
  book: string;
  notices: { code: string; detail: string }[];
}

/** What went wrong, in the shape of RFC 9457. */
export interface Problem {
  title: string;
  detail: string;
  status: number;
  code: string;
  suggested_action: string;
  request_id: string;
}

export type ChatEvent =
  | { event: "start"; data: { session_id: string; answer_id: string } }
  | { event: "retrieved"; data: unknown }
  | { event: "sentence"; data: { text: string; claim: Claim } }
  | { event: "withheld"; data: { claim: Claim } }
  | { event: "done"; data: Reply }
  | { event: "error"; data: Problem };

/** A question, as the service takes it. */
export interface ChatRequest {
  message: string;
  session_id: string | null;
  book: string | null;
  filters: { chapter: string } | null;
  context_mode: "retrieval_pipeline" | "user_provided";
  user_context: string | Record<string, string> | null;
}

/** One line of the table of contents. */
export interface TocEntry {
  kind: "part" | "chapter" | "page" | "section";
  title: string;
  url: string;
  children: TocEntry[];
}

export interface TableOfContents {
  book: string;
  title: string;
  entries: TocEntry[];
}

export interface Feedback {
  answer_id: string;
  verdict: "up" | "down";
  reason?: string;
  comment?: string;
}
