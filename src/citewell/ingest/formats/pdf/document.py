"""PDF: the text as it was before it was set, with links to the page it stands on."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, Any

from citewell.domain import Block, Book, Page, Section, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SingleFileFormat, SourceFile, check_readable, quote_path
from citewell.ingest.formats.time_limit import check_budget, skip_on_error
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.pdf.layout import Line
    from citewell.ingest.formats.pdf.text import Bookmark, HeadingMark, PlacedBlock

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
    from citewell.ingest.formats.pdf.layout import without_running_heads
    from citewell.ingest.formats.pdf.text import build_blocks, with_headings

    check_readable(file, limit=options.max_file_bytes, setting="CITEWELL_INGEST__MAX_FILE_BYTES")
    skipped: list[SkippedFile] = []
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
    file: SourceFile, options: IngestOptions, skipped: list[SkippedFile]
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
            setting = "CITEWELL_INGEST__MAX_PDF_PAGES"
            skipped.append(SkippedFile(source=file.name, reason=f"{reason} ({setting})"))
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


def _lines(
    document: Any, number: int, file: SourceFile, skipped: list[SkippedFile]
) -> "list[Line]":
    import pypdfium2

    from citewell.ingest.formats.pdf.layout import read_lines, read_runs

    with skip_on_error(f"{file.name} (page {number + 1})", skipped):
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

    from citewell.ingest.formats.pdf.text import Bookmark

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
    stream: "list[PlacedBlock | HeadingMark]", title: str
) -> "Iterator[tuple[str, list[tuple[tuple[str, ...], PlacedBlock]]]]":
    """Cut the stream at the highest headings of which there are several."""
    from citewell.ingest.formats.pdf.text import HeadingMark

    levels = [item.level for item in stream if isinstance(item, HeadingMark)]
    highest = min((n for n in set(levels) if levels.count(n) > 1), default=min(levels, default=1))
    name, trail = title, list[tuple[int, str]]()
    held: list[tuple[tuple[str, ...], PlacedBlock]] = []
    for item in stream:
        if not isinstance(item, HeadingMark):
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
    chapters: "list[tuple[str, list[tuple[tuple[str, ...], PlacedBlock]]]]",
    options: IngestOptions,
) -> Iterator[Page]:
    site = (options.site_url or "").rstrip("/")
    url = site if site.lower().endswith(ENDING) else f"{site}/{quote_path(file.name)}"
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


def _sections(held: "list[tuple[tuple[str, ...], PlacedBlock]]") -> Iterator[Section]:
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


class PdfFormat(SingleFileFormat):
    """One PDF file."""

    kind = "pdf"
    ending = ENDING
    read_file = read_pdf
