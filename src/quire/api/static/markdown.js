// A safe subset of Markdown, rendered straight into DOM nodes.

import { copyButton, make } from "./dom.js";

// Unicode keeps these two for a program's own use, so no text can contain them by intent.
const OPEN = "\uFDD0";
const CLOSE = "\uFDD1";

const FENCE = /^\s*(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$/;
const QUOTE = /^\s{0,3}>\s?/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

const INLINE = new RegExp(
  [
    `\\s*${OPEN}(?<claim>\\d+):(?<number>\\d+)${CLOSE}`,
    "\\\\(?<escaped>[!-/:-@[-`{-~])",
    "(?<ticks>`+)(?<code>[^`]|[^`][\\s\\S]*?[^`])\\k<ticks>(?!`)",
    "\\$\\$(?<display>[^$]+)\\$\\$",
    "\\$(?<math>[^\\s$]|[^\\s$][^$]*[^\\s$\\\\])\\$(?!\\d)",
    "\\*\\*(?<bold>\\S|\\S[\\s\\S]*?\\S)\\*\\*",
    "(?<!\\w)__(?<bolder>\\S|\\S[\\s\\S]*?\\S)__(?!\\w)",
    "\\*(?<italic>[^\\s*]|[^\\s*][^*]*[^\\s*])\\*",
    "(?<!\\w)_(?<slanted>[^\\s_]|[^\\s_][^_]*[^\\s_])_(?!\\w)",
    "!?\\[(?<label>(?:[^\\[\\]]|\\[[^\\]]*\\])*)\\]\\((?<href>[^()\\s]*(?:\\([^()\\s]*\\)[^()\\s]*)*)(?:\\s+\"[^\"]*\")?\\)",
    "<(?<bare>https?:\\/\\/[^>\\s]+)>",
    "(?<newline> {2,}\\n|\\\\\\n)",
  ].join("|"),
  "g",
);

/** Replaces the `[n]` marks, which stand only between claims, by tokens that name their claim. */
export function tagMarks(text, claims) {
  // The service counts characters, JavaScript strings count UTF-16 units.
  const characters = Array.from(text);
  let tagged = "";
  let done = 0;
  claims.forEach((claim, index) => {
    const end = Math.max(done, claim.end);
    const next = Math.max(end, claims[index + 1]?.start ?? characters.length);
    const between = characters.slice(end, next).join("");
    tagged += characters.slice(done, end).join("");
    tagged += between.replace(/\[(\d+)\]/g, `${OPEN}${index}:$1${CLOSE}`);
    done = next;
  });
  return tagged + characters.slice(done).join("");
}

/** Tells whether a text is a fenced block of code. */
export function isCode(text) {
  return FENCE.test(text.trimStart().split("\n")[0]);
}

/** Cuts a text into blocks; equal `source` means equal rendering. */
export function splitBlocks(text) {
  const lines = text.split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const kind = kindAt(lines, at);
    const end = Math.max(at + 1, ENDS[kind](lines, at));
    const own = lines.slice(at, end);
    blocks.push({ kind, lines: own, source: `${kind}\n${own.join("\n")}` });
    at = end;
  }
  return blocks;
}

/** Renders one block; `renderMark(claim, number)` makes the node of a citation mark. */
export function renderBlock(block, renderMark) {
  return RENDERERS[block.kind](block.lines, renderMark);
}

/** Renders a whole text into nodes. */
export function renderMarkdown(text, renderMark = () => "") {
  return splitBlocks(text).map((block) => renderBlock(block, renderMark));
}

/** Gives the words of a text without its markup, on one line. */
export function plainText(text) {
  return renderMarkdown(text)
    .map((node) => node.querySelector("pre")?.textContent ?? node.textContent)
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();
}

function kindAt(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) return "code";
  if (isMath(line)) return "math";
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return "table";
  if (HEADING.test(line)) return "heading";
  if (QUOTE.test(line)) return "quote";
  if (RULE.test(line)) return "rule";
  if (ITEM.test(line)) return "list";
  return "paragraph";
}

// Words after the closing `$$` make it a sentence that begins with a formula.
function isMath(line) {
  const [before, , after] = line.split("$$");
  return line.includes("$$") && !before.trim() && !after?.trim();
}

const ENDS = {
  code(lines, at) {
    const fence = lines[at].match(FENCE)[1];
    const close = lines.findIndex((line, i) => i > at && isClosing(line, fence));
    return close < 0 ? lines.length : close + 1;
  },
  math(lines, at) {
    if (lines[at].split("$$").length > 2) return at + 1;
    const close = lines.findIndex((line, i) => i > at && line.includes("$$"));
    return close < 0 ? lines.length : close + 1;
  },
  table: (lines, at) => endWhere(lines, at, (line) => !line.includes("|")),
  heading: (_, at) => at + 1,
  quote: (lines, at) => endWhere(lines, at, (line) => !line.trim()),
  rule: (_, at) => at + 1,
  list(lines, at) {
    return endWhere(lines, at, (line, i) => {
      if (line.trim()) return !ITEM.test(line) && !lines[i - 1].trim() && !/^\s{2}/.test(line);
      const next = lines[i + 1] ?? "";
      return !ITEM.test(next) && !/^\s{2}\s*\S/.test(next);
    });
  },
  paragraph: (lines, at) =>
    endWhere(lines, at, (line, i) => !line.trim() || kindAt(lines, i) !== "paragraph"),
};

