// What every view is given: the state, the words, and what only the page itself can do.

import type { Chat } from "../chat.ts";
import type { Turn } from "../conversation.ts";
import type { Words } from "../strings.ts";

/** Something in the book that can be gone to. */
export interface Target {
  url: string;
  chunk_id: string;
  quote?: string;
}

/** The field that the next question is written in. */
export const QUESTION = "#question";

export interface Stage {
  chat: Chat;
  words: Words;
  language: string;
  direction: "ltr" | "rtl";
  /** Tells where an address of the book leads: on this page, to another of this site, or away. */
  whereIs(url: string): "here" | "site" | "away";
  /** Gives the address to follow, which may be that of a copy of the site; `null` if it must not be followed. */
  hrefOf(url: string): string | null;
  /** Goes to a sentence; on this page without loading it again. */
  goTo(event: Event, target: Target): void;
  copy(text: string): Promise<boolean>;
  say(text: string): void;
  /** Scrolls to what the selector names, as far as needed, once it is shown. */
  reveal(selector: string): void;
  /** Puts the focus on what the selector names, once it is shown. */
  focus(selector: string): void;
  /** Shows a question that was just asked. */
  asked(turn: Turn | null): void;
}
