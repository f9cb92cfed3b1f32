"""Build the table of contents from chunks, in reading order."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import PurePosixPath

from citewell.domain import Chunk, Contents, Heading, HeadingKind
from citewell.ingest.chunking import definitions_of, figures_of

_NUMBER_IN_TITLE = re.compile(r"(?:chapter|ch\.)\s*(\d{1,3})\b|(\d{1,3})[.:)]\s", re.I)
_NUMBER_IN_FILE = re.compile(r"(?:^|/)ch(?:ap(?:ter)?)?[-_. ]?0*(\d{1,3})(?=[-_. ]|$)", re.I)
_FRONT_FILES = ("index", "readme", "intro", "title-page", "titlepage", "cover")
_UNNUMBERED_TITLE = re.compile(
    r"(?:title page|cover|copyright|license|dedication|colophon|(?:table of )?contents|foreword"
    r"|preface|acknowledge?ments?|about (?:the|this) .+|welcome|glossary|index"
    r"|bibliography|references|further reading|appendi(?:x|ces)\b.*)$",
    re.I,
)
"""Titles of front matter and back matter."""
MAX_DEPTH = 20
"""Deeper headings have no entry of their own."""
_PDF_PAGE_FRAGMENT = re.compile(r"#page=\d+")


@dataclass(slots=True)
class _TocNode:
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
    positions = count(1)
    pages: list[_TocNode] = []
    parts: list[str] = []
    for _, group in groupby(chunks, key=lambda chunk: chunk.source_file):
        page_chunks = list(group)
        pages.append(_page_node([(next(positions), chunk) for chunk in page_chunks]))
        parts.append(page_chunks[0].part)
    top = _group_by_part(pages, parts)
    _number_chapters(title, top)
    used_ids: set[str] = set()
    return Contents(
        headings=tuple(_to_heading(node, used_ids) for node in top),
        figures=tuple(figure for chunk in chunks for figure in figures_of(chunk)),
        definitions=tuple(term for chunk in chunks for term in definitions_of(chunk)),
    )


def _page_node(numbered_chunks: Sequence[tuple[int, Chunk]]) -> _TocNode:
    position, first_chunk = numbered_chunks[0]
    url = first_chunk.url.partition("#")[0]
    page = _TocNode(first_chunk.chapter, url, first_chunk.source_file, "", position, kind="page")
    open_nodes: list[tuple[str, _TocNode]] = []
    previous: Chunk | None = None
    for position, chunk in numbered_chunks:
        if previous is None or not _same_heading(previous, chunk):
            open_nodes = _open_headings(page, open_nodes, chunk, position)
        (open_nodes[-1][1] if open_nodes else page).chunks.append(chunk.id)
        previous = chunk
    return page


def _same_heading(previous: Chunk, chunk: Chunk) -> bool:
    """Return whether two neighbours share their heading, which may span several PDF pages."""
    same_section = _PDF_PAGE_FRAGMENT.sub("", previous.url) == _PDF_PAGE_FRAGMENT.sub("", chunk.url)
    return same_section and previous.path == chunk.path


def _open_headings(
    page: _TocNode, open_nodes: list[tuple[str, _TocNode]], chunk: Chunk, position: int
) -> list[tuple[str, _TocNode]]:
    """Add nodes for the headings above a chunk that are not open; return the open ones."""
    path = chunk.path[1:MAX_DEPTH]
    depth = 0
    # The innermost heading is new even if the previous one has the same text.
    while depth < min(len(open_nodes), len(path) - 1) and open_nodes[depth][0] == path[depth]:
        depth += 1
    open_nodes = open_nodes[:depth]
    for level in range(depth, len(path)):
        # Only the innermost heading has an anchor; the others have no text of their own.
        innermost = level == len(path) - 1
        anchor = chunk.url.partition("#")[2] if innermost else "/".join(path[: level + 1])
        node = _TocNode(path[level], chunk.url, chunk.source_file, anchor, position)
        (open_nodes[-1][1] if open_nodes else page).children.append(node)
        open_nodes.append((path[level], node))
    return open_nodes


def _group_by_part(pages: Sequence[_TocNode], parts: Sequence[str]) -> list[_TocNode]:
    """Group pages by part; a part that is itself a page is the chapter of the pages."""
    top: list[_TocNode] = []
    for page, part in zip(pages, parts, strict=True):
        if not part:
            top.append(page)
            continue
        if not top or top[-1].title != part:
            top.append(_TocNode(part, page.url, page.source_file, part, page.position, kind="part"))
        if top[-1].kind == "page":
            page.kind = "section"
        top[-1].children.append(page)
    return top


def _number_chapters(title: str, top: Sequence[_TocNode]) -> None:
    """Number the chapters by the numbers in titles or file names, or else consecutively."""
    pages = [page for node in top for page in _pages_of(node)]
    explicit = [_explicit_number(page) for page in pages]
    if any(explicit):
        for page, number in zip(pages, explicit, strict=True):
            page.number = number
    else:
        numbers = count(1)
        for page in pages[_pages_before_parts(top) : len(pages) - _pages_before_parts(top[::-1])]:
            if not _is_unnumbered(page, title):
                page.number = next(numbers)
    for page in pages:
        page.kind = "chapter" if page.number else "page"


def _pages_before_parts(top: Sequence[_TocNode]) -> int:
    """Count the pages before the first part: they are not chapters if the book has parts."""
    parts = [index for index, node in enumerate(top) if node.kind == "part"]
    return parts[0] if parts else 0


def _pages_of(node: _TocNode) -> Iterator[_TocNode]:
    if node.kind == "part":
        yield from node.children
    else:
        yield node


def _explicit_number(page: _TocNode) -> int | None:
    match = _NUMBER_IN_TITLE.match(page.title) or _NUMBER_IN_FILE.search(page.source_file)
    return int(next(group for group in match.groups() if group)) or None if match else None


def _is_unnumbered(page: _TocNode, title: str) -> bool:
    is_front_page = (
        page.position == 1 and PurePosixPath(page.source_file).stem.lower() in _FRONT_FILES
    )
    return is_front_page or page.title == title or bool(_UNNUMBERED_TITLE.match(page.title))


def _to_heading(node: _TocNode, used_ids: set[str]) -> Heading:
    if node.kind == "part":
        identity = f"part:{node.title}"
    else:
        identity = f"{node.source_file}#{node.anchor}" if node.anchor else node.source_file
    unique_id = next(
        name for n in count(1) if (name := f"{identity}~{n}" if n > 1 else identity) not in used_ids
    )
    used_ids.add(unique_id)
    return Heading(
        id=unique_id,
        kind=node.kind,
        title=node.title,
        number=node.number,
        url=node.url,
        source_file="" if node.kind == "part" else node.source_file,
        chunks=tuple(node.chunks),
        position=node.position,
        children=tuple(_to_heading(child, used_ids) for child in node.children),
    )
