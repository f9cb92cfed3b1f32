// The element: a launcher and a panel on any page, and the page's part in the conversation.

import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { Chat } from "./chat.ts";
import { copyText } from "./clipboard.ts";
import type { Turn } from "./conversation.ts";
import { highlight } from "./highlight.ts";
import * as icons from "./icons.ts";
import { hrefOf, whereIs } from "./site.ts";
import { announcementOf } from "./announce.ts";
import { directionOf, shownLanguage, wordsOf } from "./strings.ts";
import { styles } from "./styles/index.ts";
import { composer } from "./views/composer.ts";
import type { Stage, Target } from "./views/stage.ts";
import { turnView } from "./views/turn.ts";
import { welcome } from "./views/welcome.ts";

export class QuireChat extends LitElement {
  static override properties = {
    server: {},
    key: {},
    book: {},
    theme: { reflect: true },
    position: { reflect: true },
    language: {},
  };
  static override styles = styles;

  declare server: string | null;
  declare key: string | null;
  declare book: string | null;
  declare theme: string | null;
  declare position: string | null;
  declare language: string | null;

  private chat!: Chat;
  private said: { id: number; text: string } = { id: 0, text: "" };
  private opener: HTMLElement | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    const language = this.shown;
    this.chat = new Chat(
      {
        server: new URL(this.server ?? "./", this.server ? location.href : import.meta.url).href.replace(/\/*$/, "/"),
        key: this.key ?? "",
        book: this.book,
        words: wordsOf(language),
      },
      () => this.requestUpdate(),
      (turn) => this.onEnd(turn),
    );
    document.addEventListener("keydown", this.onKey);
    addEventListener("pagehide", this.onLeave);
    addEventListener("online", this.onOnline);
    this.chat.goOn();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener("keydown", this.onKey);
    removeEventListener("pagehide", this.onLeave);
    removeEventListener("online", this.onOnline);
    this.chat.leave();
  }

  /** Opens the panel and puts the caret into the question. */
  open(): void {
    this.opener = deepActive();
    this.chat.setDesk({ open: true });
    void this.updateComplete.then(() => this.field?.focus());
  }

  /** Closes the panel; the focus goes back to where it was. */
  close(): void {
    this.chat.setDesk({ open: false });
    this.chat.save();
    const back = this.opener?.isConnected ? this.opener : null;
    void this.updateComplete.then(() => (back ?? this.launcher)?.focus());
  }

  /** Opens the panel and asks. */
  ask(question: string): void {
    this.open();
    this.chat.ask(question);
  }

  protected override render(): TemplateResult {
    const language = this.shown;
    const { desk, words } = this.chat;
    return html`<div class="root" lang=${language} dir=${directionOf(language)}>
      <button type="button" class="launcher" part="launcher" aria-expanded=${desk.open} aria-keyshortcuts="Control+I Meta+I"
        ?hidden=${desk.open} @click=${() => this.open()}>
        ${icons.book}<span>${words.open}</span>
      </button>
      <dialog class="panel" part="panel" aria-labelledby="title" @cancel=${this.onCancel} @keydown=${this.onPanelKey}>
        ${desk.open ? this.panel() : nothing}
      </dialog>
      <div class="unseen" role="log" aria-live="polite" aria-relevant="additions" aria-label=${words.answer}>
        ${repeat([this.said], ({ id }) => id, ({ text }) => html`<p>${text}</p>`)}
      </div>
    </div>`;
  }

  protected override updated(_: PropertyValues): void {
    const dialog = this.renderRoot.querySelector("dialog");
    if (!dialog) return;
    const { open } = this.chat.desk;
    if (open && !dialog.open) {
      // A panel that covers the page must keep the focus; beside the page it need not.
      if (matchMedia("(max-width: 30rem)").matches) dialog.showModal();
      else dialog.show();
      void this.chat.lookUpContents();
    }
    if (!open && dialog.open) dialog.close();
  }

  private panel(): TemplateResult {
    const { chat } = this;
    const { words, conversation } = chat;
    const stage = this.stage;
    return html`<header part="header">
        <h2 id="title">${chat.contents?.title ?? words.title}</h2>
        <button type="button" class="plain" ?hidden=${!conversation.turns.length} title=${words.newConversation}
          aria-label=${words.newConversation} @click=${this.onClear}>${icons.fresh}</button>
        <button type="button" class="plain" title=${words.close} aria-label=${words.close} @click=${() => this.close()}>${icons.close}</button>
      </header>
      <div class="thread" part="thread" tabindex="0" role="region" aria-label=${words.conversation}>
        ${conversation.turns.length ? nothing : welcome(stage)}
        ${repeat(
          conversation.turns,
          ({ id }) => id,
          (turn) => guard(this.seenBy(turn), () => turnView(stage, turn)),
        )}
      </div>
      ${composer(stage)}`;
  }

  /** Gives all that a turn's looks depend on. */
  private seenBy(turn: Turn): unknown[] {
    const { quote, rating, words } = this.chat;
    return [turn, quote?.turn === turn.id ? quote : null, rating === turn.id, words];
  }

  private get stage(): Stage {
    return {
      chat: this.chat,
      words: this.chat.words,
      language: this.shown,
      whereIs,
      hrefOf,
      goTo: (event, target) => this.goTo(event, target),
      copy: copyText,
      say: (text) => this.say(text),
    };
  }

  private goTo(event: Event, target: Target): void {
    const wanted = new CustomEvent("quire-open", { detail: target, bubbles: true, composed: true, cancelable: true });
    if (!this.dispatchEvent(wanted)) {
      event.preventDefault();
      return;
    }
    if (whereIs(target.url) !== "here") return;
    event.preventDefault();
    highlight(hrefOf(target.url));
  }

  private say(text: string): void {
    this.said = { id: this.said.id + 1, text };
    this.requestUpdate();
  }

  private onEnd(turn: Turn): void {
    this.say(announcementOf(turn, this.chat.words));
    this.dispatchEvent(new CustomEvent("quire-answer", { detail: { answerId: turn.answerId }, bubbles: true, composed: true }));
  }

  private onKey = (event: KeyboardEvent): void => {
    const shortcut = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "i";
    if (!shortcut) return;
    event.preventDefault();
    if (this.chat.desk.open) this.close();
    else this.open();
  };

  private onPanelKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (this.chat.quote) this.chat.set({ quote: null });
    else this.close();
  };

  private onCancel = (event: Event): void => event.preventDefault();

  private onClear = (): void => {
    this.chat.clear();
    this.say(this.chat.words.cleared);
    this.field?.focus();
  };

  private onLeave = (): void => this.chat.leave();

  private onOnline = (): void => this.chat.goOn();

  private get shown(): string {
    return shownLanguage(this.language ?? (document.documentElement.lang || navigator.language));
  }

  private get field(): HTMLTextAreaElement | null {
    return this.renderRoot.querySelector("#question");
  }

  private get launcher(): HTMLButtonElement | null {
    return this.renderRoot.querySelector(".launcher");
  }
}

function deepActive(): HTMLElement | null {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active instanceof HTMLElement && active !== document.body ? active : null;
}
