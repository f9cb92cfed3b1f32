// Every word the chat says, in each of its languages. `{name}` is filled in by `fill`.

const en = {
  open: "Ask the book",
  title: "Ask the book",
  close: "Close",
  newConversation: "New conversation",
  clearQuestion: "Start a new conversation? This one will be cleared.",
  cleared: "New conversation.",
  conversation: "Conversation",
  welcome: "Ask anything about this book. Every sentence of the answer comes with its proof.",
  starters: "For a start",
  starter: "What does the book say about “{topic}”?",
  placeholder: "Ask about the book…",
  question: "Your question",
  send: "Ask",
  stop: "Stop",
  keys: "Enter to ask, Shift + Enter for a new line",
  counter: "{count} of {limit} characters",
  tooLong: "{over} characters too many",
  onlyChapter: "Only in “{chapter}”",
  inChapter: "Searched only in “{chapter}”",
  you: "You asked",
  answer: "Answer",
  queued: "Waiting for the answer before it",
  remove: "Remove",
  searching: "Searching the book…",
  checking: "Checking each sentence against the book…",
  reconnecting: "The connection was cut. Going on where it stopped…",
  stopped: "Stopped. What you see was checked; the rest was not written.",
  stoppedEarly: "Stopped before the first sentence.",
  askAgain: "Ask again",
  retry: "Try again",
  retryIn: "Try again in {wait}",
  offline: "You are offline",
  offlineDetail: "Your question is kept, and is asked when you are back.",
  unreachable: "The service cannot be reached",
  unreachableDetail: "Your question is kept here; try again in a moment.",
  rate: "Too many questions at once",
  rateDetail: "The service asks you to wait a little. Your question is kept.",
  busy: "The service cannot answer right now",
  lost: "The connection was lost",
  lostDetail: "The answer is not complete. What you see was checked.",
  refused: "The service did not take the question",
  request: "Request {id}",
  high: "Well supported by the book",
  medium: "Supported by the book",
  low: "The book touches on this only in part",
  insufficient: "The book does not answer this",
  notInBook: "Not in the book",
  notInSelection: "Not in your selection",
  missing: "It says nothing about: {terms}.",
  nearest: "What comes nearest",
  askBook: "Ask the whole book",
  fromSelection: "Only from your selection",
  askAbout: "Ask about this",
  selected: "Your selection",
  removeSelection: "Remove the selection",
  sources: "Sources",
  source: "Source {number}: {place}",
  supported: "Proven",
  partly: "Partly proven",
  unsupported: "Not proven",
  contradicted: "The book says otherwise",
  ofHeading: "A heading of the book",
  ofSelection: "From your selection",
  goTo: "Go to the sentence",
  showHere: "Show on this page",
  elsewhere: "opens in a new tab",
  sameBook: "in this book",
  withheldOne: "1 statement was left out because the book does not support it",
  withheldMany: "{count} statements were left out because the book does not support them",
  not_kept: "This answer could not be stored.",
  embedded_answer: "The language model is not available; the book is quoted instead.",
  copy: "Copy",
  copyAnswer: "Copy with sources",
  copied: "Copied",
  notCopied: "Could not copy",
  code: "Code",
  table: "Table",
  formula: "Formula",
  helpful: "Helpful",
  notHelpful: "Not helpful",
  whatWasWrong: "What was wrong?",
  wrong: "It is wrong",
  incomplete: "Something is missing",
  off_topic: "Not what I asked",
  unclear: "Hard to understand",
  comment: "Anything else? (optional)",
  sendFeedback: "Send",
  cancel: "Cancel",
  thanks: "Thank you.",
  notRated: "Could not be sent. Try again.",
};

export type Words = typeof en;

const LANGUAGES: Record<string, Words> = { en };
const RIGHT_TO_LEFT = ["ur", "ar", "fa", "he"];

/** Gives the words of a language such as `de-AT`, English where there are none. */
export function wordsOf(language: string): Words {
  return LANGUAGES[baseOf(language)] ?? en;
}

/** Gives the language that is shown for the one asked for. */
export function shownLanguage(language: string): string {
  return baseOf(language) in LANGUAGES ? language : "en";
}

export function directionOf(language: string): "ltr" | "rtl" {
  return RIGHT_TO_LEFT.includes(baseOf(language)) ? "rtl" : "ltr";
}

/** Puts values in the places of a text. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

function baseOf(language: string): string {
  return language.toLowerCase().split("-")[0] ?? "";
}
