// The element: a launcher and a panel on any page, and the page's part in the conversation.

import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { announcementOf } from "./announce.ts";
import { Chat, lengthOf, LIMIT, type Settings } from "./chat.ts";
import { copyText } from "./clipboard.ts";
import type { Turn } from "./conversation.ts";
import { goToSentence } from "./highlight.ts";
import { HOME } from "./home.ts";
import * as icons from "./icons.ts";
import { makeWay } from "./peek.ts";
import { bringIntoView, scrollToTop } from "./scrolling.ts";
import { SelectionWatch, type Selected } from "./selection.ts";
import { hrefOf, whereIs } from "./site.ts";
import { directionOf, shownLanguage, wordsOf } from "./strings.ts";
import { styles } from "./styles/index.ts";
import { paint } from "./painting.ts";
import { watchScheme } from "./theme.ts";
import { closeQuote } from "./views/answer.ts";
import { panel, type Frame } from "./views/panel.ts";
import { askAbout } from "./views/selected.ts";
import { QUESTION, type Stage, type Target } from "./views/stage.ts";
import { secondsLeft } from "./views/trouble.ts";

/** As small as the window has to be for the panel to cover it; the style sheet says the same. */
const SMALL = "(max-width: 30rem), (max-height: 24rem)";
const SECOND = 1000;
/** What a conversation depends on. */
const CHOICES = ["server", "key", "book", "words"] as const;

export class CitewellChat extends LitElement {
  static override properties = {
    server: {},
    key: {},
    book: {},
    theme: {},
    position: { reflect: true },
    language: {},
    page: {},
  };
  static override styles = styles;

  declare server: string | null;
  declare key: string | null;
  declare book: string | null;
  declare theme: string | null;
  declare position: string | null;
  declare language: string | null;
  declare page: string | null;

  private chat!: Chat;
  private said = { id: 0, text: "" };
  private opener: HTMLElement | null = null;
  private selected: Selected | null = null;
  private ends: (() => void)[] = [];
  private seenAt = location.pathname;
  private readonly selection = new SelectionWatch(this, (selected) => {
    this.selected = selected?.text === this.chat.desk.selection ? null : selected;
    this.requestUpdate();
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this.begin();
    this.listen(document, "keydown", this.onKey as EventListener);
    this.listen(window, "pagehide", () => this.chat.leave());
    this.listen(window, "pageshow", (event) => (event as PageTransitionEvent).persisted && this.chat.goOn());
    this.listen(matchMedia(SMALL), "change", this.reopen);
    this.listen(window, "online", () => this.chat.goOn());
    // Where browsers tell that a page became another without being loaded; the clock sees it later.
    const { navigation } = window as { navigation?: EventTarget };
    if (navigation) this.listen(navigation, "currententrychange", () => this.tick());
    this.selection.start();
    const clock = setInterval(() => this.tick(), SECOND);
    this.ends.push(
      watchScheme(() => paint(this)),
      () => clearInterval(clock),
      () => this.selection.stop(),
    );
    void this.updateComplete.then(() => this.askFromAddress());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const end of this.ends.splice(0)) end();
    this.chat.leave();
  }

  /** Opens the panel and puts the caret into the question. */
  open(): void {
    if (!this.chat.desk.open) this.opener = focused();
    this.chat.setDesk({ open: true });
    this.focusOn(QUESTION);
  }

  /** Closes the panel; the focus goes back to where it was. */
  close(): void {
    if (this.isInline) return;
    this.chat.setDesk({ open: false });
    this.chat.save();
    if (this.opener?.isConnected) this.opener.focus();
    else this.focusOn(".launcher");
  }

  /** Opens the panel and asks; from a selected text alone, if one is given. */
  ask(question: string, selection: string | null = null): void {
    this.open();
    if (lengthOf(question.trim()) > LIMIT) this.chat.setDesk({ draft: question });
    else this.onAsked(this.chat.ask(question, selection));
  }

