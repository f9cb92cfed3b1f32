// The conversation: asks, follows the stream, remembers.

import { announceEnd, TurnView } from "./answer.js";
import { announce, make } from "./dom.js";
import { readEvents } from "./sse.js";

const LIMIT = 1000;
const NEAR_LIMIT = 900;
const STORE = "quire.conversation.1";

const ui = Object.fromEntries(
  ["title", "book", "new", "welcome", "log", "ask", "question", "send", "counter"].map((id) => [
    id,
    document.getElementById(id),
  ]),
);

let conversation = restore();
let running = null;

start();

function start() {
  for (const turn of conversation.turns) show(turn);
  ui.ask.addEventListener("submit", onSubmit);
  ui.question.addEventListener("keydown", onKey);
  ui.question.addEventListener("input", showLength);
  ui.new.addEventListener("click", startAnew);
  ui.book.addEventListener("change", () => chooseBook(ui.book.value));
  addEventListener("pagehide", () => {
    running?.abort();
    save();
  });
  ui.welcome.hidden = conversation.turns.length > 0;
  showLength();
  loadBooks();
}

// ---- books

async function loadBooks() {
  let books = [];
  try {
    const response = await fetch("books");
    if (response.ok) books = await response.json();
  } catch {
    // The title is only a label; a question will say what is wrong.
  }
  if (!books.length) return;
  const chosen = books.find(({ book }) => book === conversation.book) ?? books[0];
  ui.book.replaceChildren(...books.map(({ book, title }) => make("option", { value: book }, title)));
  ui.book.value = chosen.book;
  ui.book.hidden = books.length < 2;
  ui.title.classList.toggle("unseen", books.length > 1);
  if (chosen.book !== conversation.book) conversation.session = null;
  showBook(chosen.book);
}

function chooseBook(book) {
  // A conversation is about one book, so the next question begins another.
  conversation.session = null;
  showBook(book);
  save();
}

function showBook(book) {
  conversation.book = book;
  const { label } = [...ui.book.options].find((option) => option.value === book);
  ui.title.textContent = label;
  document.title = `${label} · Quire`;
}

// ---- the question

function onSubmit(event) {
  event.preventDefault();
  if (running) {
    running.abort();
    return;
  }
  const text = ui.question.value.trim();
  if (!text || lengthOf(text) > LIMIT) {
    ui.question.focus();
    return;
  }
  ui.question.value = "";
  showLength();
  const turn = newTurn(text);
  conversation.turns.push(turn);
  ui.welcome.hidden = true;
  const view = show(turn);
  view.node.scrollIntoView({ block: "start" });
  run(turn, view);
}

function onKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!running) ui.ask.requestSubmit();
}

function showLength() {
  const length = lengthOf(ui.question.value.trim());
  const over = length - LIMIT;
  ui.counter.classList.toggle("over", over > 0);
  if (over > 0) ui.counter.textContent = `${length} of ${LIMIT} characters: ${over} too many`;
  else ui.counter.textContent = length >= NEAR_LIMIT ? `${length} of ${LIMIT} characters` : "";
  ui.question.setAttribute("aria-invalid", String(over > 0));
  // Some browsers cannot yet size a field by its content.
  if (CSS.supports("field-sizing", "content")) return;
  ui.question.style.height = "auto";
  ui.question.style.height = `${ui.question.scrollHeight}px`;
}

// The service counts characters, not UTF-16 units.
function lengthOf(text) {
  return Array.from(text).length;
}

function startAnew() {
  running?.abort();
  conversation = emptyConversation(conversation.book);
  save();
  ui.log.replaceChildren();
  ui.welcome.hidden = false;
  announce("New conversation.");
  ui.question.focus();
}

// ---- the answer

function newTurn(question) {
  const id = 1 + Math.max(0, ...conversation.turns.map((turn) => turn.id));
  return { id, question, book: conversation.book, ...unanswered() };
}

function unanswered() {
  return {
    status: "searching",
    text: "",
    claims: [],
    withheld: [],
    sources: [],
    confidence: null,
    refused: false,
    problem: null,
  };
}

function show(turn) {
  const view = new TurnView(turn, () => {
    if (running) return;
    Object.assign(turn, unanswered(), { book: conversation.book });
    ui.question.focus({ preventScroll: true });
    run(turn, view);
  });
  ui.log.append(view.node);
  return view;
}

async function run(turn, view) {
  const owner = conversation;
  const control = new AbortController();
  setRunning(control);
  announce("Searching the book…");
  view.update();
  save();
  try {
    for await (const { event, data } of ask(turn, control.signal)) {
      apply(turn, event, data);
      view.update();
    }
    if (turn.status !== "done") throw new Error("the stream ended early");
  } catch (error) {
    if (control.signal.aborted) turn.status = "stopped";
    else Object.assign(turn, { status: "failed", problem: error.problem ?? lost(turn) });
    view.update();
  }
  // "New conversation" may have taken this one's place meanwhile.
  if (running === control) setRunning(null);
  if (owner !== conversation) return;
  announceEnd(turn);
  save();
}

function setRunning(control) {
  running = control;
  ui.send.textContent = control ? "Stop" : "Ask";
  ui.send.classList.toggle("strong", !control);
}

async function* ask(turn, signal) {
  const response = await fetch("chat/stream", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({
      message: turn.question,
      session_id: conversation.session,
      book: turn.book,
    }),
    signal,
  });
  if (!response.ok) throw withProblem(await readProblem(response));
  for await (const { event, data } of readEvents(response.body)) {
    yield { event, data: JSON.parse(data) };
  }
}

function apply(turn, event, data) {
  switch (event) {
    case "start":
      conversation.session = data.session_id;
      break;
    case "sources":
      Object.assign(turn, { status: "checking", sources: data.sources });
      break;
    case "sentence":
      turn.text += data.text;
      turn.claims.push(data.claim);
      break;
    case "withheld":
      turn.withheld.push(data.claim.text);
      break;
    case "done":
      Object.assign(turn, {
        status: "done",
        book: data.book,
        text: data.response,
        claims: data.claims,
        withheld: data.unsupported_claims,
        sources: data.sources,
        confidence: data.confidence_level,
        refused: !data.should_answer,
        notices: data.notices.map(({ detail }) => detail),
      });
      break;
    case "error":
      throw withProblem(data);
  }
}

// ---- problems

function withProblem(problem) {
  return Object.assign(new Error(problem.title), { problem });
}

async function readProblem(response) {
  const fallback = {
    title: "The service could not answer",
    detail: `It replied with status ${response.status}.`,
  };
  const told = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("Retry-After"));
  return { ...fallback, ...told, retry_after: wait > 0 ? wait : null };
}

function lost(turn) {
  if (turn.status === "checking") {
    return { title: "The connection was lost", detail: "The answer is not complete." };
  }
  return {
    title: "The service cannot be reached",
    detail: "Your question is kept here; try again in a moment.",
  };
}

// ---- memory

function emptyConversation(book = null) {
  return { book, session: null, turns: [] };
}

function restore() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(STORE));
    for (const turn of kept.turns) {
      // A stream does not survive a reload.
      if (turn.status === "searching" || turn.status === "checking") turn.status = "stopped";
    }
    return kept;
  } catch {
    return emptyConversation();
  }
}

function save() {
  const { book, session, turns } = conversation;
  for (let from = 0; from <= turns.length; from += 1) {
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ book, session, turns: turns.slice(from) }));
      return;
    } catch {
      // Storage is full or forbidden: keep fewer turns.
    }
  }
}
