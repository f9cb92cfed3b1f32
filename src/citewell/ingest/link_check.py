"""Find broken links between the pages of a book, and drop unsafe ones.

Authors link to the path of a source file or to a URL of the built site, so a link is looked up as
both. Links that leave the book are not checked.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import commonpath, dirname, join, normpath
from urllib.parse import unquote, urljoin, urlsplit

from citewell.domain import Block, Book, BrokenLink, Page, Section, SkippedFile
from citewell.ingest.formats.base import is_allowed_path
from citewell.ingest.formats.time_limit import check_time_limit, skip_on_error
from citewell.text.sanitize import is_unsafe, is_web_address

_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_LINK = re.compile(
    r"(?<!\\)\]\(\s*<?(?![\"'])([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s[^()]*)?\)"
)
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*<?([^\s<>]+)>?", re.M)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?^[ \t]*\1", re.M | re.S)
_HEADING = re.compile(r"^[ \t>]*#{1,6}[ \t]+(.+)$", re.M)
_ID_DEFINITION = (
    # Attributes and options, attribute lists, MyST and rst targets, and table rows that begin with
    # code: `<APITable>` of Docusaurus gives such a row the id of its first cell.
    r"""\b(?:id|name|label)[ \t]*[=:]+[ \t]*[\\"']*|\{[^{}\n]*\#|^[ \t"]*\(|\.\.[ ]_|^\|[ \t]*`"""
)
_GENERATED_ID = re.compile(r"[^\w-]|^_|^(?:user-content-)?(?:fn|fnref|footnote(?:-ref\w*)?)-")
_MARKDOWN = (".md", ".mdx", ".markdown")
_PAGE_SUFFIXES = (*_MARKDOWN, ".rst", ".ipynb", ".html", ".htm", ".xhtml")
_VERBATIM = ("code", "math")


@dataclass(slots=True)
class _PageLookup:
    files: dict[str, Page] = field(default_factory=dict)
    urls: dict[str, Page] = field(default_factory=dict)
    site_prefixes: set[str] = field(default_factory=set)
    """Host and first path segment of the pages' URLs; any other prefix is another site."""
    common_folder: str = ""
    """The innermost folder that contains all pages."""


def find_broken_links(
    book: Book, files: Mapping[str, Path], skipped: list[SkippedFile] | None = None
) -> tuple[BrokenLink, ...]:
    """Return the links to pages or headings that the book does not have.

    `files` maps page sources to their files, if they have any. Pages that exceed the time limit
    are added to `skipped`.
    """
    lookup = _index_pages(book)
    broken: dict[BrokenLink, None] = dict.fromkeys(book.broken_links)
    for page in book.pages:
        unchecked: list[SkippedFile] = []
        with skip_on_error(page.source, unchecked, "links"):
            check_time_limit()
            for target in dict.fromkeys(_targets(page, files.get(page.source))):
                if reason := _why_broken(page, target, lookup, files):
                    broken[BrokenLink(source=page.source, target=target, reason=reason)] = None
        if skipped is not None:
            skipped += [
                replace(s, reason=f"its links are not checked: {s.reason}") for s in unchecked
            ]
    return tuple(broken)


def _index_pages(book: Book) -> _PageLookup:
    folders = [f"/{dirname(page.source)}" for page in book.pages]
    lookup = _PageLookup(common_folder=commonpath(folders)[1:] if folders else "")
    for page in book.pages:
        lookup.files[normpath(page.source)] = page
        lookup.files.setdefault(_canonical(normpath(page.source)), page)
        lookup.urls[_canonical(page.url)] = page
        lookup.site_prefixes.add(_site_prefix(page.url))
    return lookup


def _canonical(url: str) -> str:
    """Return a URL or path without query, page suffix, index name and trailing slash."""
    url = unquote(url.partition("#")[0].partition("?")[0]).rstrip("/")
    stem = next((url.removesuffix(end) for end in _PAGE_SUFFIXES if url.endswith(end)), url)
    return re.sub(r"(?:^|/)(?:index|README)$", "", stem)


def _site_prefix(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}/{parts.path.strip('/').partition('/')[0]}"


def _targets(page: Page, file: Path | None) -> Iterator[str]:
    for section in page.sections:
        for block in section.blocks:
            if block.kind not in _VERBATIM:
                text = _IMAGE.sub("", _CODE.sub("", _FENCE.sub("", block.text)))
                yield from _LINK.findall(text)
    if file and file.suffix in _MARKDOWN:
        # Link reference definitions are not part of the page's blocks.
        yield from _DEFINITION.findall(_FENCE.sub("", _read_source(file)))


def _read_source(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace") if is_allowed_path(file) else ""
    except OSError:
        return ""


def _why_broken(
    page: Page, target: str, lookup: _PageLookup, files: Mapping[str, Path]
) -> str | None:
    """Return why a link is broken; `None` if it is not or if it leaves the book."""
    path, _, anchor = target.partition("#")
    target_page = _find_page(page, path, lookup) if path else page
    if target_page is None:
        return None if _is_external(page, path, lookup) else "there is no such page"
    anchor = unquote(anchor.partition(":~:")[0])
    if not anchor or "page=" in anchor:
        return None
    if _has_anchor(target_page, anchor, files.get(target_page.source)):
        return None
    return "there is no such heading"


def _find_page(page: Page, path: str, lookup: _PageLookup) -> Page | None:
    scheme = urlsplit(path).scheme
    if not scheme and not path.startswith("//"):
        relative = unquote(path).lstrip("/")
        for folder in (dirname(page.source), lookup.common_folder, ""):
            file = normpath(join(folder, relative))
            if match := lookup.files.get(file) or lookup.files.get(_canonical(file)):
                return match
    return lookup.urls.get(_canonical(urljoin(page.url, path)))


def _is_external(page: Page, path: str, lookup: _PageLookup) -> bool:
    parts = urlsplit(path)
    suffix = Path(unquote(parts.path)).suffix
    if suffix and suffix not in _PAGE_SUFFIXES and not re.fullmatch(r"\.\d.*", suffix):
        return True  # an image, a program, an archive
    if parts.scheme or parts.netloc or path.startswith("/"):
        prefix = _site_prefix(urljoin(page.url, path))
        return prefix not in lookup.site_prefixes or not parts.path.strip("/")
    file = normpath(join(dirname(page.source), unquote(parts.path)))
    folder = f"{lookup.common_folder}/" if lookup.common_folder else ""
    return not f"{file}/".startswith(folder) or file[:2] == ".."


def _has_anchor(page: Page, anchor: str, file: Path | None) -> bool:
    if page.ids is not None:
        return anchor in page.ids
    # Ids of footnotes, tabs and versions come from extensions and themes and cannot be checked.
    if _GENERATED_ID.search(anchor) or any(section.anchor == anchor for section in page.sections):
        return True
    # A heading without text below it is no section, but is in the `path` of its subsections.
    wanted = _letters_only(anchor)
    if any(_letters_only(heading) == wanted for s in page.sections for heading in s.path):
        return True
    if file is None or not page.sections:
        return not page.sections
    source = _read_source(file)
    if any(_letters_only(heading) == wanted for heading in _HEADING.findall(source)):
        return True
    definition = rf"(?:{_ID_DEFINITION}){re.escape(anchor)}(?![\w-])"
    return re.search(definition, source, re.M) is not None


def _letters_only(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


_TARGET = re.compile(
    # In an inline link, or in a link reference definition.
    r"((?<!\\)\]\([ \t\n]{0,20}<?|^[ >\t]{0,20}\[[^\]\n]{1,500}\]:[ \t]{0,20}<?)"
    r"([^\s()<>]{1,4000}(?:\([^()\s]{0,1000}\)[^\s()<>]{0,1000}){0,20})",
    re.M,
)
_AUTOLINK = re.compile(r"<([a-z]{3,12}:[^\s<>]{1,4000})>", re.I)


def drop_unsafe_links(book: Book) -> Book:
    """Drop links that would run scripts or open local files, and report each."""
    skipped: list[SkippedFile] = []
    pages = tuple(_drop_from_page(page, skipped) for page in book.pages)
    return replace(book, pages=pages, skipped=(*book.skipped, *dict.fromkeys(skipped)))


def _drop_from_page(page: Page, skipped: list[SkippedFile]) -> Page:
    url = page.url
    if not is_web_address(url):
        url = ""
        _report(page.source, "its URL", page.url, skipped)

    def drop_from_block(block: Block) -> Block:
        if block.kind in _VERBATIM or ":" not in block.text:
            return block
        return Block(kind=block.kind, text=_drop_unsafe(block.text, page.source, skipped))

    return replace(
        page,
        url=url,
        sections=tuple(
            Section(path=s.path, anchor=s.anchor, blocks=tuple(map(drop_from_block, s.blocks)))
            for s in page.sections
        ),
    )


def _drop_unsafe(text: str, source: str, skipped: list[SkippedFile]) -> str:
    def replace_target(match: re.Match[str]) -> str:
        if not is_unsafe(match[2]):
            return match[0]
        _report(source, "a link", match[2], skipped)
        return match[1]

    def replace_autolink(match: re.Match[str]) -> str:
        if not is_unsafe(match[1]):
            return match[0]
        _report(source, "a link", match[1], skipped)
        return f"`{match[1]}`"

    return _AUTOLINK.sub(replace_autolink, _TARGET.sub(replace_target, text))


def _report(source: str, subject: str, url: str, skipped: list[SkippedFile]) -> None:
    shown = url if len(url) <= 40 else f"{url[:40]}…"  # noqa: PLR2004
    reason = f"{subject} was dropped because it is not a web address: {shown}"
    skipped.append(SkippedFile(source=source, reason=reason, failed=False))