  protected override render(): TemplateResult {
    const language = this.shown;
    const { desk, words } = this.chat;
    return html`<div class="root" lang=${language} dir=${directionOf(language)}>
      <button type="button" class="launcher" part="launcher" aria-expanded="false" aria-haspopup="dialog"
        aria-keyshortcuts="Control+I Meta+I" ?hidden=${desk.open} @click=${() => this.open()}>
        ${icons.book}<span>${words.open}</span>
      </button>
      ${askAbout(this.selected, words, () => this.takeSelection())}
      <dialog class="panel" part="panel" aria-labelledby="title" @cancel=${keepOpen} @keydown=${this.onPanelKey}>
        ${desk.open ? panel(this.stage, this.frame) : nothing}
      </dialog>
      <div class="unseen" role="log" aria-live="polite" aria-relevant="additions" aria-label=${words.answer}>
        ${repeat(
          [this.said],
          ({ id }) => id,
          ({ text }) => html`<p>${text}</p>`,
        )}
      </div>
      <i class="probe" hidden></i>
    </div>`;
  }

  // At most once a frame, however fast an answer streams; a hidden page has no frames.
  protected override async scheduleUpdate(): Promise<void> {
    if (this.hasUpdated && !document.hidden) await new Promise(requestAnimationFrame);
    await super.scheduleUpdate();
  }

  protected override willUpdate(): void {
    const [now, wanted] = [this.chat.settings, this.settings];
    if (CHOICES.some((name) => now[name] !== wanted[name])) {
      this.chat.leave();
      this.begin();
    }
    this.chat.page = this.page ?? null;
  }

