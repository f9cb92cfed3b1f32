"""Chunks to the table of contents: what has text has its line, in reading order."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import PurePosixPath

from citewell.domain import Chunk, Contents, Heading, HeadingKind
from citewell.ingest.chunking import definitions_of, figures_of

_IN_TITLE = re.compile(r"(?:chapter|ch\.)\s*(\d{1,3})\b|(\d{1,3})[.:)]\s", re.I)
_IN_FILE = re.compile(r"(?:^|/)ch(?:ap(?:ter)?)?[-_. ]?0*(\d{1,3})(?=[-_. ]|$)", re.I)
_FRONT_FILES = ("index", "readme", "intro", "title-page", "titlepage", "cover")
_ASIDE = re.compile(
    r"(?:title page|cover|copyright|license|dedication|colophon|(?:table of )?contents|foreword"
    r"|preface|acknowledge?ments?|about (?:the|this) .+|welcome|glossary|index"
    r"|bibliography|references|further reading|appendi(?:x|ces)\b.*)$",
    re.I,
)
"""Titles of pages that stand before or behind the chapters."""
MAX_DEPTH = 20
"""Headings deeper than this have no line of their own; no author means them to be found by it."""
_PAGE_OF_PDF = re.compile(r"#page=\d+")


@dataclass(slots=True)
class _TocNode:
    """A heading while its children are still being found."""

    title: str
    url: str
    source_file: str
    anchor: str
    position: int
    kind: HeadingKind = "section"
    number: int | None = None
    chunks: list[str] = field(default_factory=list)
    children: list["_TocNode"] = field(default_factory=list)


def build_contents(title: str, chunks: Sequence[Chunk]) -> Contents:
    """Build the contents of a book called `title` from its chunks in reading order."""
    numbers = count(1)
    pages = [
        _page([(next(numbers), chunk) for chunk in own])
        for _, own in groupby(chunks, key=lambda chunk: chunk.source_file)
    ]
    parts = [next(own).part for _, own in groupby(chunks, key=lambda chunk: chunk.source_file)]
    top = _group_by_part(pages, parts)
    _number(title, top)
    taken: set[str] = set()
    return Contents(
        headings=tuple(_finished(line, taken) for line in top),
        figures=tuple(figure for chunk in chunks for figure in figures_of(chunk)),
        definitions=tuple(term for chunk in chunks for term in definitions_of(chunk)),
    )


def _page(numbered: Sequence[tuple[int, Chunk]]) -> _TocNode:
    position, first = numbered[0]
    address = first.url.partition("#")[0]
    page = _TocNode(first.chapter, address, first.source_file, "", position, kind="page")
    trail: list[tuple[str, _TocNode]] = []
    before: Chunk | None = None
    for place, chunk in numbered:
        if before is None or not _together(before, chunk):
            trail = _open_headings(page, trail, chunk, place)
        (trail[-1][1] if trail else page).chunks.append(chunk.id)
        before = chunk
    return page


def _together(before: Chunk, chunk: Chunk) -> bool:
    """Whether no heading stands between two neighbours; one in a PDF may go over several pages."""
    same = _PAGE_OF_PDF.sub("", before.url) == _PAGE_OF_PDF.sub("", chunk.url)
    return same and before.path == chunk.path


def _open_headings(
    page: _TocNode, trail: list[tuple[str, _TocNode]], chunk: Chunk, place: int
) -> list[tuple[str, _TocNode]]:
    """Open the headings above a chunk that are not open yet, and give all that are open then."""
    path = chunk.path[1:MAX_DEPTH]
    kept = 0
    # The last of its headings is new even if the one before it has the same words.
    while kept < min(len(trail), len(path) - 1) and trail[kept][0] == path[kept]:
        kept += 1
    trail = trail[:kept]
    for depth in range(kept, len(path)):
        own = depth == len(path) - 1
        # A heading with no text of its own has the next one right below it.
        anchor = chunk.url.partition("#")[2] if own else "/".join(path[: depth + 1])
        line = _TocNode(path[depth], chunk.url, chunk.source_file, anchor, place)
        (trail[-1][1] if trail else page).children.append(line)
        trail.append((path[depth], line))
    return trail


def _group_by_part(pages: Sequence[_TocNode], parts: Sequence[str]) -> list[_TocNode]:
    """Put pages under their parts; a part that is a page itself is the chapter they belong to."""
    top: list[_TocNode] = []
    for page, part in zip(pages, parts, strict=True):
        if not part:
            top.append(page)
            continue
        if not top or top[-1].title != part:
            shelf = _TocNode(part, page.url, page.source_file, part, page.position, kind="part")
            top.append(shelf)
        if top[-1].kind == "page":
            page.kind = "section"
        top[-1].children.append(page)
    return top


def _number(title: str, top: Sequence[_TocNode]) -> None:
    """Number the chapters: as their titles or files do, or else by counting those that are."""
    pages = [page for line in top for page in _pages_of(line)]
    own = [_own_number(page) for page in pages]
    if any(own):
        for page, number in zip(pages, own, strict=True):
            page.number = number
    else:
        counted = count(1)
        for page in pages[_first_inside(top) : len(pages) - _first_inside(top[::-1])]:
            if not _is_aside(page, title):
                page.number = next(counted)
    for page in pages:
        page.kind = "chapter" if page.number else "page"


def _first_inside(top: Sequence[_TocNode]) -> int:
    """Count the pages before the first part: where there are parts, the chapters are inside."""
    parts = [place for place, line in enumerate(top) if line.kind == "part"]
    return parts[0] if parts else 0


def _pages_of(line: _TocNode) -> Iterator[_TocNode]:
    if line.kind == "part":
        yield from line.children
    else:
        yield line


def _own_number(page: _TocNode) -> int | None:
    found = _IN_TITLE.match(page.title) or _IN_FILE.search(page.source_file)
    return int(next(group for group in found.groups() if group)) or None if found else None


def _is_aside(page: _TocNode, title: str) -> bool:
    front = page.position == 1 and PurePosixPath(page.source_file).stem.lower() in _FRONT_FILES
    return front or page.title == title or bool(_ASIDE.match(page.title))


def _finished(line: _TocNode, taken: set[str]) -> Heading:
    if line.kind == "part":
        identity = f"part:{line.title}"
    else:
        identity = f"{line.source_file}#{line.anchor}" if line.anchor else line.source_file
    unique = next(
        name for n in count(1) if (name := f"{identity}~{n}" if n > 1 else identity) not in taken
    )
    taken.add(unique)
    return Heading(
        id=unique,
        kind=line.kind,
        title=line.title,
        number=line.number,
        url=line.url,
        source_file="" if line.kind == "part" else line.source_file,
        chunks=tuple(line.chunks),
        position=line.position,
        children=tuple(_finished(child, taken) for child in line.children),
    )
