"""The books themselves: what there is, and each page to read where a citation points."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from posixpath import commonpath, dirname, join, normpath
from typing import Any, Literal
from urllib.parse import quote, unquote, urljoin, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pydantic import BaseModel

from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import caller_of, requested_book
from citewell.domain import Chunk, Contents
from citewell.errors import AnswerTimedOut, UnknownPage
from citewell.index.library import BaseLibrary
from citewell.text.plain_text import detach_from_page

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


def pages_router(library: BaseLibrary) -> APIRouter:
    """Make `/books` and the reading pages below `/read`."""
    router = APIRouter(tags=["books"], dependencies=[require_scope("ask")])

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
        named = requested_book(request, book)
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                page = await asyncio.to_thread(_page, library, named, source_file)
        except TimeoutError as error:
            raise AnswerTimedOut("The page takes too long to show.") from error
        return HTMLResponse(page, headers={"Content-Security-Policy": READING_POLICY})

    return router


def _page(library: BaseLibrary, book: str | None, source_file: str) -> str:
    index = library.open(book)
    chunks = index.page(source_file)
    if not chunks:
        raise UnknownPage(f"The book {index.book!r} has no page {source_file!r}.")
    return render_page(chunks, BookLinks(index.contents))


LinkKind = Literal["page", "away", "broken"]
_SAFE = ("http", "https", "mailto")
_PATHNAME = "pathname://"
"""What Docusaurus takes for a path of the site that is no page of the docs."""
_ENDINGS = re.compile(r"\.(?:mdx?|markdown|rst|ipynb|x?html?)$")
_INDEX = re.compile(r"(?:^|/)(?:index|README)$", re.I)


@dataclass(frozen=True, slots=True)
class Link:
    """Where one link leads."""

    kind: LinkKind
    href: str = ""
    """The address to follow, for what leads away; for what is broken, as it is written."""
    file: str = ""
    """Source file of the page, for what stays in the book."""
    anchor: str = ""


class BookLinks:
    """The pages of a book, by the names that its authors link them by.

    Authors write the path of a file or the address that it has on the built site.
    """

    def __init__(self, contents: Contents) -> None:
        """Note the source file and the address of every page."""
        pages = {one.source_file: one.url for one in contents.walk() if one.source_file}
        self._files: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        for file, url in pages.items():
            self._files[normpath(file)] = file
            self._files.setdefault(_bare(normpath(file)), file)
            self._addresses.setdefault(_bare(url), file)
        self._urls = {file: url.partition("#")[0] for file, url in pages.items()}
        self._root = _root(pages)

    def resolve(self, href: str, source_file: str) -> Link:
        """Return where a link on a page leads."""
        href = href.removeprefix(_PATHNAME)
        parts = urlsplit(href)
        # An address that could run a program was left out when the book was read.
        if not href or (parts.scheme and parts.scheme.lower() not in _SAFE):
            return Link("broken", href)
        path, _, anchor = href.partition("#")
        file = self._find(path, source_file) if path else source_file
        if file is not None:
            return Link("page", file=file, anchor=unquote(anchor))
        published = urljoin(self._urls.get(source_file, ""), href)
        return Link("away", published) if urlsplit(published).scheme else Link("broken", href)

    def _find(self, path: str, source_file: str) -> str | None:
        if not urlsplit(path).scheme and not path.startswith("//"):
            named = unquote(path.partition("?")[0])
            beside = () if named.startswith("/") else (dirname(source_file),)
            for folder in (*beside, self._root, ""):
                below = normpath(join(folder, named.lstrip("/")))
                if found := self._files.get(below) or self._files.get(_bare(below)):
                    return found
        return self._addresses.get(_bare(urljoin(self._urls.get(source_file, ""), path)))


def safe_href(url: str) -> str:
    """Return an address that may be followed; of one that could run a program, nothing."""
    scheme = urlsplit(url.strip()).scheme.lower()
    return url if not scheme or scheme in _SAFE else ""


def _bare(address: str) -> str:
    """Return an address or path without what sites add to it or leave out."""
    stem = unquote(address.partition("#")[0].partition("?")[0]).rstrip("/")
    return _INDEX.sub("", _ENDINGS.sub("", stem))


def _root(files: Iterable[str]) -> str:
    """Return the folder that all pages stand in."""
    folders = [f"/{dirname(file)}" for file in files]
    return commonpath(folders)[1:] if folders else ""


_NOTE = re.compile(r"(?P<kind>[\w-]*)\s*(?:\[(?P<title>[^\]]*)\]|(?P<said>.*))$")


def render_page(chunks: Sequence[Chunk], links: BookLinks) -> str:
    """Render a page from its passages; markup in the book's text stays text."""
    markdown = _markdown()
    title = escape(chunks[0].chapter)
    parts = [f"<h1>{title}</h1>"]
    path: tuple[str, ...] = (chunks[0].chapter,)
    for chunk in chunks:
        if chunk.path != path and len(chunk.path) > 1:
            anchor = escape(chunk.url.partition("#")[2], quote=True)
            level = min(len(chunk.path), 6)
            parts.append(f'<h{level} id="{anchor}">{escape(chunk.path[-1])}</h{level}>')
        path = chunk.path
        env: dict[str, Any] = {"docId": chunk.sequence}
        tokens = markdown.parse(detach_from_page(chunk.text, footnotes=True), env)
        _lead(tokens, chunk, links)
        parts.append(_scrolling(markdown.renderer.render(tokens, markdown.options, env)))
    published = safe_href(chunks[0].url.partition("#")[0])
    elsewhere = (
        f' · <a href="{escape(published, quote=True)}" target="_blank" rel="noopener">'
        "Published page</a>"
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/book.css"></head>'
        f'<body class="book"><main>{"".join(parts)}</main><footer><p>'
        f'<a href="/">Ask the book</a>{elsewhere if published else ""}'
        "</p></footer></body></html>"
    )


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Pictures are not part of the index: their descriptions stand for them.
    markdown.add_render_rule("image", _render_picture)
    markdown.use(footnote_plugin)
    # As it is written; who can draw formulas finds them by their class.
    markdown.use(dollarmath_plugin, allow_space=False, allow_digits=False)
    markdown.use(container_plugin, "note", validate=lambda *_: True, render=_render_admonition)
    return markdown


