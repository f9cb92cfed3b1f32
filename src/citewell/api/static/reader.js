// The page at `/`: the book's contents, its pages, and the chat beside them.

import { goToSentence } from "./widget.js";

const KEY = "citewell.key";
const SECTIONS = 2;
const PREVIEW = 160;
const FOUND = 8;

const ui = Object.fromEntries([...document.querySelectorAll("[id]")].map((node) => [node.id, node]));
/** Which of the book's files is published at an address. */
const files = new Map();
let book = null;
let shown = null;

start();

async function start() {
  ui.views.addEventListener("click", (event) => event.target.value && show(event.target.value, true));
  ui.search.addEventListener("submit", search);
  ui.query.addEventListener("input", () => ui.query.value || showFound([], ""));
  ui.book.addEventListener("change", () => openBook(ui.book.value));
  ui.unlock.addEventListener("submit", unlock);
  // A key is needed to read the book, so there is nothing to go back to.
  ui.door.addEventListener("cancel", (event) => event.preventDefault());
  ui.ask.addEventListener("citewell-open", openCited);
  ui.article.addEventListener("click", followInside);
  addEventListener("popstate", () => openPage(placeInAddress()));
  await loadBooks();
}

// ---- what the service gives

/** Gives what is at an address of the service, as JSON or as a document; asks for a key if need be. */
function read(address, { type = "json", body = null } = {}) {
  // A document that is fetched this way is parsed without its scripts.
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(body ? "POST" : "GET", address);
    request.responseType = type;
    const key = sessionStorage.getItem(KEY);
    if (key) request.setRequestHeader("Authorization", `Bearer ${key}`);
    if (body) request.setRequestHeader("Content-Type", "application/json");
    request.onload = () => (request.status === 200 ? resolve(request.response) : reject(request));
    request.onerror = () => reject(request);
    request.send(body && JSON.stringify(body));
  });
}

async function loadBooks() {
  let books;
  try {
    books = await read("books");
  } catch (request) {
    if (request.status === 401 || request.status === 403) askForKey();
    else say("Can’t reach the book right now.", "Reload the page in a moment.");
    return;
  }
  if (!books.length) {
    say("There is no book yet.", "Run “citewell ingest PATH” and reload this page.");
    return;
  }
  ui.book.replaceChildren(...books.map((one) => new Option(one.title, one.book)));
  ui.books.hidden = books.length < 2;
  ui.title.classList.toggle("unseen", books.length > 1);
  const wanted = new URLSearchParams(location.search).get("book");
  const chosen = books.find((one) => one.book === wanted) ?? books[0];
  ui.book.value = chosen.book;
  await openBook(chosen.book, placeInAddress());
}

function askForKey() {
  ui.refused.textContent = sessionStorage.getItem(KEY) ? "That key didn’t work." : "";
  ui.key.value = "";
  ui.door.showModal();
}

function unlock(event) {
  event.preventDefault();
  sessionStorage.setItem(KEY, ui.key.value.trim());
  ui.door.close();
  loadBooks();
}

// ---- the book

async function openBook(name, place = { file: "", anchor: "" }) {
  const contents = await read(`books/${encodeURIComponent(name)}/toc?depth=${SECTIONS}`);
  book = name;
  ui.ask.replaceChildren(chatAbout(name));
  ui.title.textContent = contents.title;
  files.clear();
  ui.toc.replaceChildren(list(contents.entries));
  const first = [...files.values()][0];
  if (first) await openPage(place.file ? place : { file: first, anchor: "" }, { replace: true });
}

// A conversation is about one book, by whoever may ask it.
function chatAbout(name) {
  const key = sessionStorage.getItem(KEY);
  return make("citewell-chat", { position: "inline", book: name, ...(key ? { key } : {}) });
}

function list(entries) {
  const items = entries.map((entry) => {
    const [page, anchor = ""] = entry.url.split("#");
    // A part has no page of its own.
    if (entry.source_file && !files.has(page)) files.set(page, entry.source_file);
    const place = { file: entry.source_file, anchor };
    const name = entry.number ? `${entry.number}. ${entry.title}` : entry.title;
    const line = entry.kind === "part" ? make("p", { class: "part" }, entry.title) : link(place, name);
    if (!entry.children.length) return make("li", {}, line);
    if (entry.kind === "part") return make("li", {}, line, list(entry.children));
    const sections = make("details", {}, make("summary", { "aria-label": `Sections of ${entry.title}` }));
    sections.append(list(entry.children));
    return make("li", { class: "chapter" }, line, sections);
  });
  return make("ul", {}, ...items);
}

function link(place, ...words) {
  const node = make("a", { href: addressOf(place) }, ...words);
  node.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPage(place, { focus: true });
  });
  return node;
}

// ---- a page

