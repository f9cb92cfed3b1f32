"""How a book is built, over HTTP: its contents, its sections, and what is around a passage."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict

from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import requested_book
from citewell.domain import Chunk, Excerpt, Heading
from citewell.errors import UnknownPage
from citewell.index.library import BaseLibrary
from citewell.ports import Index
from citewell.questions.toc import SECTION_PAGE_SIZE, OpenedSection, open_section, pages_of


class WireModel(BaseModel):
    """A model on the wire; the words under each field appear in the API's documentation."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class TocEntry(WireModel):
    """One line of the table of contents."""

    id: str
    """What the section is asked for by, at `/books/{book}/sections/{id}`."""
    kind: Literal["part", "chapter", "page", "section"]
    """`page` is one that stands beside the chapters, such as a preface."""
    title: str
    number: int | None
    """A chapter's number."""
    url: str
    """The heading on the published site."""
    source_file: str
    position: int
    """Of its first passage among all of the book, from 1."""
    chunk_ids: list[str]
    """The passages between this heading and the next."""
    children: list["TocEntry"]


class Listed(WireModel):
    """A figure's caption or a defined term, where it stands."""

    text: str
    """Byte for byte what the passage says between the offsets."""
    chunk_id: str
    start: int
    end: int
    url: str


class TableOfContents(WireModel):
    """How a book is built."""

    book: str
    title: str
    revision: str
    chapters: int
    entries: list[TocEntry]
    figures: list[Listed]
    definitions: list[Listed]


class PassageText(WireModel):
    """One passage of a section."""

    chunk_id: str
    text: str
    heading: str
    """Part, chapter and headings that it stands under."""
    url: str
    source_file: str
    chunk_index: int
    """Position among the passages of its page, from 1."""
    role: Literal["text", "exercises", "solutions", "glossary", "figure"]
    piece: str
    """Which piece of a long table, list or code block it is, as `2/3`; empty if it is whole."""


class SectionText(WireModel):
    """A section and all below it, to read."""

    id: str
    title: str
    url: str
    above: list[str]
    """Ids of the headings that it stands under, the outermost first."""
    previous: str | None
    """Id of what comes before it."""
    next: str | None
    """Id of what comes after it and all below it."""
    start: int
    """Which of its passages the first one given is, from 1."""
    total: int
    passages: list[PassageText]


def toc_router(library: BaseLibrary) -> APIRouter:
    """Make the routes below `/books/{book}`."""
    router = APIRouter(tags=["books"], dependencies=[require_scope("ask")])

    async def opened(request: Request, book: str) -> Index:
        return await asyncio.to_thread(library.open, requested_book(request, book))

    @router.get("/books/{book}/toc")
    async def table_of_contents(
        book: str, request: Request, depth: Annotated[int, Query(ge=0, le=20)] = 20
    ) -> TableOfContents:
        """Show how a book is built; `depth` levels below its parts or chapters."""
        return await asyncio.to_thread(_contents, await opened(request, book), depth)

    @router.get("/books/{book}/sections/{section:path}")
    async def read_section(
        book: str,
        section: str,
        request: Request,
        start: Annotated[int, Query(ge=1)] = 1,
        limit: Annotated[int, Query(ge=1, le=100)] = SECTION_PAGE_SIZE,
    ) -> SectionText:
        """Read a section by its id or its title, with all below it."""
        index = await opened(request, book)
        return section_text(
            await asyncio.to_thread(open_section, index, section, start=start, limit=limit)
        )

    @router.get("/books/{book}/passages/{chunk_id}")
    async def read_around(
        book: str,
        chunk_id: str,
        request: Request,
        around: Annotated[int, Query(ge=0, le=20)] = 1,
    ) -> list[PassageText]:
        """Read a passage with those before and after it, in reading order."""
        index = await opened(request, book)
        chunks = await asyncio.to_thread(index.neighbours, chunk_id, around)
        if not chunks:
            raise UnknownPage(f"The book {book!r} has no passage {chunk_id!r}.")
        return [_passage(chunk) for chunk in chunks]

    return router


def _contents(index: Index, depth: int) -> TableOfContents:
    contents = index.contents
    return TableOfContents(
        book=index.book,
        title=index.title,
        revision=index.revision,
        chapters=sum(page.kind == "chapter" for page in pages_of(contents)),
        entries=[_entry(heading, depth) for heading in contents.headings],
        figures=[_excerpt_to_wire(one) for one in contents.figures],
        definitions=[_excerpt_to_wire(one) for one in contents.definitions],
    )


def section_text(opened: OpenedSection) -> SectionText:
    """Write some of a section's passages."""
    entry = opened.entry
    return SectionText(
        id=entry.heading.id,
        title=entry.heading.title,
        url=entry.heading.url,
        above=[one.id for one in entry.ancestors],
        previous=entry.previous.id if entry.previous else None,
        next=entry.next.id if entry.next else None,
        start=opened.start,
        total=opened.total,
        passages=[_passage(chunk) for chunk in opened.passages],
    )


def _entry(heading: Heading, depth: int) -> TocEntry:
    return TocEntry(
        id=heading.id,
        kind=heading.kind,
        title=heading.title,
        number=heading.number,
        url=heading.url,
        source_file=heading.source_file,
        position=heading.position,
        chunk_ids=list(heading.chunks),
        children=[_entry(child, depth - 1) for child in (heading.children if depth else ())],
    )


def _excerpt_to_wire(excerpt: Excerpt) -> Listed:
    return Listed(
        text=excerpt.text,
        chunk_id=excerpt.chunk_id,
        start=excerpt.start,
        end=excerpt.end,
        url=excerpt.url,
    )


def _passage(chunk: Chunk) -> PassageText:
    return PassageText(
        chunk_id=chunk.id,
        text=chunk.text,
        heading=chunk.heading,
        url=chunk.url,
        source_file=chunk.source_file,
        chunk_index=chunk.sequence,
        role=chunk.role,
        piece=chunk.piece,
    )
