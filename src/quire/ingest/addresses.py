"""Addresses that a book gives its pages and links, as far as a reader may follow them."""

import re
from dataclasses import replace

from quire.domain import Block, Book, Page, Section, Skipped
from quire.prose.addresses import is_harmful, is_web_address

_TARGET = re.compile(
    # Behind a label, or where a page keeps the targets of its links apart.
    r"((?<!\\)\]\([ \t\n]{0,20}<?|^[ >\t]{0,20}\[[^\]\n]{1,500}\]:[ \t]{0,20}<?)"
    r"([^\s()<>]{1,4000}(?:\([^()\s]{0,1000}\)[^\s()<>]{0,1000}){0,20})",
    re.M,
)
_AUTOLINK = re.compile(r"<([a-z]{3,12}:[^\s<>]{1,4000})>", re.I)


def with_web_addresses(book: Book) -> Book:
    """Return the book without addresses that run scripts or open files; each is reported."""
    skipped: list[Skipped] = []
    pages = tuple(_page(page, skipped) for page in book.pages)
    return replace(book, pages=pages, skipped=(*book.skipped, *dict.fromkeys(skipped)))


def _page(page: Page, skipped: list[Skipped]) -> Page:
    url = page.url
    if not is_web_address(url):
        url = ""
        _report(page.source, "its address", page.url, skipped)

    def text(block: Block) -> Block:
        if block.kind in ("code", "math") or ":" not in block.text:
            return block
        return Block(kind=block.kind, text=_harmless(block.text, page.source, skipped))

    return replace(
        page,
        url=url,
        sections=tuple(
            Section(path=s.path, anchor=s.anchor, blocks=tuple(text(b) for b in s.blocks))
            for s in page.sections
        ),
    )


def _harmless(text: str, source: str, skipped: list[Skipped]) -> str:
    def target(found: re.Match[str]) -> str:
        if not is_harmful(found[2]):
            return found[0]
        _report(source, "a link", found[2], skipped)
        return found[1]

    def autolink(found: re.Match[str]) -> str:
        if not is_harmful(found[1]):
            return found[0]
        _report(source, "a link", found[1], skipped)
        return f"`{found[1]}`"

    return _AUTOLINK.sub(autolink, _TARGET.sub(target, text))


def _report(source: str, what: str, address: str, skipped: list[Skipped]) -> None:
    short = address if len(address) <= 40 else f"{address[:40]}…"  # noqa: PLR2004
    reason = f"{what} is not one that a web page can have: {short}"
    skipped.append(Skipped(source=source, reason=reason, failed=False))
