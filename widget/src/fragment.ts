// Text fragments: finding on this page the words that an address names.

/** The words that a text fragment names: `prefix-,start,end,-suffix`. */
export interface Named {
  prefix: string;
  start: string;
  end: string;
  suffix: string;
}

/** Reads the text fragment of an address; `null` if it has none. */
export function namedBy(url: string): Named | null {
  const directive = /:~:(?:.*&)?text=([^&]*)/.exec(url)?.[1];
  if (!directive) return null;
  const terms = directive.split(",");
  const prefix = terms[0]?.endsWith("-") ? (terms.shift()?.slice(0, -1) ?? "") : "";
  const suffix = terms.at(-1)?.startsWith("-") ? (terms.pop()?.slice(1) ?? "") : "";
  const [start = "", end = ""] = terms;
  if (!start) return null;
  return { prefix: read(prefix), start: read(start), end: read(end), suffix: read(suffix) };
}

function read(term: string): string {
  try {
    return folded(decodeURIComponent(term)).replace(/\s+/g, " ").trim();
  } catch {
    return "";
  }
}

/** Finds the words in a folded text; gives where they begin and end. */
export function findNamed(text: string, { prefix, start, end, suffix }: Named): [number, number] | null {
  for (let from = text.indexOf(start); from >= 0; from = text.indexOf(start, from + 1)) {
    const startEnd = from + start.length;
    if (!isWord(text, from, startEnd) || !text.slice(0, from).trimEnd().endsWith(prefix)) continue;
    if (!end) {
      if (text.slice(startEnd).trimStart().startsWith(suffix)) return [from, startEnd];
      continue;
    }
    for (let at = text.indexOf(end, startEnd); at >= 0; at = text.indexOf(end, at + 1)) {
      const stop = at + end.length;
      if (isWord(text, at, stop) && text.slice(stop).trimStart().startsWith(suffix)) return [from, stop];
    }
  }
  return null;
}

function isWord(text: string, start: number, end: number): boolean {
  const letter = /[\p{L}\p{N}]/u;
  const joins = (at: number) => letter.test(text[at - 1] ?? "") && letter.test(text[at] ?? "");
  return !joins(start) && !joins(end);
}

/** A page's text, folded as browsers compare it, and where each of its characters stands. */
export interface PageText {
  text: string;
  at: { node: Text; offset: number }[];
}

/** Reads the text below an element; what stands in different blocks is kept apart by a space. */
export function textOf(root: Element, skipped: string): PageText {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node instanceof Element) return node.matches(skipped) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
    return NodeFilter.FILTER_ACCEPT;
  });
  const letters: string[] = [];
  const at: PageText["at"] = [];
  let space = true;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!(node instanceof Text)) {
      if (space || !isBlock(node as Element)) continue;
      space = true;
      letters.push(" ");
      at.push(at.at(-1) ?? { node: document.createTextNode(""), offset: 0 });
      continue;
    }
    const { data } = node;
    for (let offset = 0; offset < data.length; offset += 1) {
      for (const letter of folded(data[offset] ?? "")) {
        const blank = /\s/.test(letter);
        if (blank && space) continue;
        space = blank;
        letters.push(blank ? " " : letter);
        at.push({ node, offset });
      }
    }
  }
  return { text: letters.join(""), at };
}

function isBlock(element: Element): boolean {
  return !/^(A|ABBR|B|BDI|BR|CITE|CODE|DEL|EM|I|IMG|KBD|MARK|Q|S|SMALL|SPAN|STRONG|SUB|SUP|TIME|U|VAR|WBR)$/.test(
    element.tagName,
  );
}

/** Gives a text without case, accents and the shapes of quotation marks, which do not count. */
export function folded(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKD")
    .replace(/[\p{M}\u200B\u00AD]/gu, "")
    .replace(/[\u2018\u2019\u201A\u201B]/g, "'")
    .replace(/[\u201C-\u201F\u00AB\u00BB]/g, '"')
    .toLowerCase();
}
