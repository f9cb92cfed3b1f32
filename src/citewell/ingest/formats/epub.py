"""EPUB 2 and 3: the chapters in reading order, with titles from the table of contents."""

import lzma
import posixpath
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Self
from urllib.parse import unquote, urlsplit

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SingleFileFormat, SourceFile, check_readable, quote_path
from citewell.ingest.formats.html.convert import read_sections
from citewell.ingest.formats.html.inline import replace_math
from citewell.ingest.formats.html.tree import (
    Element,
    epub_type,
    ids_of,
    parse_xhtml,
    parse_xml,
    remove_unwanted,
    tag_name,
    text_of,
)
from citewell.ingest.formats.time_limit import check_time_limit, skip_on_error
from citewell.options import IngestOptions

_MAX_COMPRESSION_RATIO = 200
"""Limit against ZIP bombs: text compresses about tenfold, rarely more than fiftyfold."""
_RATIO_MIN_SIZE = 1_000_000
_MAX_TOTAL_SIZE = 1_000_000_000
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
)


class EpubArchive:
    """A ZIP file that is read in memory, with limits.

    Raises:
        UnreadableFile: the file is not a ZIP file.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except _ZIP_ERRORS as error:
            raise UnreadableFile("is damaged: it is not a ZIP file") from error
        self._entries = {
            entry.filename: entry
            for entry in self._zip.infolist()
            if not entry.is_dir() and _is_safe_name(entry.filename)
        }
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, *, limit: int, setting: str) -> bytes:
        """Unpack one entry.

        Raises:
            UnreadableFile: it is missing, damaged, encrypted or larger than the `setting` allows.
        """
        check_time_limit()
        entry = self._entries.get(name)
        if entry is None:
            raise UnreadableFile("is missing from the file")
        if entry.flag_bits & 1:
            raise UnreadableFile("is encrypted with a password")
        if entry.file_size > limit:
            raise UnreadableFile(
                f"{entry.file_size / 1e6:.1f} MB is more than the limit of {limit / 1e6:g} MB"
                f" ({setting})"
            )
        try:
            with self._zip.open(entry) as data:
                # Do not trust the declared size.
                content = data.read(limit + 1)
        except _ZIP_ERRORS as error:
            raise UnreadableFile("is damaged") from error
        self._check_expansion(len(content), entry.compress_size, limit)
        return content

    def _check_expansion(self, size: int, compressed_size: int, limit: int) -> None:
        self._read += size
        if size > limit or (
            size > _RATIO_MIN_SIZE and size > _MAX_COMPRESSION_RATIO * max(compressed_size, 1)
        ):
            raise UnreadableFile("unpacks to far more than its size")
        if self._read > _MAX_TOTAL_SIZE:
            raise UnreadableFile(f"unpacks to more than {_MAX_TOTAL_SIZE / 1e9:g} GB")


def _is_safe_name(name: str) -> bool:
    return not (name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"))


def resolve_href(base: str, href: str) -> str:
    """Return the archive entry that a link in the entry `base` leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), href)).lstrip("/")


_MAX_METADATA_SIZE = 20_000_000
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS_ONLY = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_TEXT_MEDIA_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_MAX_TOC_DEPTH = 20


@dataclass(frozen=True, slots=True)
class TocEntry:
    """An entry of the table of contents."""

    title: str
    name: str
    fragment: str
    ancestors: tuple[str, ...]
    """The titles of the entries above it, outermost first."""


@dataclass(frozen=True, slots=True)
class Package:
    """The metadata of an EPUB."""

    title: str
    spine: tuple[str, ...]
    """The archive entries of the chapters in reading order."""
    contents: dict[str, list[TocEntry]] = field(default_factory=dict)
    """The table of contents by chapter."""


