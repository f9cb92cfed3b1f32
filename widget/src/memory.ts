// What the browser keeps for as long as the tab is open: the conversation and the reader's id.

import { newId } from "./ids.ts";
import { EMPTY, restored, type Conversation } from "./conversation.ts";

const VERSION = 1;

/** What is kept of the panel beside the conversation. */
export interface Desk {
  open: boolean;
  draft: string;
  selection: string | null;
}

export interface Kept {
  conversation: Conversation;
  desk: Desk;
}

const NOTHING: Kept = { conversation: EMPTY, desk: { open: false, draft: "", selection: null } };

export class Memory {
  private readonly name: string;

  /** Remembers one book of one service apart from every other. */
  constructor(
    scope: string,
    private readonly storage: Storage | null,
  ) {
    this.name = `citewell.${VERSION}.${scope}`;
  }

  load(): Kept {
    try {
      const kept = JSON.parse(this.storage?.getItem(this.name) ?? "") as Kept;
      return { desk: { ...NOTHING.desk, ...kept.desk }, conversation: restored(kept.conversation) };
    } catch {
      return NOTHING;
    }
  }

  save({ conversation, desk }: Kept): void {
    const { turns } = conversation;
    for (let from = 0; from <= turns.length; from += 1) {
      try {
        const kept = { desk, conversation: { ...conversation, turns: turns.slice(from) } };
        this.storage?.setItem(this.name, JSON.stringify(kept));
        return;
      } catch {
        // Storage is full or forbidden: keep fewer turns.
      }
    }
  }

  /** Keeps something beside the conversation, to be had again on the next page. */
  note(name: string, value: unknown): void {
    try {
      this.storage?.setItem(`${this.name}.${name}`, JSON.stringify(value));
    } catch {
      // It can be had again from where it came.
    }
  }

  noted<Value>(name: string): Value | null {
    try {
      return JSON.parse(this.storage?.getItem(`${this.name}.${name}`) ?? "null") as Value | null;
    } catch {
      return null;
    }
  }

  /** Gives the random id by which the service tells this reader from others who share a key. */
  readerId(): string {
    const name = `${this.name}.reader`;
    try {
      const known = this.storage?.getItem(name);
      if (known) return known;
      const made = newId();
      this.storage?.setItem(name, made);
      return made;
    } catch {
      return (this.fallback ??= newId());
    }
  }

  private fallback: string | undefined;
}

/** Gives the tab's storage, or none where the browser forbids it. */
export function tabStorage(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}