/** Shows a page of the book, at a heading or at the words that a text fragment names. */
async function openPage(...wanted) {
  const [{ file, anchor, words = "" }, { replace = false, focus = false } = {}] = wanted;
  if (!file) return;
  const path = [book, ...file.split("/")].map(encodeURIComponent).join("/");
  if (shown !== path) {
    try {
      const page = await read(`read/${path}`, { type: "document" });
      ui.article.replaceChildren(document.importNode(page.querySelector("main"), true));
    } catch {
      // The page being read stays, and so does its place in the contents and in the address.
      offerAgain(() => openPage(...wanted));
      return;
    }
    shown = path;
    ui.trouble.hidden = true;
    // The pane is the landmark already.
    ui.article.replaceChildren(...ui.article.firstElementChild.childNodes);
    for (const one of ui.article.querySelectorAll("a[data-page]")) {
      one.href = addressOf({ file: one.dataset.page, anchor: anchorOf(one) });
    }
    await drawFormulas();
    document.title = `${ui.article.querySelector("h1").textContent} · ${ui.title.textContent}`;
  }
  const [published] = [...files].find(([, one]) => one === file) ?? [""];
  ui.ask.firstElementChild?.setAttribute("page", published);
  const address = addressOf({ file, anchor });
  if (replace) history.replaceState(null, "", address);
  else if (address !== location.pathname + location.search + location.hash) history.pushState(null, "", address);
  mark(file);
  if (focus) show("page", true);
  const heading = anchor && document.getElementById(anchor);
  if (words && goToSentence(words)) return;
  if (heading) heading.scrollIntoView();
  else ui.page.scrollTop = 0;
}

// They are rare and their reader is heavy, so that it is loaded only for them.
async function drawFormulas() {
  const formulas = ui.article.querySelectorAll(".math");
  if (!formulas.length) return;
  const { draw } = await import("./widget-math.js");
  for (const one of formulas) one.replaceChildren(draw(one.textContent.trim(), one.matches(".block")));
}

/** Follows a link from one page of the book to another without leaving this page. */
function followInside(event) {
  const link = event.target.closest("a[data-page]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openPage({ file: link.dataset.page, anchor: anchorOf(link) }, { focus: true });
}

function anchorOf(link) {
  return decodeURIComponent(link.hash.slice(1));
}

function offerAgain(again) {
  ui.again.onclick = () => {
    ui.trouble.hidden = true;
    again();
  };
  ui.trouble.hidden = false;
}

/** Opens in this page what the chat cites, where this service can show it. */
function openCited(event) {
  const { url } = event.detail;
  const [page, fragment = ""] = url.split("#");
  const file = event.detail.source_file ?? files.get(page);
  if (!file) return;
  event.preventDefault();
  const [anchor] = fragment.split(":~:");
  openPage({ file, anchor, words: url }, { focus: true });
}

function mark(file) {
  for (const one of ui.toc.querySelectorAll("a")) {
    const here = placeIn(one.search, one.hash);
    one.toggleAttribute("aria-current", here.file === file && !here.anchor);
    if (one.hasAttribute("aria-current")) one.setAttribute("aria-current", "page");
  }
}

function say(title, advice) {
  shown = null;
  ui.article.replaceChildren(make("h1", {}, title), make("p", {}, advice));
}

// ---- search

async function search(event) {
  event.preventDefault();
  const query = ui.query.value.trim();
  if (!query) return;
  try {
    const { results } = await read("search", { type: "json", body: { query, book, top_k: FOUND } });
    showFound(results, results.length ? counted(results.length) : `Nothing in the book is about “${query}”.`);
  } catch {
    showFound([], "Search isn’t responding. Try again in a moment.");
  }
}

function counted(passages) {
  return passages === 1 ? "1 passage" : `${passages} passages`;
}

function showFound(results, said) {
  ui.found.textContent = said;
  ui.results.hidden = !results.length;
  ui.toc.hidden = results.length > 0;
  const items = results.map(({ url, chapter, section, preview }) => {
    const [page, anchor = ""] = url.split("#");
    const name = section && section !== chapter ? `${chapter} › ${section}` : chapter;
    const words = preview.length > PREVIEW ? `${preview.slice(0, PREVIEW).replace(/\s+\S*$/, "")}…` : preview;
    return make("li", {}, link({ file: files.get(page), anchor }, name), make("p", {}, words));
  });
  ui.results.replaceChildren(...items);
}

// ---- where we are

function addressOf({ file, anchor }) {
  const place = new URLSearchParams({ book, page: file });
  return `${location.pathname}?${place}${anchor ? `#${anchor}` : ""}`;
}

function placeInAddress() {
  return placeIn(location.search, location.hash);
}

function placeIn(query, hash) {
  return { file: new URLSearchParams(query).get("page") ?? "", anchor: decodeURIComponent(hash.slice(1)) };
}

/** On a narrow screen, shows one of the three panes; on a wide one all are there. */
function show(view, focus) {
  document.body.dataset.view = view;
  for (const button of ui.views.children) {
    button.setAttribute("aria-pressed", String(button.value === view));
  }
  if (focus) ui[view].focus({ preventScroll: true });
}

/** Makes an element; words only ever enter as text. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
