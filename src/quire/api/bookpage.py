"""One page of a book as HTML, for the page at `/` and for citations to point into."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from quire.api.booklinks import BookLinks, Link, safe_href
from quire.domain import Chunk
from quire.prose.plain import unreferenced

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
        tokens = markdown.parse(unreferenced(chunk.text, footnotes=True), env)
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