def _lead(tokens: Sequence[Token], chunk: Chunk, links: BookLinks) -> None:
    """Let every link of a passage lead where it led on the site."""
    for token in tokens:
        _lead(token.children or (), chunk, links)
        if token.type == "link_open":
            found = links.resolve(str(token.attrs.get("href", "")), chunk.source_file)
            token.attrs = _attributes(found, chunk)


def _attributes(link: Link, chunk: Chunk) -> dict[str, str | int | float]:
    anchor = f"#{quote(link.anchor)}" if link.anchor else ""
    match link.kind:
        case "page" if link.file == chunk.source_file and anchor:
            return {"href": anchor, "data-page": link.file}
        case "page":
            address = f"/read/{quote(chunk.book)}/{quote(link.file)}{anchor}"
            return {"href": address, "data-page": link.file}
        case "away":
            return {"href": link.href, "target": "_blank", "rel": "noopener"}
        case "broken":
            return {"title": f"Not in this book: {link.href}"}


def _scrolling(rendered: str) -> str:
    """Let what is wider than the page be scrolled without a mouse."""
    # Markup of the book's own is escaped, so these are ours.
    return re.sub(r'<(pre|table|div class="math block")>', r'<\1 tabindex="0">', rendered)


def _render_picture(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    described = tokens[place].content
    return f'<span class="picture">{escape(described)}</span>' if described else ""


def _render_admonition(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    if tokens[place].nesting != 1:
        return "</aside>\n"
    found = _NOTE.match(tokens[place].info.strip())
    kind = found["kind"] if found else ""
    title = ((found["title"] or found["said"]) if found else "") or kind.capitalize()
    named = f'<p class="kind">{escape(title.strip())}</p>\n' if title.strip() else ""
    return f'<aside class="{escape(kind, quote=True)}">\n{named}'