function endWhere(lines, at, ends) {
  const end = lines.findIndex((line, i) => i > at && ends(line, i));
  return end < 0 ? lines.length : end;
}

function isClosing(line, fence) {
  const bare = line.trim();
  return bare.length >= fence.length && bare === fence[0].repeat(bare.length);
}

const RENDERERS = {
  code(lines) {
    const fence = lines[0].match(FENCE)[1];
    const closed = lines.length > 1 && isClosing(lines.at(-1), fence);
    return codeBox(lines.slice(1, closed ? -1 : undefined).join("\n"));
  },
  math(lines) {
    const formula = lines.join("\n").replaceAll("$$", "").trim();
    return scrollBox("Formula", make("pre", { class: "math" }, make("code", {}, formula)));
  },
  table(lines, renderMark) {
    const [head, , ...rows] = lines.map(cellsOf);
    const fill = (tag, attributes) => (cell) => inlineInto(make(tag, attributes), cell, renderMark);
    const headRow = make("tr", {}, ...head.map(fill("th", { scope: "col" })));
    const bodyRows = rows.map((row) => make("tr", {}, ...row.map(fill("td", {}))));
    const table = make("table", {}, make("thead", {}, headRow), make("tbody", {}, ...bodyRows));
    return scrollBox("Table", table);
  },
  heading([line], renderMark) {
    const words = inlineInto(make("strong"), line.match(HEADING)[1], renderMark);
    return make("p", { class: "heading" }, words);
  },
  quote(lines, renderMark) {
    const inner = lines.map((line) => line.replace(QUOTE, "")).join("\n");
    return make("blockquote", {}, ...renderMarkdown(inner, renderMark));
  },
  rule: () => make("hr"),
  list(lines, renderMark) {
    const [, indent, bullet] = lines[0].match(ITEM);
    const number = parseInt(bullet, 10);
    const items = itemsOf(lines, indent.length).map((text) => listItem(text, renderMark));
    if (Number.isNaN(number)) return make("ul", {}, ...items);
    return make("ol", { start: number === 1 ? null : number }, ...items);
  },
  paragraph(lines, renderMark) {
    const paragraph = make("p");
    inlineInto(paragraph, lines.map((line) => line.trimStart()).join("\n"), renderMark);
    if (!paragraph.textContent.replace(/[\d\s]/g, "")) paragraph.classList.add("marks");
    return paragraph;
  },
};

function itemsOf(lines, indent) {
  const items = [];
  for (const line of lines) {
    const item = line.match(ITEM);
    if (item && item[1].length <= indent + 1) items.push([line.slice(item[0].length)]);
    else items.at(-1).push(line.replace(/^\s{1,4}/, ""));
  }
  return items.map((item) => item.join("\n"));
}

function listItem(text, renderMark) {
  const item = make("li");
  for (const block of splitBlocks(text)) {
    if (block.kind === "paragraph") inlineInto(item, block.lines.join("\n"), renderMark);
    else item.append(renderBlock(block, renderMark));
  }
  return item;
}

function cellsOf(line) {
  const inner = line.trim().replace(/^\||(?<!\\)\|$/g, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Renders code as it stands. */
export function codeBox(code) {
  const copy = copyButton("Copy", () => code, { class: "quiet copy" });
  return make("div", { class: "code" }, copy, scrollBox("Code", make("pre", {}, make("code", {}, code))));
}

// What scrolls sideways must be reachable without a mouse.
function scrollBox(label, content) {
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, content);
}

function inlineInto(parent, text, renderMark) {
  let done = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > done) parent.append(text.slice(done, match.index));
    const node = inlineNode(match.groups, renderMark);
    if (match.groups.number) appendMark(parent, node);
    else parent.append(node);
    done = match.index + match[0].length;
  }
  if (done < text.length) parent.append(text.slice(done));
  return parent;
}

// Browsers break the line before a button, so it is bound to the word it proves.
function appendMark(parent, mark) {
  const last = parent.lastChild;
  if (last?.className === "bound") {
    last.append(mark);
    return;
  }
  const word = last?.nodeType === Node.TEXT_NODE ? last.data.match(/\S{0,24}$/)[0] : "";
  if (word) last.data = last.data.slice(0, -word.length);
  parent.append(make("span", { class: "bound" }, word, mark));
}

function inlineNode(found, renderMark) {
  const within = (tag, words) => inlineInto(make(tag), words, renderMark);
  if (found.number) return renderMark(Number(found.claim), Number(found.number));
  if (found.escaped) return found.escaped;
  if (found.code) return make("code", {}, found.code.replace(/^ (.*\S.*) $/, "$1"));
  const math = found.display ?? found.math;
  if (math) return make("code", { class: "math" }, math);
  const bold = found.bold ?? found.bolder;
  if (bold) return within("strong", bold);
  const italic = found.italic ?? found.slanted;
  if (italic) return within("em", italic);
  if (found.bare) return externalLink(found.bare, found.bare);
  if (found.newline) return make("br");
  const label = within("span", found.label);
  return /^https?:\/\//i.test(found.href) ? externalLink(found.href, label) : label;
}

function externalLink(href, label) {
  return make("a", { href, target: "_blank", rel: "noopener noreferrer" }, label);
}
