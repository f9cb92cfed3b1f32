"""The routes of a book's contents, sections and passages."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import requested_book
from citewell.api.schemas import WireModel
from citewell.domain import Chunk, Excerpt, Heading
from citewell.errors import UnknownPage
from citewell.index.library import BaseLibrary
from citewell.ports import Index
from citewell.questions.toc import SECTION_PAGE_SIZE, OpenedSection, open_section, pages_of


class TocEntry(WireModel):
    """An entry of the table of contents."""

    id: str
    """The section's id for `/books/{book}/sections/{id}`."""
    kind: Literal["part", "chapter", "page", "section"]
    """`page` is a page outside the chapters, such as a preface."""
    title: str
    number: int | None
    """A chapter's number."""
    url: str
    """URL of the heading on the published site."""
    source_file: str
    position: int
    """Position of its first passage in the book, from 1."""
    chunk_ids: list[str]
    """The passages between this heading and the next."""
    children: list["TocEntry"]


class ExcerptItem(WireModel):
    """A figure's caption or a defined term, with its location."""

    text: str
    """The text of the passage between the offsets, byte for byte."""
    chunk_id: str
    start: int
    end: int
    url: str


class TableOfContents(WireModel):
    """The table of contents, with figures and definitions."""

    book: str
    title: str
    revision: str
    chapters: int
    entries: list[TocEntry]
    figures: list[ExcerptItem]
    definitions: list[ExcerptItem]


class PassageText(WireModel):
    """A passage of a section."""

    chunk_id: str
    text: str
    heading: str
    """Part, chapter and headings of the passage."""
    url: str
    source_file: str
    chunk_index: int
    """Position among the passages of its page, from 1."""
    role: Literal["text", "exercises", "solutions", "glossary", "figure"]
    piece: str
    """The part of a split table, list or code block, as `2/3`; empty if it is not split."""


class SectionText(WireModel):
    """The text of a section with its subsections."""

    id: str
    title: str
    url: str
    above: list[str]
    """Ids of its parent headings, outermost first."""
    previous: str | None
    """Id of the section before it."""
    next: str | None
    """Id of the section after it and its subsections."""
    start: int
    """Position of the first returned passage in the section, from 1."""
    total: int
    passages: list[PassageText]


def toc_router(library: BaseLibrary) -> APIRouter:
    """Return the router of `/books/{book}`."""
    router = APIRouter(tags=["books"], dependencies=[require_scope("ask")])

    async def open_book(request: Request, book: str) -> Index:
        return await asyncio.to_thread(library.open, requested_book(request, book))

    @router.get("/books/{book}/toc")
    async def table_of_contents(
        book: str, request: Request, depth: Annotated[int, Query(ge=0, le=20)] = 20
    ) -> TableOfContents:
        """Return the table of contents with `depth` levels below its parts or chapters."""
        return await asyncio.to_thread(_table_of_contents, await open_book(request, book), depth)

    @router.get("/books/{book}/sections/{section:path}")
    async def read_section(
        book: str,
        section: str,
        request: Request,
        start: Annotated[int, Query(ge=1)] = 1,
        limit: Annotated[int, Query(ge=1, le=100)] = SECTION_PAGE_SIZE,
    ) -> SectionText:
        """Return a section by id or title, with its subsections."""
        index = await open_book(request, book)
        return to_section_text(
            await asyncio.to_thread(open_section, index, section, start=start, limit=limit)
        )

    @router.get("/books/{book}/passages/{chunk_id}")
    async def read_around(
        book: str, chunk_id: str, request: Request, around: Annotated[int, Query(ge=0, le=20)] = 1
    ) -> list[PassageText]:
        """Return a passage with its neighbours in reading order."""
        index = await open_book(request, book)
        chunks = await asyncio.to_thread(index.neighbours, chunk_id, around)
        if not chunks:
            raise UnknownPage(f"The book {book!r} has no passage {chunk_id!r}.")
        return [_passage(chunk) for chunk in chunks]

    return router


def _table_of_contents(index: Index, depth: int) -> TableOfContents:
    contents = index.contents
    return TableOfContents(
        book=index.book,
        title=index.title,
        revision=index.revision,
        chapters=sum(page.kind == "chapter" for page in pages_of(contents)),
        entries=[_entry(heading, depth) for heading in contents.headings],
        figures=[_excerpt_to_wire(figure) for figure in contents.figures],
        definitions=[_excerpt_to_wire(definition) for definition in contents.definitions],
    )


def to_section_text(opened: OpenedSection) -> SectionText:
    """Convert the passages of a section."""
    entry = opened.entry
    return SectionText(
        id=entry.heading.id,
        title=entry.heading.title,
        url=entry.heading.url,
        above=[heading.id for heading in entry.ancestors],
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


def _excerpt_to_wire(excerpt: Excerpt) -> ExcerptItem:
    return ExcerptItem(
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
