"""Links from one page of a book to another: which of them lead nowhere?

A link is followed by the path of the file it names and by the address it has on the built site,
because authors write both. What leads out of the book is not looked at.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import commonpath, dirname, join, normpath
from urllib.parse import unquote, urljoin, urlsplit

from citewell.domain import Block, Book, BrokenLink, Page, Section, SkippedFile
from citewell.ingest.formats.base import is_inside
from citewell.ingest.formats.time_limit import check_budget, skip_on_error
from citewell.text.sanitize import is_harmful, is_web_address

_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_LINK = re.compile(
    r"(?<!\\)\]\(\s*<?(?![\"'])([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s[^()]*)?\)"
)
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*<?([^\s<>]+)>?", re.M)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?^[ \t]*\1", re.M | re.S)
_HEADING = re.compile(r"^[ \t>]*#{1,6}[ \t]+(.+)$", re.M)
_DEFINED = (
    # Attributes and options, attribute lists, MyST and rst targets, rows that a component links to.
    r"""\b(?:id|name|label)[ \t]*[=:]+[ \t]*[\\"']*|\{[^{}\n]*\#|^[ \t"]*\(|\.\.[ ]_|^\|[ \t]*`"""
)
_MADE = re.compile(r"[^\w-]|^_|^(?:user-content-)?(?:fn|fnref|footnote(?:-ref\w*)?)-")
_MARKDOWN = (".md", ".mdx", ".markdown")
_PAGES = (*_MARKDOWN, ".rst", ".ipynb", ".html", ".htm", ".xhtml")
_WRITTEN = ("code", "math")


@dataclass(slots=True)
class _PageLookup:
    """Every page of the book, by the ways a link can name it."""

    files: dict[str, Page] = field(default_factory=dict)
    addresses: dict[str, Page] = field(default_factory=dict)
    tops: set[str] = field(default_factory=set)
    """The first parts of the pages' addresses: what begins otherwise is another site."""
    root: str = ""
    """The folder that all pages stand in."""


def find_broken_links(
    book: Book, files: Mapping[str, Path], skipped: list[SkippedFile] | None = None
) -> tuple[BrokenLink, ...]:
    """Name the links to pages or headings of the book that it does not have.

    `files` are the sources of the pages, where they have files of their own. Pages whose links
    take too long to follow are noted.
    """
    shelf = _index_pages(book)
    found: dict[BrokenLink, None] = dict.fromkeys(book.broken_links)
    for page in book.pages:
        missed: list[SkippedFile] = []
        with skip_on_error(page.source, missed, "links"):
            check_budget()
            for target in dict.fromkeys(_targets(page, files.get(page.source))):
                if reason := _broken(page, target, shelf, files):
                    found[BrokenLink(source=page.source, target=target, reason=reason)] = None
        if skipped is not None:
            skipped += [replace(m, reason=f"its links are not checked: {m.reason}") for m in missed]
    return tuple(found)


def _index_pages(book: Book) -> _PageLookup:
    folders = [f"/{dirname(page.source)}" for page in book.pages]
    shelf = _PageLookup(root=commonpath(folders)[1:] if folders else "")
    for page in book.pages:
        shelf.files[normpath(page.source)] = page
        shelf.files.setdefault(_bare(normpath(page.source)), page)
        shelf.addresses[_bare(page.url)] = page
        shelf.tops.add(_top(page.url))
    return shelf


def _bare(address: str) -> str:
    """Return an address or path without what sites add to it or leave out."""
    address = unquote(address.partition("#")[0].partition("?")[0]).rstrip("/")
    stem = next((address.removesuffix(end) for end in _PAGES if address.endswith(end)), address)
    return re.sub(r"(?:^|/)(?:index|README)$", "", stem)


def _top(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}/{parts.path.strip('/').partition('/')[0]}"


def _targets(page: Page, file: Path | None) -> Iterator[str]:
    for section in page.sections:
        for block in section.blocks:
            if block.kind not in _WRITTEN:
                text = _IMAGE.sub("", _CODE.sub("", _FENCE.sub("", block.text)))
                yield from _LINK.findall(text)
    if file and file.suffix in _MARKDOWN:
        # Where a page keeps the targets of its links apart, they are no part of its text.
        yield from _DEFINITION.findall(_FENCE.sub("", _raw(file)))


def _raw(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace") if is_inside(file) else ""
    except OSError:
        return ""


def _broken(page: Page, target: str, shelf: _PageLookup, files: Mapping[str, Path]) -> str | None:
    """Return why a link leads nowhere; `None` if it does not, or leads out of the book."""
    path, _, anchor = target.partition("#")
    found = _find(page, path, shelf) if path else page
    if found is None:
        return None if _leads_out(page, path, shelf) else "there is no such page"
    anchor = unquote(anchor.partition(":~:")[0])
    if not anchor or "page=" in anchor or _has_anchor(found, anchor, files.get(found.source)):
        return None
    return "there is no such heading"


def _find(page: Page, path: str, shelf: _PageLookup) -> Page | None:
    scheme = urlsplit(path).scheme
    if not scheme and not path.startswith("//"):
        named = unquote(path)
        for folder in (dirname(page.source), shelf.root, ""):
            below = normpath(join(folder, named.lstrip("/")))
            if found := shelf.files.get(below) or shelf.files.get(_bare(below)):
                return found
    return shelf.addresses.get(_bare(urljoin(page.url, path)))


def _leads_out(page: Page, path: str, shelf: _PageLookup) -> bool:
    parts = urlsplit(path)
    suffix = Path(unquote(parts.path)).suffix
    if suffix and suffix not in _PAGES and not re.fullmatch(r"\.\d.*", suffix):
        return True  # a picture, a program, an archive
    if parts.scheme or parts.netloc or path.startswith("/"):
        return _top(urljoin(page.url, path)) not in shelf.tops or not parts.path.strip("/")
    below = normpath(join(dirname(page.source), unquote(parts.path)))
    return not f"{below}/".startswith(f"{shelf.root}/" if shelf.root else "") or below[:2] == ".."


def _has_anchor(page: Page, anchor: str, file: Path | None) -> bool:
    if page.ids is not None:
        return anchor in page.ids
    # Only an id that a heading could have is missed where no heading has it: others, as those of
    # footnotes, tabs and versions, are made by extensions and themes.
    if _MADE.search(anchor) or any(section.anchor == anchor for section in page.sections):
        return True
    # A heading with no text of its own is in the paths of those below it.
    wanted = _folded(anchor)
    if any(_folded(heading) == wanted for s in page.sections for heading in s.path):
        return True
    if file is None or not page.sections:
        return not page.sections
    raw = _raw(file)
    if any(_folded(heading) == wanted for heading in _HEADING.findall(raw)):
        return True
    written = rf"(?:{_DEFINED}){re.escape(anchor)}(?![\w-])"
    return re.search(written, raw, re.M) is not None


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


_TARGET = re.compile(
    # Behind a label, or where a page keeps the targets of its links apart.
    r"((?<!\\)\]\([ \t\n]{0,20}<?|^[ >\t]{0,20}\[[^\]\n]{1,500}\]:[ \t]{0,20}<?)"
    r"([^\s()<>]{1,4000}(?:\([^()\s]{0,1000}\)[^\s()<>]{0,1000}){0,20})",
    re.M,
)
_AUTOLINK = re.compile(r"<([a-z]{3,12}:[^\s<>]{1,4000})>", re.I)


def drop_unsafe_links(book: Book) -> Book:
    """Return the book without addresses that run scripts or open files; each is reported."""
    skipped: list[SkippedFile] = []
    pages = tuple(_page(page, skipped) for page in book.pages)
    return replace(book, pages=pages, skipped=(*book.skipped, *dict.fromkeys(skipped)))


def _page(page: Page, skipped: list[SkippedFile]) -> Page:
    url = page.url
    if not is_web_address(url):
        url = ""
        _report(page.source, "its address", page.url, skipped)

    def text(block: Block) -> Block:
        if block.kind in ("code", "math") or ":" not in block.text:
            return block
        return Block(kind=block.kind, text=_drop_unsafe(block.text, page.source, skipped))

    return replace(
        page,
        url=url,
        sections=tuple(
            Section(path=s.path, anchor=s.anchor, blocks=tuple(text(b) for b in s.blocks))
            for s in page.sections
        ),
    )


def _drop_unsafe(text: str, source: str, skipped: list[SkippedFile]) -> str:
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


def _report(source: str, what: str, address: str, skipped: list[SkippedFile]) -> None:
    short = address if len(address) <= 40 else f"{address[:40]}…"  # noqa: PLR2004
    reason = f"{what} is not one that a web page can have: {short}"
    skipped.append(SkippedFile(source=source, reason=reason, failed=False))
