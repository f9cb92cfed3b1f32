// The state of one chat and everything a reader can do with it.

import { Asking } from "./asking.ts";
import { Client } from "./client.ts";
import { EMPTY, isRunning, type Conversation, type Turn, withTurn } from "./conversation.ts";
import { Memory, tabStorage, type Desk } from "./memory.ts";
import { outlineOf, placeIn, type Place } from "./place.ts";
import type { Words } from "./strings.ts";
import type { Feedback, TableOfContents } from "./wire.ts";

/** What the site says about the chat it wants. */
export interface Settings {
  server: string;
  key: string;
  book: string | null;
  words: Words;
}

/** The quote that is open, of which there is at most one. */
export interface OpenQuote {
  turn: string;
  claim: number;
  number: number;
}

/** As many characters a question may have. */
export const LIMIT = 2000;
export const NEAR_LIMIT = 1800;
const CONTENTS = "contents";
const GOING = "going";

export class Chat {
  conversation: Conversation;
  desk: Desk;
  contents: TableOfContents | null = null;
  onlyChapter = false;
  /** Which page of the book this is, where that is not the address of the page. */
  page: string | null = null;
  quote: OpenQuote | null = null;
  /** The answer whose fault is being told. */
  rating: string | null = null;
  private readonly memory: Memory;
  private readonly client: Client;
  private readonly asking: Asking;
  private lookedUp = false;

  constructor(
    readonly settings: Settings,
    private readonly changed: () => void,
    private readonly ended: (turn: Turn) => void,
  ) {
    this.memory = new Memory(`${settings.server} ${settings.book ?? ""}`, tabStorage());
    ({ conversation: this.conversation, desk: this.desk } = this.memory.load());
    const { server, key } = settings;
    this.client = new Client({ server, key, reader: this.memory.readerId() });
    this.asking = new Asking({
      client: this.client,
      read: () => this.conversation,
      write: (conversation) => this.set({ conversation }),
      hint: () => this.hint(),
      ended: (turn) => {
        this.save();
        this.ended(turn);
      },
    });
  }

  get words(): Words {
    return this.settings.words;
  }

  get running(): Turn | undefined {
    return this.conversation.turns.find(isRunning);
  }

  /** Where the reader is in the book, if the page is one of it. */
  get place(): Place | null {
    return this.contents && placeIn(this.contents, this.page ?? location.href);
  }

  /** Asks what the reader wrote; from their selection alone, if there is one. */
  ask(question: string, selection = this.desk.selection): Turn | null {
    const text = question.trim();
    if (!text || lengthOf(text) > LIMIT) return null;
    const chapter = this.onlyChapter && !selection ? (this.place?.chapter ?? null) : null;
    const turn = this.asking.ask({ question: text, selection, chapter, book: this.settings.book });
    this.save();
    return turn;
  }

  retry(id: string): void {
    this.asking.retry(id);
  }

  withdraw(id: string): void {
    this.asking.withdraw(id);
    this.save();
  }

  stop(): void {
    this.asking.stop();
  }

  /** Goes on with what was left, and with what waited for the network. */
  goOn(): void {
    const failed = this.conversation.turns.at(-1);
    if (failed?.trouble?.kind === "offline") this.asking.retry(failed.id);
    else this.asking.goOn();
  }

  clear(): void {
    this.asking.leave();
    this.set({ conversation: EMPTY, quote: null, rating: null, desk: { ...this.desk, selection: null } });
    this.save();
  }

  /** Closes connections and remembers everything, since the page is left. */
  leave(): void {
    this.asking.leave();
    this.save();
  }

  /** Notes which sentence of another page is gone to. */
  goTo(href: string): void {
    this.memory.note(GOING, href);
  }

  /** Gives the sentence that the reader went to from the page before, once. */
  cameTo(): string | null {
    const href = this.memory.noted<string>(GOING);
    if (href) this.memory.note(GOING, null);
    return href;
  }

  setDesk(desk: Partial<Desk>): void {
    this.set({ desk: { ...this.desk, ...desk } });
  }

  toggleQuote(quote: OpenQuote): void {
    this.set({ quote: isSameQuote(this.quote, quote) ? null : quote });
  }

  set(state: Partial<Pick<Chat, "conversation" | "desk" | "quote" | "rating" | "onlyChapter" | "contents">>): void {
    Object.assign(this, state);
    this.changed();
  }

  save(): void {
    this.memory.save(this);
  }

  /** Looks up the table of contents, once; it is only for suggestions, so that a failure is silent. */
  async lookUpContents(): Promise<void> {
    if (this.lookedUp) return;
    this.lookedUp = true;
    try {
      const contents = this.memory.noted<TableOfContents>(CONTENTS) ?? (await this.fetchContents());
      this.memory.note(CONTENTS, contents);
      this.set({ contents });
    } catch {
      this.lookedUp = false;
    }
  }

  private async fetchContents(): Promise<TableOfContents | null> {
    const book = this.settings.book ?? (await this.client.firstBook());
    return book ? outlineOf(await this.client.contents(book)) : null;
  }

  /** Sends what the reader thinks of an answer, and tells whether that came through. */
  async rate(turn: Turn, verdict: Feedback["verdict"], reason = "", comment = ""): Promise<boolean> {
    if (!turn.answerId) return false;
    const feedback: Feedback = { answer_id: turn.answerId, verdict };
    if (reason) feedback.reason = reason;
    if (comment.trim()) feedback.comment = comment.trim();
    const sent = await this.client.rate(feedback).then(
      () => true,
      () => false,
    );
    this.set({
      conversation: withTurn(this.conversation, { ...turn, rating: { verdict, reason, sent } }),
      rating: null,
    });
    this.save();
    return sent;
  }

  private hint(): Record<string, string> {
    const page = {
      page: this.page ?? location.origin + location.pathname,
      title: document.title.slice(0, 200),
    };
    return this.place ? { ...page, chapter: this.place.chapter } : page;
  }
}

export function isSameQuote(one: OpenQuote | null, other: OpenQuote): boolean {
  return one?.turn === other.turn && one.claim === other.claim && one.number === other.number;
}

/** Counts as the service does: characters, not UTF-16 units. */
export function lengthOf(text: string): number {
  return Array.from(text).length;
}
