import { beforeEach, describe, expect, it } from "vitest";
import { findNamed, namedBy, textOf } from "../src/fragment.ts";
import { chaptersFor, placeIn } from "../src/place.ts";
import { cleaned } from "../src/selection.ts";
import type { TableOfContents, TocEntry } from "../src/wire.ts";

function found(page: string, fragment: string): string | null {
  document.body.innerHTML = page;
  const { text, at } = textOf(document.body, "nav");
  const named = namedBy(`https://book.example/page#anchor:~:text=${fragment}`);
  const place = named && findNamed(text, named);
  if (!place) return null;
  const [first, last] = [at[place[0]], at[place[1] - 1]];
  const range = document.createRange();
  range.setStart(first!.node, first!.offset);
  range.setEnd(last!.node, last!.offset + 1);
  return range.toString();
}

describe("the sentence that an address names", () => {
  it("is found over markup, line breaks and case", () => {
    const page = "<p>Before. A <b>node</b> is\n   the  basic <code>unit</code>. After.</p>";

    expect(found(page, "a%20node%20is,basic%20unit.")).toBe("A node is\n   the  basic unit.");
  });

  it("is told from others by what stands around it", () => {
    const page = "<p>red box here</p><p>blue box there</p>";

    expect(found(page, "blue-,box")).toBe("box");
    expect(found(page, "box,-there")).toBe("box");
    expect(found(page, "green-,box")).toBeNull();
  });

  it("is made of whole words", () => {
    expect(found("<p>ungrounded ground</p>", "ground")).toBe("ground");
    expect(found("<p>ungrounded</p>", "ground")).toBeNull();
  });

  it("is not looked for in menus", () => {
    expect(found("<nav>one sentence</nav><main>another</main>", "one%20sentence")).toBeNull();
  });

  it("may have accents and other quotation marks", () => {
    expect(found("<p>The “naïve” way—</p>", "%22naive%22")).toBe("“naïve”");
  });

  it("is not named by every address", () => {
    expect(namedBy("https://book.example/page#anchor")).toBeNull();
    expect(namedBy("https://book.example/page#:~:text=%E0%A4%A")).toMatchObject({ start: "" });
  });
});

function entry(kind: TocEntry["kind"], title: string, url: string, ...children: TocEntry[]): TocEntry {
  return { kind, title, url, children };
}

const CONTENTS: TableOfContents = {
  book: "b",
  title: "Book",
  entries: [
    entry("page", "Preface", "https://book.example/preface"),
    entry(
      "part",
      "Part 1",
      "https://book.example/one",
      entry(
        "chapter",
        "One",
        "https://book.example/one",
        entry("section", "First steps", "https://book.example/one#first"),
      ),
      entry("chapter", "Two", "https://book.example/two/"),
    ),
    entry("part", "Part 2", "https://book.example/three", entry("chapter", "Three", "https://book.example/three.html")),
  ],
};

describe("where the reader is", () => {
  beforeEach(() => (document.body.innerHTML = ""));

  it.each([
    ["https://preview.example/one", "One"],
    ["https://book.example/two/index.html?x=1#y", "Two"],
    ["https://book.example/three", "Three"],
  ])("is told by the path of %s", (address, chapter) => {
    expect(placeIn(CONTENTS, address)?.chapter).toBe(chapter);
  });

  it("is nowhere on a page that is not of the book", () => {
    expect(placeIn(CONTENTS, "https://book.example/blog")).toBeNull();
  });

  it("gives the chapters to read next, or else the first ones", () => {
    const titles = (address: string, most: number) => chaptersFor(CONTENTS, address, most).map(({ title }) => title);

    expect(titles("https://book.example/one", 3)).toEqual(["Two", "Three"]);
    expect(titles("https://blog.example/", 2)).toEqual(["One", "Two"]);
    expect(titles("https://book.example/three", 3)).toEqual(["One", "Two"]);
    expect(chaptersFor({ ...CONTENTS, entries: [CONTENTS.entries[0]!] }, "https://blog.example/", 3)).toHaveLength(1);
  });
});

describe("selected text", () => {
  it("is taken as it reads", () => {
    expect(cleaned("  A\u00ADnode \t is\u200B here. \n\n\n\n  And  there. ")).toBe("Anode is here.\n\nAnd there.");
  });
});
