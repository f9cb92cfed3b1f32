"""EPUB 2 and 3: the chapters in their reading order, under the titles of the table of contents."""

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from quire.domain import Book, Page, Skipped
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.archive import Archive
from quire.ingest.readers.budget import reporting
from quire.ingest.readers.folder import address, check_size
from quire.ingest.readers.onefile import OneFileReader

if TYPE_CHECKING:
    from quire.ingest.readers.opf import Entry, Package

ENDING = ".epub"


def read_epub(file: SourceFile, options: IngestOptions) -> Book:
    """Read one EPUB.

    Raises:
        UnreadableFile: it is protected, damaged or too large.
    """
    # lxml is loaded only for books that need it.
    from quire.ingest.readers.opf import read_package

    check_size(file, limit=options.max_file_bytes, setting="QUIRE_INGEST__MAX_FILE_BYTES")
    pages: list[Page] = []
    skipped: list[Skipped] = []
    with Archive(file.path) as archive:
        package = read_package(archive)
        title = package.title or PurePosixPath(file.name).stem
        for name in package.spine:
            source = f"{file.name}/{name}"
            with reporting(source, skipped):
                page = _read_chapter(archive, (file.name, name), package, pages, options)
                if page.sections:
                    pages.append(page)
                else:
                    skipped.append(Skipped(source=source, reason="has no text", failed=False))
    return Book(title=title, kind="epub", pages=tuple(pages), skipped=tuple(skipped))


def _read_chapter(
    archive: Archive,
    where: tuple[str, str],
    package: "Package",
    before: list[Page],
    options: IngestOptions,
) -> Page:
    from quire.ingest.readers.htmlmath import settle_math
    from quire.ingest.readers.htmltext import read_sections
    from quire.ingest.readers.htmltree import clear, ids_of, parse_xhtml

    file, name = where
    data = archive.read(name, limit=options.max_page_bytes, setting="QUIRE_INGEST__MAX_PAGE_BYTES")
    tree = parse_xhtml(data)
    ids = ids_of(tree)
    settle_math(tree)
    body = next(tree.iter("body"), tree)
    clear(body, site=False)
    lines = package.contents.get(name, [])
    # A flat table of contents lists sections beside chapters; then the headings decide.
    single = _is_single(lines) or len(list(body.iter("h1"))) <= 1
    # A chapter is often cut into several files, of which only the first has a title.
    title = lines[0].title if lines and single else package.title if lines else ""
    known = title or (before[-1].title if before else package.title)
    url = f"{(options.site_url or address(file)).rstrip('/')}/{address(name)}"
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


class EpubReader(OneFileReader):
    """One EPUB file."""

    kind = "epub"
    ending = ENDING
    read_file = read_epub
