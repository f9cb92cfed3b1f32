"""The list of books, and their pages as HTML for citations to link to."""

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

PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'none';"
    " frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
}
RENDER_SECONDS = 30.0
"""How long one page may take to become HTML."""


class BookSummary(BaseModel):
    """A book of the service."""

    book: str
    title: str
    kind: str
    pages: int
    chunks: int
    revision: str


def books_router(library: BaseLibrary) -> APIRouter:
    """Return the router of `/books` and `/read`."""
    router = APIRouter(tags=["books"], dependencies=[require_scope("ask")])

    @router.get("/books")
    async def list_books(request: Request) -> list[BookSummary]:
        """List the available books."""
        allowed = caller_of(request).books
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
            if not allowed or m.book in allowed
        ]

    @router.get("/read/{book}/{source_file:path}", response_class=HTMLResponse)
    async def read_page(book: str, source_file: str, request: Request) -> HTMLResponse:
        """Return a page of a book as HTML."""
        name = requested_book(request, book)
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                page = await asyncio.to_thread(_render, library, name, source_file)
        except TimeoutError as error:
            raise AnswerTimedOut("The page takes too long to render.") from error
        return HTMLResponse(page, headers=PAGE_HEADERS)

    return router


def _render(library: BaseLibrary, book: str | None, source_file: str) -> str:
    index = library.open(book)
    chunks = index.page(source_file)
    if not chunks:
        raise UnknownPage(f"The book {index.book!r} has no page {source_file!r}.")
    return render_page(chunks, BookLinks(index.contents))


LinkKind = Literal["page", "external", "broken"]
_SAFE_SCHEMES = ("http", "https", "mailto")
_PATHNAME = "pathname://"
"""The Docusaurus prefix for paths of the site that are not pages of the docs."""
_EXTENSION = re.compile(r"\.(?:mdx?|markdown|rst|ipynb|x?html?)$")
_INDEX = re.compile(r"(?:^|/)(?:index|README)$", re.I)


@dataclass(frozen=True, slots=True)
class Link:
    """The target of a link."""

    kind: LinkKind
    href: str = ""
    """For `external`, the URL; for `broken`, the link as written."""
    file: str = ""
    """For `page`, its source file."""
    anchor: str = ""


class BookLinks:
    """Resolves links between pages, which authors write as file paths or as URLs of the site."""

    def __init__(self, contents: Contents) -> None:
        """Collect the source file and the URL of every page."""
        pages = {
            heading.source_file: heading.url for heading in contents.walk() if heading.source_file
        }
        self._files: dict[str, str] = {}
        self._files_by_url: dict[str, str] = {}
        for file, url in pages.items():
            self._files[normpath(file)] = file
            self._files.setdefault(_strip_address(normpath(file)), file)
            self._files_by_url.setdefault(_strip_address(url), file)
        self._urls = {file: url.partition("#")[0] for file, url in pages.items()}
        self._common_folder = _common_folder(pages)

    def resolve(self, href: str, source_file: str) -> Link:
        """Return the target of a link on a page."""
        href = href.removeprefix(_PATHNAME)
        parts = urlsplit(href)
        # Ingest removed links with unsafe schemes.
        if not href or (parts.scheme and parts.scheme.lower() not in _SAFE_SCHEMES):
            return Link("broken", href)
        path, _, anchor = href.partition("#")
        file = self._find(path, source_file) if path else source_file
        if file is not None:
            return Link("page", file=file, anchor=unquote(anchor))
        published = urljoin(self._urls.get(source_file, ""), href)
        return Link("external", published) if urlsplit(published).scheme else Link("broken", href)

    def _find(self, path: str, source_file: str) -> str | None:
        if not urlsplit(path).scheme and not path.startswith("//"):
            relative = unquote(path.partition("?")[0])
            own_folder = () if relative.startswith("/") else (dirname(source_file),)
            for folder in (*own_folder, self._common_folder, ""):
                candidate = normpath(join(folder, relative.lstrip("/")))
                if file := self._files.get(candidate) or self._files.get(_strip_address(candidate)):
                    return file
        return self._files_by_url.get(
            _strip_address(urljoin(self._urls.get(source_file, ""), path))
        )


