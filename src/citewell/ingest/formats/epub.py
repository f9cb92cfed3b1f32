"""EPUB 2 and 3: the chapters in their reading order, under the titles of the table of contents."""

import lzma
import posixpath
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SingleFileFormat, SourceFile, check_readable, quote_path
from citewell.ingest.formats.html.tree import (
    Element,
    epub_type,
    parse_xhtml,
    parse_xml,
    tag_name,
    text_of,
)
from citewell.ingest.formats.time_limit import check_budget, skip_on_error
from citewell.options import IngestOptions

_RATIO = 200
"""Text packs ten times smaller, hardly ever more than fifty times."""
_HARMLESS = 1_000_000
_TOTAL = 1_000_000_000
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
)


class Archive:
    """The entries of a zip file by their names; nothing is ever written to disk."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            UnreadableFile: it is no zip file.
        """
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise UnreadableFile("is damaged: it is not a zip file") from error
        self._entries = {
            entry.filename: entry
            for entry in self._zip.infolist()
            if not entry.is_dir() and _stays_inside(entry.filename)
        }
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, *, limit: int, setting: str) -> bytes:
        """Unpack one entry.

        Raises:
            UnreadableFile: it is missing, damaged, locked, or larger than the `setting` allows.
        """
        check_budget()
        entry = self._entries.get(name)
        if entry is None:
            raise UnreadableFile("is missing from the file")
        if entry.flag_bits & 1:
            raise UnreadableFile("is locked with a password")
        if entry.file_size > limit:
            raise UnreadableFile(
                f"{entry.file_size / 1e6:.1f} MB is more than the limit of {limit / 1e6:g} MB"
                f" ({setting})"
            )
        try:
            with self._zip.open(entry) as data:
                # The size in the list of entries may be a lie.
                text = data.read(limit + 1)
        except _BROKEN as error:
            raise UnreadableFile("is damaged") from error
        self._measure(len(text), entry.compress_size, limit)
        return text

    def _measure(self, size: int, packed: int, limit: int) -> None:
        self._read += size
        if size > limit or (size > _HARMLESS and size > _RATIO * max(packed, 1)):
            raise UnreadableFile("unpacks to far more than its size")
        if self._read > _TOTAL:
            raise UnreadableFile(f"unpacks to more than {_TOTAL / 1e9:g} GB")