  protected override firstUpdated(): void {
    paint(this);
    this.showDialog({ restored: true });
    const last = this.chat.conversation.turns.at(-1);
    if (last) scrollToTop(this.thread, `#turn-${last.id}`);
    // The browser went there too, but knows nothing of the panel that stands on it.
    const came = this.chat.cameTo();
    if (came && whereIs(came) === "here") this.showSentence(came);
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has("theme")) paint(this);
    this.showDialog({ restored: false });
  }

  /** Shows an open panel anew, since it has come to cover the page, or no longer does. */
  private reopen = (): void => {
    this.renderRoot.querySelector("dialog")?.close();
    this.requestUpdate();
  };

  private showDialog({ restored }: { restored: boolean }): void {
    const dialog = this.renderRoot.querySelector("dialog");
    const { open } = this.chat.desk;
    if (!dialog || open === dialog.open) return;
    if (!open) {
      dialog.close();
      return;
    }
    // A panel that covers the page keeps the focus; beside the page, and after a reload, it takes none.
    if (matchMedia(SMALL).matches && !this.isInline && !restored) dialog.showModal();
    else dialog.setAttribute("open", "");
    void this.chat.lookUpContents();
  }

  /** Takes up the conversation that belongs to the attributes. */
  private begin(): void {
    const changed = () => this.requestUpdate();
    this.chat = new Chat(this.settings, changed, (turn) => this.onEnd(turn));
    // A panel that covers the page would hide what the reader came to this one for.
    if (this.isInline || matchMedia(SMALL).matches) this.chat.desk.open = this.isInline;
    this.chat.goOn();
    if (this.chat.desk.open) void this.chat.lookUpContents();
  }

  private get settings(): Settings {
    const base = this.server ? new URL(this.server, location.href) : new URL("./", HOME);
    return {
      server: base.href.replace(/\/*$/, "/"),
      key: this.key ?? "",
      book: this.book ?? null,
      words: wordsOf(this.shown),
    };
  }

  private get stage(): Stage {
    return {
      chat: this.chat,
      words: this.chat.words,
      language: this.shown,
      direction: directionOf(this.shown),
      whereIs,
      hrefOf,
      goTo: (event, target) => this.goTo(event, target),
      copy: copyText,
      say: (text) => this.say(text),
      reveal: (selector) => this.reveal(selector),
      focus: (selector) => this.focusOn(selector),
      asked: (turn) => this.onAsked(turn),
    };
  }

  private get frame(): Frame {
    return { clear: () => this.clear(), close: this.isInline ? null : () => this.close() };
  }

  private goTo(event: Event, target: Target): void {
    const wanted = new CustomEvent("citewell-open", {
      detail: target,
      bubbles: true,
      composed: true,
      cancelable: true,
    });
    if (!this.dispatchEvent(wanted)) {
      event.preventDefault();
      return;
    }
    const where = whereIs(target.url);
    const href = hrefOf(target.url);
    if (!href) return;
    if (where === "site" && opensHere(event)) this.chat.goTo(href);
    if (where !== "here") return;
    event.preventDefault();
    const covering = this.renderRoot.querySelector("dialog:modal") !== null;
    if (covering) this.close();
    void this.updateComplete.then(() => this.showSentence(href));
  }

  private showSentence(href: string): void {
    const shown = goToSentence(href);
    if (shown && !this.isInline) makeWay(this, this.renderRoot.querySelector("dialog[open]"), shown);
  }

  private clear(): void {
    this.chat.clear();
    this.say(this.chat.words.cleared);
    this.focusOn(QUESTION);
  }

  private takeSelection(): void {
    const selected = this.selection.now() ?? this.selected;
    if (selected) this.chat.setDesk({ selection: selected.text });
    this.selected = null;
    this.open();
  }

  private say(text: string): void {
    this.said = { id: this.said.id + 1, text };
    this.requestUpdate();
  }

  private onAsked(turn: Turn | null): void {
    if (!turn) return;
    this.say(turn.status === "queued" && this.chat.running ? this.chat.words.queued : this.chat.words.searching);
    const own = `#turn-${turn.id}`;
    if (this.chat.running?.id !== turn.id) this.reveal(own);
    else void this.updateComplete.then(() => scrollToTop(this.thread, own));
  }

  private reveal(selector: string): void {
    void this.updateComplete.then(() => bringIntoView(this.thread, selector));
  }

  private onEnd(turn: Turn): void {
    this.say(announcementOf(turn, this.chat.words));
    this.dispatchEvent(new CustomEvent("citewell-answer", { detail: turn, bubbles: true, composed: true }));
  }

  private onKey = (event: KeyboardEvent): void => {
    const shortcut =
      (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "i";
    if (!shortcut) return;
    event.preventDefault();
    if (this.selection.now()) this.takeSelection();
    else if (this.chat.desk.open && this.matches(":focus-within")) this.close();
    else this.open();
  };

  private onPanelKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    if (this.chat.quote) closeQuote(this.stage);
    else this.close();
  };

  /** Asks what the address says after `?ask=`, once. */
  private askFromAddress(): void {
    const address = new URL(location.href);
    const question = address.searchParams.get("ask")?.trim();
    if (!question) return;
    address.searchParams.delete("ask");
    history.replaceState(history.state, "", address);
    this.ask(question);
  }

  private tick(): void {
    const moved = this.seenAt !== location.pathname;
    this.seenAt = location.pathname;
    const waiting = this.chat.conversation.turns.some(({ trouble }) => secondsLeft(trouble, SECOND) > 0);
    if (moved || waiting) this.requestUpdate();
  }

  private listen(target: EventTarget, name: string, listener: EventListener): void {
    target.addEventListener(name, listener);
    this.ends.push(() => target.removeEventListener(name, listener));
  }

  private get thread(): Element | null {
    return this.renderRoot.querySelector(".thread");
  }

  private get isInline(): boolean {
    return this.position === "inline";
  }

  private get shown(): string {
    return shownLanguage(this.language ?? (document.documentElement.lang || navigator.language));
  }

  // At once, if it is there: who opens the panel by keys is typing already.
  private focusOn(selector: string): void {
    const focus = () => this.renderRoot.querySelector<HTMLElement>(selector)?.focus();
    focus();
    void this.updateComplete.then(focus);
  }
}

// Escape is ours: it closes an open quote first.
function keepOpen(event: Event): void {
  event.preventDefault();
}

/** Tells whether a click follows the link in this tab. */
function opensHere(event: Event): boolean {
  return event instanceof MouseEvent && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
}

function focused(): HTMLElement | null {
  const active = document.activeElement;
  return active instanceof HTMLElement && active !== document.body && !active.shadowRoot ? active : null;
}
