"""PDF: the text as it was before it was set, with links to the page it stands on."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, Any

from quire.domain import Block, Book, Page, Section, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.budget import check_budget, reporting
from quire.ingest.readers.folder import address, check_size
from quire.ingest.readers.onefile import OneFileReader

if TYPE_CHECKING:
    from quire.ingest.readers.pdfheads import Bookmark, Mark
    from quire.ingest.readers.pdflayout import Line
    from quire.ingest.readers.pdftext import Placed

ENDING = ".pdf"
_MOST_BOOKMARKS = 20_000
_WRONG_PASSWORD, _UNKNOWN_LOCK = 4, 5
# The library keeps global state and must not be entered twice.
_ENTRY = Lock()


def read_pdf(file: SourceFile, options: IngestOptions) -> Book:
    """Read one PDF.

    Raises:
        UnreadableFile: it is locked, damaged, too large, or has no text.
    """
    # PDFium is loaded only for books that need it.
    from quire.ingest.readers.pdfheads import with_headings
    from quire.ingest.readers.pdflayout import without_running_heads
    from quire.ingest.readers.pdftext import build_blocks

    check_size(file, limit=options.max_file_bytes, setting="QUIRE_INGEST__MAX_FILE_BYTES")
    skipped: list[Skipped] = []
    with _ENTRY:
        title, pages, outline = _open(file, options, skipped)
    if not any(pages):
        raise UnreadableFile("has no text (scanned?)")
    title = title or PurePosixPath(file.name).stem
    stream = build_blocks(with_headings(without_running_heads(pages), outline))
    chapters = list(_chapters(list(stream), title))
    return Book(
        title=title,
        kind="pdf",
        pages=tuple(_pages(file, chapters, options)),
        skipped=tuple(skipped),
    )


def _open(
    file: SourceFile, options: IngestOptions, skipped: list[Skipped]
) -> "tuple[str, list[list[Line]], list[Bookmark]]":
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(file.path)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (_WRONG_PASSWORD, _UNKNOWN_LOCK):
            raise UnreadableFile("is encrypted; save a copy without a password") from error
        raise UnreadableFile("is damaged or not a PDF") from error
    try:
        most = options.max_pdf_pages
        if len(document) > most:
            # A few kilobytes can name one page as often as they like.
            reason = f"has {len(document):,} pages; those after {most:,} are left out"
            setting = "QUIRE_INGEST__MAX_PDF_PAGES"
            skipped.append(Skipped(source=file.name, reason=f"{reason} ({setting})"))
        count = min(len(document), most)
        pages = [_lines(document, n, file, skipped) for n in range(count)]
        try:
            title = " ".join(document.get_metadata_value("Title").split())
            outline = list(_outline(document))
        except (pypdfium2.PdfiumError, UnicodeError):
            title, outline = "", []
    finally:
        document.close()
    # Programs put the name of their own file where the title belongs.
    named = re.search(r"(?i)^untitled|^microsoft word|\.(?:docx?|tex|dvi|indd|pdf|qxd)$", title)
    return ("" if named else title), pages, outline


def _lines(document: Any, number: int, file: SourceFile, skipped: list[Skipped]) -> "list[Line]":
    import pypdfium2

    from quire.ingest.readers.pdflayout import read_lines
    from quire.ingest.readers.pdfpage import read_runs

    with reporting(f"{file.name} (page {number + 1})", skipped):
        check_budget()
        try:
            page = document[number]
            try:
                return read_lines(read_runs(page), number + 1)
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            raise UnreadableFile("is damaged") from error
    return []


def _outline(document: Any) -> "Iterator[Bookmark]":
    import pypdfium2.raw as pdfium

    from quire.ingest.readers.pdfheads import Bookmark

    tops = {pdfium.PDFDEST_VIEW_XYZ: 1, pdfium.PDFDEST_VIEW_FITH: 0, pdfium.PDFDEST_VIEW_FITBH: 0}
    for level, bookmark in _bookmarks(document):
        place = bookmark.get_dest()
        page = place.get_index() if place else None
        title = " ".join(bookmark.get_title().split())
        if page is None or not title:
            continue
        mode, position = place.get_view()
        top = tops.get(mode, len(position))
        yield Bookmark(level, title, page + 1, position[top] if top < len(position) else None)


def _bookmarks(document: Any) -> Iterator[tuple[int, Any]]:
    for bookmark in islice(document.get_toc(), _MOST_BOOKMARKS):
        yield bookmark.level + 1, bookmark


def _chapters(
    stream: "list[Placed | Mark]", title: str
) -> "Iterator[tuple[str, list[tuple[tuple[str, ...], Placed]]]]":
    """Cut the stream at the highest headings of which there are several."""
    from quire.ingest.readers.pdfheads import Mark

    levels = [item.level for item in stream if isinstance(item, Mark)]
    highest = min((n for n in set(levels) if levels.count(n) > 1), default=min(levels, default=1))
    name, trail = title, list[tuple[int, str]]()
    held: list[tuple[tuple[str, ...], Placed]] = []
    for item in stream:
        if not isinstance(item, Mark):
            held.append(((name, *(words for _, words in trail)), item))
        elif item.level <= highest:
            yield name, held
            name, trail, held = item.title, [], []
        else:
            trail = [(n, words) for n, words in trail if n < item.level]
            trail.append((item.level, item.title))
    yield name, held


def _pages(
    file: SourceFile,
    chapters: "list[tuple[str, list[tuple[tuple[str, ...], Placed]]]]",
    options: IngestOptions,
) -> Iterator[Page]:
    site = (options.site_url or "").rstrip("/")
    url = site if site.lower().endswith(ENDING) else f"{site}/{address(file.name)}"
    used: set[str] = set()
    for title, held in chapters:
        if not held:
            continue
        first = f"{file.name}/page-{held[0][1].page}"
        source, again = first, 2
        while source in used:
            source, again = f"{first}-{again}", again + 1
        used.add(source)
        yield Page(source=source, title=title, part="", url=url, sections=tuple(_sections(held)))


def _sections(held: "list[tuple[tuple[str, ...], Placed]]") -> Iterator[Section]:
    """Cut at headings and at page breaks, so that a link opens the page of the passage."""
    key: tuple[tuple[str, ...], int] | None = None
    blocks: list[Block] = []
    for path, placed in held:
        if key and (path, placed.page) != key:
            yield Section(path=key[0], anchor=f"page={key[1]}", blocks=tuple(blocks))
            blocks = []
        key = (path, placed.page)
        blocks.append(placed.block)
    if key:
        yield Section(path=key[0], anchor=f"page={key[1]}", blocks=tuple(blocks))


class PdfReader(OneFileReader):
    """One PDF file."""

    kind = "pdf"
    ending = ENDING
    read_file = read_pdf