def _stays_inside(name: str) -> bool:
    return not (name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"))


def inside(base: str, href: str) -> str:
    """Return the entry that a link in the entry `base` means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), href)).lstrip("/")


_LIMIT = 20_000_000
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS_ONLY = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_TEXT = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table of contents."""

    title: str
    name: str
    fragment: str
    trail: tuple[str, ...]
    """The titles of the lines that it stands under."""


@dataclass(frozen=True, slots=True)
class Package:
    """What an EPUB says about itself."""

    title: str
    spine: tuple[str, ...]
    """The chapters by their names in the archive, in reading order."""
    contents: dict[str, list[Entry]] = field(default_factory=dict)
    """The lines of the table of contents by the chapter they lead to."""


def read_package(archive: Archive) -> Package:
    """Find the chapters, their order and their titles.

    Raises:
        UnreadableFile: it is protected, or its description is missing or damaged.
    """
    if _CONTAINER not in archive:
        raise UnreadableFile("is damaged: META-INF/container.xml is missing")
    if _is_protected(archive):
        raise UnreadableFile("is protected by DRM, so its text cannot be read")
    roots = [e.get("full-path", "") for e in _xml(archive, _CONTAINER).iter("rootfile")]
    place = next((root for root in roots if root in archive), None)
    if place is None:
        raise UnreadableFile("is damaged: it does not say what it holds")
    tree = _xml(archive, place)
    items = {e.get("id", ""): e for e in tree.iter("item")}
    names = {key: _target(place, item.get("href", ""))[0] for key, item in items.items()}
    entries = list(_contents(archive, tree, items, names))
    toc = {name for e in tree.iter("reference") if e.get("type") in ("toc", "cover")
           for name in (_target(place, e.get("href", ""))[0],)}  # fmt: skip
    by_chapter: dict[str, list[Entry]] = {}
    for entry in entries:
        by_chapter.setdefault(entry.name, []).append(entry)
    spine = [
        names[key]
        for ref in tree.iter("itemref")
        if (key := ref.get("idref", "")) in items
        and items[key].get("media-type", _TEXT[0]) in _TEXT
        and "nav" not in (items[key].get("properties") or "").split()
    ]
    title = next((text for e in tree.iter("title") if (text := text_of(e))), "")
    kept = tuple(name for name in dict.fromkeys(spine) if name not in toc)
    return Package(title=title, spine=kept, contents=by_chapter)


def _xml(archive: Archive, name: str) -> Element:
    data = archive.read(name, limit=_LIMIT, setting="the most a table of contents may hold")
    try:
        return parse_xml(data)
    except UnreadableFile as error:
        raise UnreadableFile(f"is damaged: {name} {error}") from error


def _is_protected(archive: Archive) -> bool:
    if _ENCRYPTION not in archive:
        return "META-INF/sinf.xml" in archive
    tree = _xml(archive, _ENCRYPTION)
    return any(
        e.get("Algorithm", "") not in _FONTS_ONLY
        for data in tree.iter("encrypteddata")
        for e in data.iterchildren("encryptionmethod")
    )


def _target(base: str, href: str) -> tuple[str, str]:
    """Return the entry and the place in it that a link leads to."""
    try:
        parts = urlsplit(href.strip())
    except ValueError:
        return "", ""
    if not parts.path:
        return "", parts.fragment
    return inside(base, unquote(parts.path)), parts.fragment


def _contents(
    archive: Archive, tree: Element, items: dict[str, Element], names: dict[str, str]
) -> Iterator[Entry]:
    """Yield the lines of the table of contents, from the newer kind if there is one."""
    spine = next(tree.iter("spine"), None)
    navs = [k for k, i in items.items() if "nav" in (i.get("properties") or "").split()]
    lists = [spine.get("toc", "")] if spine is not None else []
    ncx = [k for k, i in items.items() if i.get("media-type") == "application/x-dtbncx+xml"]
    for key in (*navs, *lists, *ncx):
        name = names.get(key, "")
        try:
            data = archive.read(name, limit=_LIMIT, setting="the most a table may hold")
            root = parse_xhtml(data)
        except UnreadableFile:
            continue
        # Without a table of contents, the headings of the chapters are still there.
        found = list(_nav_lines(root, name) if key in navs else _ncx_lines(root, name))
        if found:
            yield from found
            return


def _nav_lines(root: Element, base: str) -> Iterator[Entry]:
    navs = list(root.iter("nav"))
    chosen = next((nav for nav in navs if epub_type(nav) == "toc"), navs[0] if navs else None)
    for top in chosen.iterchildren("ol") if chosen is not None else ():
        yield from _nav_list(top, base, ())


def _nav_list(top: Element, base: str, trail: tuple[str, ...]) -> Iterator[Entry]:
    if len(trail) > _DEEPEST:
        return
    for item in top.iterchildren("li"):
        label = next((e for e in item if tag_name(e) in ("a", "span")), None)
        title = text_of(label) if label is not None else ""
        if label is not None and label.get("href"):
            name, fragment = _target(base, label.get("href", ""))
            yield Entry(title, name, fragment, trail)
        for below in item.iterchildren("ol"):
            yield from _nav_list(below, base, (*trail, title))


def _ncx_lines(root: Element, base: str) -> Iterator[Entry]:
    for top in root.iter("navmap"):
        yield from _ncx_points(top.iterchildren("navpoint"), base, ())


def _ncx_points(points: Iterable[Element], base: str, trail: tuple[str, ...]) -> Iterator[Entry]:
    if len(trail) > _DEEPEST:
        return
    for point in points:
        label = next(point.iterchildren("navlabel"), None)
        title = text_of(label) if label is not None else ""
        content = next(point.iterchildren("content"), None)
        if content is not None:
            name, fragment = _target(base, content.get("src", ""))
            yield Entry(title, name, fragment, trail)
        yield from _ncx_points(point.iterchildren("navpoint"), base, (*trail, title))


ENDING = ".epub"


def read_epub(file: SourceFile, options: IngestOptions) -> Book:
    """Read one EPUB.

    Raises:
        UnreadableFile: it is protected, damaged or too large.
    """
    # lxml is loaded only for books that need it.

    check_readable(file, limit=options.max_file_bytes, setting="CITEWELL_INGEST__MAX_FILE_BYTES")
    pages: list[Page] = []
    skipped: list[SkippedFile] = []
    with Archive(file.path) as archive:
        package = read_package(archive)
        title = package.title or PurePosixPath(file.name).stem
        for name in package.spine:
            source = f"{file.name}/{name}"
            with skip_on_error(source, skipped):
                page = _read_chapter(archive, (file.name, name), package, pages, options)
                if page.sections:
                    pages.append(page)
                else:
                    skipped.append(SkippedFile(source=source, reason="has no text", failed=False))
    return Book(title=title, kind="epub", pages=tuple(pages), skipped=tuple(skipped))


def _read_chapter(
    archive: Archive,
    where: tuple[str, str],
    package: "Package",
    before: list[Page],
    options: IngestOptions,
) -> Page:
    from citewell.ingest.formats.html.convert import read_sections
    from citewell.ingest.formats.html.inline import replace_math
    from citewell.ingest.formats.html.tree import clear, ids_of, parse_xhtml

    file, name = where
    data = archive.read(
        name, limit=options.max_page_bytes, setting="CITEWELL_INGEST__MAX_PAGE_BYTES"
    )
    tree = parse_xhtml(data)
    ids = ids_of(tree)
    replace_math(tree)
    body = next(tree.iter("body"), tree)
    clear(body, site=False)
    lines = package.contents.get(name, [])
    # A flat table of contents lists sections beside chapters; then the headings decide.
    single = _is_single(lines) or len(list(body.iter("h1"))) <= 1
    # A chapter is often cut into several files, of which only the first has a title.
    title = lines[0].title if lines and single else package.title if lines else ""
    known = title or (before[-1].title if before else package.title)
    url = f"{(options.site_url or quote_path(file)).rstrip('/')}/{quote_path(name)}"
    parsed = read_sections(body, title=known, base=url, certain=bool(title), single=single)
    return Page(
        source=f"{file}/{name}",
        title=parsed.title or PurePosixPath(name).stem,
        part=_part(lines),
        url=url,
        sections=parsed.sections,
        ids=ids,
    )


def _is_single(lines: "list[Entry]") -> bool:
    """Whether a file holds one chapter: all its lines stand under the first."""
    return not any(len(line.trail) <= len(lines[0].trail) for line in lines[1:])


def _part(lines: "list[Entry]") -> str:
    return lines[0].trail[0] if lines and lines[0].trail else ""


class EpubFormat(SingleFileFormat):
    """One EPUB file."""

    kind = "epub"
    ending = ENDING
    read_file = read_epub