def safe_href(url: str) -> str:
    """Return the URL, or an empty string if its scheme is unsafe."""
    scheme = urlsplit(url.strip()).scheme.lower()
    return url if not scheme or scheme in _SAFE_SCHEMES else ""


def _strip_address(address: str) -> str:
    """Return a URL or path without query, fragment, extension and index file."""
    stem = unquote(address.partition("#")[0].partition("?")[0]).rstrip("/")
    return _INDEX.sub("", _EXTENSION.sub("", stem))


def _common_folder(files: Iterable[str]) -> str:
    folders = [f"/{dirname(file)}" for file in files]
    return commonpath(folders)[1:] if folders else ""


_ADMONITION_TITLE = re.compile(r"(?P<kind>[\w-]*)\s*(?:\[(?P<title>[^\]]*)\]|(?P<text>.*))$")


def render_page(chunks: Sequence[Chunk], links: BookLinks) -> str:
    """Render a page from its passages; HTML in the book's text is escaped."""
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
        _resolve_links(tokens, chunk, links)
        parts.append(_make_scrollable(markdown.renderer.render(tokens, markdown.options, env)))
    url = safe_href(chunks[0].url.partition("#")[0])
    published = (
        f' · <a href="{escape(url, quote=True)}" target="_blank" rel="noopener">Published page</a>'
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/book.css"></head>'
        f'<body class="book"><main>{"".join(parts)}</main><footer><p>'
        f'<a href="/">Ask the book</a>{published if url else ""}'
        "</p></footer></body></html>"
    )


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # The index has no images, only their alternative texts.
    markdown.add_render_rule("image", _render_picture)
    markdown.use(footnote_plugin)
    # Formulas are not rendered, only marked with a class.
    markdown.use(dollarmath_plugin, allow_space=False, allow_digits=False)
    markdown.use(container_plugin, "note", validate=lambda *_: True, render=_render_admonition)
    return markdown


def _resolve_links(tokens: Sequence[Token], chunk: Chunk, links: BookLinks) -> None:
    for token in tokens:
        _resolve_links(token.children or (), chunk, links)
        if token.type == "link_open":
            link = links.resolve(str(token.attrs.get("href", "")), chunk.source_file)
            token.attrs = _link_attributes(link, chunk)


def _link_attributes(link: Link, chunk: Chunk) -> dict[str, str | int | float]:
    anchor = f"#{quote(link.anchor)}" if link.anchor else ""
    match link.kind:
        case "page" if link.file == chunk.source_file and anchor:
            return {"href": anchor, "data-page": link.file}
        case "page":
            path = f"/read/{quote(chunk.book)}/{quote(link.file)}{anchor}"
            return {"href": path, "data-page": link.file}
        case "external":
            return {"href": link.href, "target": "_blank", "rel": "noopener"}
        case "broken":
            return {"title": f"Not in this book: {link.href}"}


def _make_scrollable(rendered: str) -> str:
    """Make wide elements focusable, so that they can be scrolled with the keyboard."""
    # HTML in the book's text is escaped, so these tags are from the renderer.
    return re.sub(r'<(pre|table|div class="math block")>', r'<\1 tabindex="0">', rendered)


def _render_picture(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    alt_text = tokens[index].content
    return f'<span class="picture">{escape(alt_text)}</span>' if alt_text else ""


def _render_admonition(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    if tokens[index].nesting != 1:
        return "</aside>\n"
    match = _ADMONITION_TITLE.match(tokens[index].info.strip())
    type_name = match["kind"] if match else ""
    title = ((match["title"] or match["text"]) if match else "") or type_name.capitalize()
    heading = f'<p class="kind">{escape(title.strip())}</p>\n' if title.strip() else ""
    return f'<aside class="{escape(type_name, quote=True)}">\n{heading}'
