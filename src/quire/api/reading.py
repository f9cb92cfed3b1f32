"""The books themselves: what there is, and each page to read where a citation points."""

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from quire.api.booklinks import BookLinks
from quire.api.bookpage import render_page
from quire.api.callers import book_for, caller_of
from quire.api.door import needs
from quire.errors import AnswerTimedOut, UnknownPage
from quire.index.shelf import Shelf

READING_POLICY = "default-src 'none'; style-src 'self'; form-action 'none'"
RENDER_SECONDS = 30.0
"""How long one page may take to become HTML."""


class BookSummary(BaseModel):
    """One book of the service."""

    book: str
    title: str
    kind: str
    pages: int
    chunks: int
    revision: str


def reading_router(library: Shelf) -> APIRouter:
    """Make `/books` and the reading pages below `/read`."""
    router = APIRouter(tags=["books"], dependencies=[needs("ask")])

    @router.get("/books")
    async def list_books(request: Request) -> list[BookSummary]:
        """List the books that can be asked about."""
        mine = caller_of(request).books
        manifests = await asyncio.to_thread(library.books)
        return [
            BookSummary(
                book=m.book,
                title=m.title,
                kind=m.kind,
                pages=m.pages,
                chunks=m.chunks,
                revision=m.revision,
            )
            for m in manifests
            if not mine or m.book in mine
        ]

    @router.get("/read/{book}/{source_file:path}", response_class=HTMLResponse)
    async def read_page(book: str, source_file: str, request: Request) -> HTMLResponse:
        """Show one page of a book, for citations to point into."""
        named = book_for(request, book)
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                page = await asyncio.to_thread(_page, library, named, source_file)
        except TimeoutError as error:
            raise AnswerTimedOut("The page takes too long to show.") from error
        return HTMLResponse(page, headers={"Content-Security-Policy": READING_POLICY})

    return router


def _page(library: Shelf, book: str | None, source_file: str) -> str:
    index = library.open(book)
    chunks = index.page(source_file)
    if not chunks:
        raise UnknownPage(f"The book {index.book!r} has no page {source_file!r}.")
    return render_page(chunks, BookLinks(index.contents))
