"""A site as its generator built it: which addresses and headings there are, and what they hold."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from lxml import html

from citewell.domain import Book, Chunk
from citewell.ingest.chunking import chunk_page
from citewell.options import IngestOptions
from citewell.text.plain_text import plain, strip_inline_markup
from tests.servers import HashEmbedder

NESTED = "ancestor::blockquote | ancestor::li | ancestor::*[contains(@class, 'admonition')]"
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(slots=True)
class BuiltSection:
    heading: str
    words: list[str] = field(default_factory=list)


@dataclass(slots=True)
class BuiltPage:
    """The main text of a page, by the ids of its headings; what precedes them has none."""

    sections: dict[str, BuiltSection]
    hidden: bool
    """Whether it asks search engines to pass it by."""


@dataclass(frozen=True, slots=True)
class Checked:
    """How many chunks were looked up in the built site, and what is wrong with the others."""

    chunks: int
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.chunks} chunks checked, {self.chunks - len(self.wrong)} correct"


def words(text: str) -> list[str]:
    """Letters and digits alone: spaces, quotes and dashes differ between source and site."""
    return re.findall(r"[^\W_]+", text.lower())


def encoded(url: str) -> str:
    """Give an address as it stands in a link."""
    return quote(url, safe="/:@!$&'()*+,;=~-._%")


def cut(book: Book) -> list[Chunk]:
    """Cut a book into chunks, as an ingest does."""
    embedder = HashEmbedder()
    return [
        chunk
        for page in book.pages
        for chunk in chunk_page(
            page,
            book="book",
            count=embedder.count_tokens,
            options=IngestOptions(),
            now=datetime.now(UTC),
        )
    ]


def read_built(folder: Path, *, main: str, site: str | None = None) -> dict[str, BuiltPage]:
    """Return the pages of a built site by their address: below `site`, or the canonical one."""
    pages = {}
    for file in sorted(folder.rglob("*.html")):
        tree = html.fromstring(file.read_text("utf-8"))
        found = tree.xpath(main)
        if not found:
            continue
        links = tree.xpath("//link[@rel='canonical']/@href")
        url = site + file.relative_to(folder).as_posix() if site else links[0]
        robots = " ".join(tree.xpath("//meta[@name='robots']/@content"))
        pages[encoded(url)] = BuiltPage(_sections(found[0]), "noindex" in robots)
    return pages


def _sections(main: html.HtmlElement) -> dict[str, BuiltSection]:
    current = BuiltSection("")
    sections = {"": current}
    for element in main.iter():
        # Sphinx gives the ids to the sections, the others to their headings.
        if element.tag in (*HEADINGS, "section") and element.get("id"):
            first = element.xpath("(self::*[not(self::section)] | self::section/*[1])[1]")
            heading = first[0].text_content().replace("\u200b", "")
            title = element.tag in ("h1", "section") and len(sections) == 1
            inside = title or element.xpath(NESTED)
            # What stands inside a quote or a list does not end the section around it, and of two
            # equal ids a browser opens the first.
            current = sections.setdefault(
                element.get("id"), current if inside else BuiltSection(heading)
            )
        current.words += words(f"{element.text or ''} {element.tail or ''}")
    return sections


def check(chunks: Iterable[Chunk], pages: dict[str, BuiltPage]) -> Checked:
    """Look every chunk up where its address leads."""
    listed = list(chunks)
    found = ((chunk, _fault(chunk, pages)) for chunk in listed)
    return Checked(len(listed), tuple(f"{c.url}: {fault}" for c, fault in found if fault))


def _fault(chunk: Chunk, pages: dict[str, BuiltPage]) -> str | None:
    url, _, anchor = chunk.url.partition("#")
    if url not in pages:
        return "no such page"
    sections = pages[url].sections
    if anchor not in sections:
        return f"no such heading; there are {list(sections)}"
    there = "".join(sections[anchor].words)
    lines = _lines(chunk)
    if lines and not any("".join(line) in there for line in lines):
        return f"{' '.join(lines[0])!r} does not stand there"
    if not lines and words(sections[anchor].heading) != words(strip_inline_markup(chunk.section)):
        return f"leads to {sections[anchor].heading!r}, not to {chunk.section!r}"
    return None


def _lines(chunk: Chunk) -> list[list[str]]:
    """Give how lines of a chunk begin, as far as they look the same in its source and its page."""
    # Formulas are drawn, and cells of tables have others between them.
    starts = (re.split(r"[$|{<]|:::|```", line, maxsplit=1)[0] for line in chunk.text.split("\n"))
    return [found[:8] for start in starts if (found := words(plain(start)))]