def read_package(archive: EpubArchive) -> Package:
    """Read the metadata of an EPUB.

    Raises:
        UnreadableFile: it is protected by DRM, or its metadata is missing or damaged.
    """
    if _CONTAINER not in archive:
        raise UnreadableFile("is damaged: META-INF/container.xml is missing")
    if _is_protected(archive):
        raise UnreadableFile("is protected by DRM, so its text cannot be read")
    roots = [e.get("full-path", "") for e in _xml(archive, _CONTAINER).iter("rootfile")]
    opf = next((root for root in roots if root in archive), None)
    if opf is None:
        raise UnreadableFile("is damaged: its package document is missing")
    tree = _xml(archive, opf)
    items = {e.get("id", ""): e for e in tree.iter("item")}
    names = {key: _resolve_target(opf, item.get("href", ""))[0] for key, item in items.items()}
    entries = list(_contents(archive, tree, items, names))
    front_matter = {
        _resolve_target(opf, e.get("href", ""))[0]
        for e in tree.iter("reference")
        if e.get("type") in ("toc", "cover")
    }
    by_chapter: dict[str, list[TocEntry]] = {}
    for entry in entries:
        by_chapter.setdefault(entry.name, []).append(entry)
    spine = [
        names[key]
        for ref in tree.iter("itemref")
        if (key := ref.get("idref", "")) in items
        and items[key].get("media-type", _TEXT_MEDIA_TYPES[0]) in _TEXT_MEDIA_TYPES
        and "nav" not in (items[key].get("properties") or "").split()
    ]
    title = next((text for e in tree.iter("title") if (text := text_of(e))), "")
    chapters = tuple(name for name in dict.fromkeys(spine) if name not in front_matter)
    return Package(title=title, spine=chapters, contents=by_chapter)


def _xml(archive: EpubArchive, name: str) -> Element:
    data = archive.read(name, limit=_MAX_METADATA_SIZE, setting="the limit for metadata")
    try:
        return parse_xml(data)
    except UnreadableFile as error:
        raise UnreadableFile(f"is damaged: {name} {error}") from error


def _is_protected(archive: EpubArchive) -> bool:
    if _ENCRYPTION not in archive:
        return "META-INF/sinf.xml" in archive
    tree = _xml(archive, _ENCRYPTION)
    return any(
        e.get("Algorithm", "") not in _FONTS_ONLY
        for data in tree.iter("encrypteddata")
        for e in data.iterchildren("encryptionmethod")
    )


def _resolve_target(base: str, href: str) -> tuple[str, str]:
    try:
        parts = urlsplit(href.strip())
    except ValueError:
        return "", ""
    if not parts.path:
        return "", parts.fragment
    return resolve_href(base, unquote(parts.path)), parts.fragment


def _contents(
    archive: EpubArchive, tree: Element, items: dict[str, Element], names: dict[str, str]
) -> Iterator[TocEntry]:
    """Yield the table of contents: EPUB 3's `nav` if there is one, else EPUB 2's NCX."""
    spine = next(tree.iter("spine"), None)
    navs = [k for k, i in items.items() if "nav" in (i.get("properties") or "").split()]
    spine_toc = [spine.get("toc", "")] if spine is not None else []
    ncx = [k for k, i in items.items() if i.get("media-type") == "application/x-dtbncx+xml"]
    for key in (*navs, *spine_toc, *ncx):
        name = names.get(key, "")
        try:
            data = archive.read(name, limit=_MAX_METADATA_SIZE, setting="the limit for metadata")
            root = parse_xhtml(data)
        except UnreadableFile:
            continue  # the headings of the chapters are used instead
        entries = list(_nav_entries(root, name) if key in navs else _ncx_entries(root, name))
        if entries:
            yield from entries
            return


def _nav_entries(root: Element, base: str) -> Iterator[TocEntry]:
    navs = list(root.iter("nav"))
    toc = next((nav for nav in navs if epub_type(nav) == "toc"), navs[0] if navs else None)
    for top in toc.iterchildren("ol") if toc is not None else ():
        yield from _nav_list(top, base, ())


