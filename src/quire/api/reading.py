"""The books themselves: what there is, and each page to read where a citation points."""

import asyncio
import re
from collections.abc import Sequence
from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pydantic import BaseModel

from quire.api.callers import book_for, caller_of
from quire.api.door import needs
from quire.domain import Chunk
from quire.errors import AnswerTimedOut, UnknownPage
from quire.index.shelf import Shelf

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
        chunks = await asyncio.to_thread(lambda: library.open(named).page(source_file))
        if not chunks:
            raise UnknownPage(f"The book {book!r} has no page {source_file!r}.")
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                page = await asyncio.to_thread(render_page, chunks)
        except TimeoutError as error:
            raise AnswerTimedOut("The page takes too long to show.") from error
        policy = "default-src 'none'; style-src 'self'; form-action 'none'"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    return router


def render_page(chunks: list[Chunk]) -> str:
    """Render a page from its passages; markup in the book's text stays text."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.disable("image")
    markdown.use(footnote_plugin)
    # As it is written; who can draw formulas finds them by their class.
    markdown.use(dollarmath_plugin, allow_space=False, allow_digits=False)
    markdown.use(container_plugin, "note", validate=lambda *_: True, render=_render_admonition)
    title = escape(chunks[0].chapter)
    parts = [f"<h1>{title}</h1>"]
    path: tuple[str, ...] = (chunks[0].chapter,)
    for chunk in chunks:
        if chunk.path != path and len(chunk.path) > 1:
            anchor = escape(chunk.url.partition("#")[2], quote=True)
            level = min(len(chunk.path), 6)
            parts.append(f'<h{level} id="{anchor}">{escape(chunk.path[-1])}</h{level}>')
        path = chunk.path
        parts.append(_scrolling(markdown.render(chunk.text)))
    published = escape(chunks[0].url.partition("#")[0], quote=True)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/book.css"></head>'
        f'<body class="book"><main>{"".join(parts)}</main><footer><p>'
        f'<a href="/">Ask the book</a> · <a href="{published}">Published page</a>'
        "</p></footer></body></html>"
    )


def _scrolling(rendered: str) -> str:
    """Let what is wider than the page be scrolled without a mouse."""
    # Markup of the book's own is escaped, so these are ours.
    return re.sub(r'<(pre|table|div class="math block")>', r'<\1 tabindex="0">', rendered)


def _render_admonition(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    return "<aside>\n" if tokens[place].nesting == 1 else "</aside>\n"
