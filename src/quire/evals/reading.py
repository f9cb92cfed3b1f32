"""What becomes of a book on its way into passages: what is lost, and what is torn apart."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from quire.domain import Book, Chunk
from quire.evals.source_words import words, words_of_source
from quire.ingest.chunk import chunk_page
from quire.ingest.options import IngestOptions
from quire.ingest.seams import CountTokens
from quire.ingest.source import find_reader, inside

_MDX_KINDS = ("docusaurus",)
"""Kinds in which braces and capital tags are code; elsewhere they are text."""
_MYST_KINDS = ("sphinx", "notebooks")
_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d+[.)][ \t])*(`{3,}|~{3,})([^\n]*)$")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]\S")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+[-:| \t]*$")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One book, read and cut, and what was seen of it."""

    book: Book
    chunks: tuple[Chunk, ...]
    seconds: float
    words: int
    """In the sources, as far as they can be counted without the reader."""
    lost: Counter[str]
    over_headings: tuple[str, ...]
    """Addresses of passages that hold a heading."""
    torn: tuple[str, ...]
    """Addresses of passages that hold a part of a code block or a table and do not say so."""

    @property
    def loss(self) -> float:
        """Give the share of words that no passage of their page has, 0 to 1."""
        return self.lost.total() / max(self.words, 1)


def read_book(
    root: Path, count: CountTokens, *, kind: str | None = None, options: IngestOptions | None = None
) -> Reading:
    """Read and cut a book as an ingest does, without embedding it, and compare it with its source.

    Raises:
        UnsupportedSource: there is no book at the path.
    """
    options = options or IngestOptions()
    begun = perf_counter()
    reader = find_reader(root, kind)
    with inside(reader, root, options):
        book = reader.read(root, options)
        sources = reader.files(root)
    now = datetime.now(UTC)
    cut = {
        page.source: chunk_page(page, book="", count=count, options=options, now=now)
        for page in book.pages
    }
    seconds = perf_counter() - begun
    files = {file.name: file.path for file in sources}
    total, lost = _compare(book, cut, files)
    chunks = tuple(chunk for page in book.pages for chunk in cut[page.source])
    return Reading(
        book=book,
        chunks=chunks,
        seconds=seconds,
        words=total,
        lost=lost,
        over_headings=tuple(chunk.url for chunk in chunks if holds_heading(chunk.text)),
        torn=tuple(torn_blocks(chunks)),
    )


def _compare(
    book: Book, cut: Mapping[str, Sequence[Chunk]], files: Mapping[str, Path]
) -> tuple[int, Counter[str]]:
    total, lost = 0, Counter[str]()
    for page in book.pages:
        text = _source(page.source, files)
        if text is None:
            continue
        mdx = book.kind in _MDX_KINDS
        myst = book.kind in _MYST_KINDS
        wanted = words_of_source(page.source, text, mdx=mdx, myst=myst)
        # A heading without text of its own stands only in the paths of those below it.
        paths = {
            c.path[:n]: c.path[n - 1] for c in cut[page.source] for n in range(len(c.path) + 1) if n
        }
        got = words("\n".join([page.title, *paths.values(), *(c.text for c in cut[page.source])]))
        total += wanted.total()
        lost += wanted - got
    return total, lost


def _source(name: str, files: Mapping[str, Path]) -> str | None:
    """Give the text a page was made from; nothing where it cannot be had without the reader."""
    if name in files:
        return files[name].read_text("utf-8", "replace") if files[name].suffix != ".pdf" else None
    for file, path in files.items():
        if name.startswith(f"{file}/") and path.suffix == ".epub":
            with zipfile.ZipFile(path) as archive:
                return archive.read(name.removeprefix(f"{file}/")).decode("utf-8", "replace")
    return None


def holds_heading(text: str) -> bool:
    """Tell whether a passage has a line that is a heading, outside code."""
    return any(_HEADING.match(line) for line, fenced in _lines(text) if not fenced)


def torn_blocks(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Give the addresses of passages that go on with the code or table of the one before."""
    for before, chunk in pairwise(chunks):
        if before.source_file != chunk.source_file or chunk.piece:
            continue
        # A fence that its author never closed is followed by text that is whole by itself.
        if (_open_fence(before.text) and _open_fence(chunk.text)) or _continues(before, chunk):
            yield chunk.url


def _continues(before: Chunk, chunk: Chunk) -> bool:
    last, first = before.text.split("\n")[-1], chunk.text.split("\n")[:2]
    rows = _ROW.match(last) and _ROW.match(first[0])
    return bool(rows) and not _RULE.match(first[-1])


def _open_fence(text: str) -> bool:
    return any(fenced == "open" for _, fenced in list(_lines(text))[-1:])


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Give each line, and whether it stands in a fenced block (`closed` by the line itself)."""
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not found[2].strip()
            yield line, "closed" if closes else "open"
            fence = "" if closes else fence
        elif found and "`" not in found[2]:
            fence = found[1]
            yield line, "open"
        else:
            yield line, ""
