"""Navigate the table of contents: find and open sections."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from citewell.domain import Chunk, Contents, Heading
from citewell.errors import UnknownPage
from citewell.ports import Index
from citewell.text.plain_text import strip_inline_markup
from citewell.text.terms import words

_NUMBER = re.compile(
    r"(?:chapter|part|section|ch\.)\s*\d+\s*[:.–—-]?\s+|\d+(?:\.\d+)*[.:)]?\s+", re.I
)
_SUBTITLE = re.compile(r":\s|\s[-–—]\s|\s\(")
_CHAPTER = re.compile(r"(?:the )?chapter (\d{1,3})", re.I)
_ARTICLES = ("the", "a", "an")
SECTION_PAGE_SIZE = 12
"""Default number of passages per page of a section."""


@dataclass(frozen=True, slots=True)
class TocEntry:
    """A heading with its position in the table of contents."""

    heading: Heading
    ancestors: tuple[Heading, ...] = ()
    """From the outermost heading down to the parent."""
    siblings: tuple[Heading, ...] = ()
    """Children of the same parent, including the heading; for a chapter, all pages."""

    @property
    def previous(self) -> Heading | None:
        """The previous sibling."""
        index = self.siblings.index(self.heading)
        return self.siblings[index - 1] if index else None

    @property
    def next(self) -> Heading | None:
        """The next sibling."""
        index = self.siblings.index(self.heading) + 1
        return self.siblings[index] if index < len(self.siblings) else None

    @property
    def chapter(self) -> Heading | None:
        """The chapter or page that contains the heading."""
        return next(
            (heading for heading in self.ancestors if heading.kind in ("chapter", "page")), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSection:
    """A page of the passages of a section and its subsections."""

    entry: TocEntry
    passages: tuple[Chunk, ...]
    start: int
    """Position of the first passage in the section, from 1."""
    total: int


def pages_of(contents: Contents) -> tuple[Heading, ...]:
    """Return the chapters and other pages of a book, of all parts."""
    return tuple(
        page
        for heading in contents.headings
        for page in (heading.children if heading.kind == "part" else (heading,))
    )


@lru_cache(maxsize=8)
def toc_entries(contents: Contents) -> tuple[TocEntry, ...]:
    """Return an entry for every heading, in reading order."""
    pages = pages_of(contents)
    parts = tuple(heading for heading in contents.headings if heading.kind == "part")

    def walk(heading: Heading, ancestors: tuple[Heading, ...]) -> Iterator[TocEntry]:
        siblings = {"part": parts, "section": ancestors[-1].children if ancestors else ()}
        yield TocEntry(heading, ancestors, siblings.get(heading.kind, pages))
        for child in heading.children:
            yield from walk(child, (*ancestors, heading))

    return tuple(entry for heading in contents.headings for entry in walk(heading, ()))


def first_chunk(heading: Heading) -> str:
    """Return the id of the first chunk under a heading."""
    return next(chunk_id for descendant in heading.walk() for chunk_id in descendant.chunks)


def find_by_title(contents: Contents, title: str) -> list[TocEntry]:
    """Return the entries with a title, ignoring case, article, number and subtitle."""
    name = _normalize_title(title)
    entries = toc_entries(contents)
    if not name:
        return []
    exact = [entry for entry in entries if _normalize_title(entry.heading.title) == name]
    return exact or [entry for entry in entries if name in _short_names(entry.heading.title)]


def find_by_number(contents: Contents, number: int) -> list[TocEntry]:
    """Return the chapters with a number."""
    return [entry for entry in toc_entries(contents) if entry.heading.number == number]


def find_section(contents: Contents, name: str) -> TocEntry:
    """Return a section by id, number, title, or path such as `Chapter › Section`.

    Raises:
        UnknownPage: there is no such section, or there are several.
    """
    matches = [entry for entry in toc_entries(contents) if entry.heading.id == name]
    if not matches and (number := _CHAPTER.fullmatch(name.strip())):
        matches = find_by_number(contents, int(number[1]))
    *path, title = re.split(r"\s+(?:›|>)\s+", name.strip())
    if not matches:
        ancestors = {_normalize_title(heading) for heading in path}
        matches = [
            entry
            for entry in find_by_title(contents, title)
            if ancestors <= {_normalize_title(heading.title) for heading in entry.ancestors}
        ]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise UnknownPage(f"The book has no section {name!r}.")
    ids = ", ".join(repr(entry.heading.id) for entry in matches[:5])
    raise UnknownPage(f"The book has {len(matches)} sections called {name!r}: {ids}.")


def open_section(
    index: Index, name: str, *, start: int = 1, limit: int = SECTION_PAGE_SIZE
) -> OpenedSection:
    """Return the passages of a section and its subsections, in reading order.

    Raises:
        UnknownPage: there is no such section, or there are several.
    """
    entry = find_section(index.contents, name)
    ids = [chunk_id for heading in entry.heading.walk() for chunk_id in heading.chunks]
    passages = tuple(index.read(ids[start - 1 : start - 1 + limit]))
    return OpenedSection(entry=entry, passages=passages, start=start, total=len(ids))


def outline_for_model(headings: Sequence[Heading]) -> list[dict[str, object]]:
    """Return headings for a model: parts with their chapters, others without children."""
    return [
        {"id": heading.id, "kind": heading.kind, "title": heading.title}
        | ({"number": heading.number} if heading.number else {})
        | ({"below": outline_for_model(heading.children)} if heading.kind == "part" else {})
        for heading in headings
    ]


@lru_cache(maxsize=16384)
def _normalize_title(title: str) -> str:
    title_words = [word.casefold() for word in words(strip_inline_markup(title))]
    return " ".join(
        title_words[1:] if title_words[1:] and title_words[0] in _ARTICLES else title_words
    )


@lru_cache(maxsize=16384)
def _short_names(title: str) -> Sequence[str]:
    """Return a title without its number, and also without its subtitle."""
    without_number = _NUMBER.sub("", title, count=1) if _NUMBER.match(title) else title
    return (_normalize_title(without_number), _normalize_title(_SUBTITLE.split(without_number)[0]))
