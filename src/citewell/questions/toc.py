"""Finding one's way in a book by its contents: a section by its name, and what stands beside it."""

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
"""How many passages of a section are opened at a time, unless more are asked for."""


@dataclass(frozen=True, slots=True)
class TocEntry:
    """A heading with those around it."""

    heading: Heading
    above: tuple[Heading, ...] = ()
    """From the outermost down to the one it stands directly under."""
    beside: tuple[Heading, ...] = ()
    """Those of its rank under the same heading, itself among them; for a chapter, all pages."""

    @property
    def before(self) -> Heading | None:
        """What comes before it."""
        place = self.beside.index(self.heading)
        return self.beside[place - 1] if place else None

    @property
    def after(self) -> Heading | None:
        """What comes after it, and after all below it."""
        place = self.beside.index(self.heading) + 1
        return self.beside[place] if place < len(self.beside) else None

    @property
    def chapter(self) -> Heading | None:
        """The chapter or page that it stands in; none for one that is itself."""
        return next((one for one in self.above if one.kind in ("chapter", "page")), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSection:
    """Some of the passages of a section and of all below it."""

    place: TocEntry
    passages: tuple[Chunk, ...]
    start: int
    """Which passage of the section the first one is, from 1."""
    total: int


def pages_of(contents: Contents) -> tuple[Heading, ...]:
    """Return the chapters and other pages of a book, whichever part they stand in."""
    return tuple(
        page
        for heading in contents.headings
        for page in (heading.children if heading.kind == "part" else (heading,))
    )


@lru_cache(maxsize=8)
def toc_entries(contents: Contents) -> tuple[TocEntry, ...]:
    """Return every heading with those around it, in reading order."""
    pages = pages_of(contents)
    parts = tuple(heading for heading in contents.headings if heading.kind == "part")

    def walk(heading: Heading, above: tuple[Heading, ...]) -> Iterator[TocEntry]:
        beside = {"part": parts, "section": above[-1].children if above else ()}
        yield TocEntry(heading, above, beside.get(heading.kind, pages))
        for child in heading.children:
            yield from walk(child, (*above, heading))

    return tuple(place for heading in contents.headings for place in walk(heading, ()))


def first_chunk(heading: Heading) -> str:
    """Return the id of the first passage under a heading; each has one."""
    return next(identity for one in heading.walk() for identity in one.chunks)


def find_by_title(contents: Contents, title: str) -> list[TocEntry]:
    """Return the headings of that name, whatever their case, article, number or subtitle."""
    wanted = _normalize_title(title)
    places = toc_entries(contents)
    if not wanted:
        return []
    exact = [place for place in places if _normalize_title(place.heading.title) == wanted]
    return exact or [place for place in places if wanted in _short_names(place.heading.title)]


def find_by_number(contents: Contents, number: int) -> list[TocEntry]:
    """Return the chapters of that number."""
    return [place for place in toc_entries(contents) if place.heading.number == number]


def find_section(contents: Contents, name: str) -> TocEntry:
    """Return the section of that id, number or name; `Chapter › Section` tells equal names apart.

    Raises:
        UnknownPage: there is none, or there are several.
    """
    found = [place for place in toc_entries(contents) if place.heading.id == name]
    if not found and (number := _CHAPTER.fullmatch(name.strip())):
        found = find_by_number(contents, int(number[1]))
    *above, last = re.split(r"\s+(?:›|>)\s+", name.strip())
    if not found:
        within = {_normalize_title(one) for one in above}
        found = [
            place
            for place in find_by_title(contents, last)
            if within <= {_normalize_title(one.title) for one in place.above}
        ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownPage(f"The book has no section {name!r}.")
    ids = ", ".join(repr(place.heading.id) for place in found[:5])
    raise UnknownPage(f"The book has {len(found)} sections called {name!r}: {ids}.")


def open_section(
    index: Index, name: str, *, start: int = 1, limit: int = SECTION_PAGE_SIZE
) -> OpenedSection:
    """Return the passages of a section and of those below it, in reading order.

    Raises:
        UnknownPage: there is no such section, or there are several.
    """
    place = find_section(index.contents, name)
    ids = [identity for heading in place.heading.walk() for identity in heading.chunks]
    chosen = ids[start - 1 : start - 1 + limit]
    return OpenedSection(
        place=place, passages=tuple(index.read(chosen)), start=start, total=len(ids)
    )


def outline_for_model(headings: Sequence[Heading]) -> list[dict[str, object]]:
    """Return headings as a model reads them: parts with their chapters, anything else by itself."""
    return [
        {"id": one.id, "kind": one.kind, "title": one.title}
        | ({"number": one.number} if one.number else {})
        | ({"below": outline_for_model(one.children)} if one.kind == "part" else {})
        for one in headings
    ]


@lru_cache(maxsize=16384)
def _normalize_title(title: str) -> str:
    said = [word.casefold() for word in words(strip_inline_markup(title))]
    return " ".join(said[1:] if said[:1] and said[0] in _ARTICLES and said[1:] else said)


@lru_cache(maxsize=16384)
def _short_names(title: str) -> Sequence[str]:
    """Return what a title may be called by: without its number, without its subtitle."""
    bare = _NUMBER.sub("", title, count=1) if _NUMBER.match(title) else title
    return (_normalize_title(bare), _normalize_title(_SUBTITLE.split(bare)[0]))