def _nav_list(top: Element, base: str, ancestors: tuple[str, ...]) -> Iterator[TocEntry]:
    if len(ancestors) > _MAX_TOC_DEPTH:
        return
    for item in top.iterchildren("li"):
        label = next((e for e in item if tag_name(e) in ("a", "span")), None)
        title = text_of(label) if label is not None else ""
        if label is not None and label.get("href"):
            name, fragment = _resolve_target(base, label.get("href", ""))
            yield TocEntry(title, name, fragment, ancestors)
        for nested in item.iterchildren("ol"):
            yield from _nav_list(nested, base, (*ancestors, title))


def _ncx_entries(root: Element, base: str) -> Iterator[TocEntry]:
    for top in root.iter("navmap"):
        yield from _ncx_points(top.iterchildren("navpoint"), base, ())


def _ncx_points(
    points: Iterable[Element], base: str, ancestors: tuple[str, ...]
) -> Iterator[TocEntry]:
    if len(ancestors) > _MAX_TOC_DEPTH:
        return
    for point in points:
        label = next(point.iterchildren("navlabel"), None)
        title = text_of(label) if label is not None else ""
        content = next(point.iterchildren("content"), None)
        if content is not None:
            name, fragment = _resolve_target(base, content.get("src", ""))
            yield TocEntry(title, name, fragment, ancestors)
        yield from _ncx_points(point.iterchildren("navpoint"), base, (*ancestors, title))


ENDING = ".epub"


def read_epub(file: SourceFile, options: IngestOptions) -> Book:
    """Read an EPUB file.

    Raises:
        UnreadableFile: it is protected, damaged or too large.
    """
    check_readable(file, limit=options.max_file_bytes, setting="CITEWELL_INGEST__MAX_FILE_BYTES")
    pages: list[Page] = []
    skipped: list[SkippedFile] = []
    with EpubArchive(file.path) as archive:
        package = read_package(archive)
        title = package.title or PurePosixPath(file.name).stem
        for name in package.spine:
            source = f"{file.name}/{name}"
            with skip_on_error(source, skipped):
                previous = pages[-1].title if pages else package.title
                page = _read_chapter(archive, (file.name, name), package, previous, options)
                if page.sections:
                    pages.append(page)
                else:
                    skipped.append(SkippedFile(source=source, reason="has no text", failed=False))
    return Book(title=title, kind="epub", pages=tuple(pages), skipped=tuple(skipped))


def _read_chapter(
    archive: EpubArchive,
    source: tuple[str, str],
    package: Package,
    previous_title: str,
    options: IngestOptions,
) -> Page:
    file, name = source
    data = archive.read(
        name, limit=options.max_page_bytes, setting="CITEWELL_INGEST__MAX_PAGE_BYTES"
    )
    tree = parse_xhtml(data)
    ids = ids_of(tree)
    replace_math(tree)
    body = next(tree.iter("body"), tree)
    remove_unwanted(body, site=False)
    entries = package.contents.get(name, [])
    # A flat table of contents lists sections beside chapters; then the headings decide.
    one_chapter = _is_one_chapter(entries) or len(list(body.iter("h1"))) <= 1
    # A chapter may be split into several files, of which only the first has a title.
    title = entries[0].title if entries and one_chapter else package.title if entries else ""
    fallback_title = title or previous_title
    url = f"{(options.site_url or quote_path(file)).rstrip('/')}/{quote_path(name)}"
    parsed = read_sections(
        body, title=fallback_title, base=url, keep_title=bool(title), one_chapter=one_chapter
    )
    return Page(
        source=f"{file}/{name}",
        title=parsed.title or PurePosixPath(name).stem,
        part=entries[0].ancestors[0] if entries and entries[0].ancestors else "",
        url=url,
        sections=parsed.sections,
        ids=ids,
    )


def _is_one_chapter(entries: list[TocEntry]) -> bool:
    """Return whether all entries of a file are below its first."""
    return not any(len(entry.ancestors) <= len(entries[0].ancestors) for entry in entries[1:])


class EpubFormat(SingleFileFormat):
    """One EPUB file."""

    name = "epub"
    ending = ENDING
    read_file = read_epub
