"""PDF files: the reconstructed text, with links to its pages."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, Any

from citewell.domain import Block, Book, Page, Section, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SingleFileFormat, SourceFile, check_readable, quote_path
from citewell.ingest.formats.time_limit import check_time_limit, skip_on_error
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.pdf.layout import Line
    from citewell.ingest.formats.pdf.text import Bookmark, PageBlock, PdfHeading

ENDING = ".pdf"
_MAX_BOOKMARKS = 20_000
_WRONG_PASSWORD, _UNKNOWN_LOCK = 4, 5
# PDFium is not thread-safe.
_PDFIUM_LOCK = Lock()


def read_pdf(file: SourceFile, options: IngestOptions) -> Book:
    """Read a PDF file.

    Raises:
        UnreadableFile: it is encrypted, damaged, too large, or has no text.
    """
    # These import PDFium, which is slow to load.
    from citewell.ingest.formats.pdf.layout import drop_running_heads
    from citewell.ingest.formats.pdf.text import build_blocks, insert_headings

    check_readable(file, limit=options.max_file_bytes, setting="CITEWELL_INGEST__MAX_FILE_BYTES")
    skipped: list[SkippedFile] = []
    with _PDFIUM_LOCK:
        title, pages, outline = _read_document(file, options, skipped)
    if not any(pages):
        raise UnreadableFile("has no text (scanned?)")
    title = title or PurePosixPath(file.name).stem
    stream = build_blocks(insert_headings(drop_running_heads(pages), outline))
    chapters = list(_chapters(list(stream), title))
    return Book(
        title=title,
        kind="pdf",
        pages=tuple(_pages(file, chapters, options)),
        skipped=tuple(skipped),
    )


def _read_document(
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
        limit = options.max_pdf_pages
        if len(document) > limit:
            # A file of a few kilobytes can contain the same page any number of times.
            reason = f"has {len(document):,} pages; those after {limit:,} are left out"
            setting = "CITEWELL_INGEST__MAX_PDF_PAGES"
            skipped.append(SkippedFile(source=file.name, reason=f"{reason} ({setting})"))
        count = min(len(document), limit)
        pages = [_read_page_lines(document, n, file, skipped) for n in range(count)]
        try:
            title = " ".join(document.get_metadata_value("Title").split())
            outline = list(_read_outline(document))
        except (pypdfium2.PdfiumError, UnicodeError):
            title, outline = "", []
    finally:
        document.close()
    # Authoring tools often write a file name as the title.
    is_file_name = re.search(
        r"(?i)^untitled|^microsoft word|\.(?:docx?|tex|dvi|indd|pdf|qxd)$", title
    )
    return ("" if is_file_name else title), pages, outline


def _read_page_lines(
    document: Any, number: int, file: SourceFile, skipped: list[SkippedFile]
) -> "list[Line]":
    import pypdfium2

    from citewell.ingest.formats.pdf.layout import read_lines, read_runs

    with skip_on_error(f"{file.name} (page {number + 1})", skipped):
        check_time_limit()
        try:
            page = document[number]
            try:
                return read_lines(read_runs(page), number + 1)
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            raise UnreadableFile("is damaged") from error
    return []


def _read_outline(document: Any) -> "Iterator[Bookmark]":
    import pypdfium2.raw as pdfium

    from citewell.ingest.formats.pdf.text import Bookmark

    tops = {pdfium.PDFDEST_VIEW_XYZ: 1, pdfium.PDFDEST_VIEW_FITH: 0, pdfium.PDFDEST_VIEW_FITBH: 0}
    for bookmark in islice(document.get_toc(), _MAX_BOOKMARKS):
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(bookmark.get_title().split())
        if page is None or not title:
            continue
        mode, position = destination.get_view()
        top = tops.get(mode, len(position))
        y = position[top] if top < len(position) else None
        yield Bookmark(bookmark.level + 1, title, page + 1, y)


def _chapters(
    stream: "list[PageBlock | PdfHeading]", title: str
) -> "Iterator[tuple[str, list[tuple[tuple[str, ...], PageBlock]]]]":
    """Split the stream into chapters at the highest heading level that occurs more than once."""
    from citewell.ingest.formats.pdf.text import PdfHeading

    levels = [item.level for item in stream if isinstance(item, PdfHeading)]
    highest = min((n for n in set(levels) if levels.count(n) > 1), default=min(levels, default=1))
    name, open_headings = title, list[tuple[int, str]]()
    page_blocks: list[tuple[tuple[str, ...], PageBlock]] = []
    for item in stream:
        if not isinstance(item, PdfHeading):
            page_blocks.append(((name, *(heading for _, heading in open_headings)), item))
        elif item.level <= highest:
            yield name, page_blocks
            name, open_headings, page_blocks = item.title, [], []
        else:
            open_headings = [(n, heading) for n, heading in open_headings if n < item.level]
            open_headings.append((item.level, item.title))
    yield name, page_blocks


def _pages(
    file: SourceFile,
    chapters: "list[tuple[str, list[tuple[tuple[str, ...], PageBlock]]]]",
    options: IngestOptions,
) -> Iterator[Page]:
    site = (options.site_url or "").rstrip("/")
    url = site if site.lower().endswith(ENDING) else f"{site}/{quote_path(file.name)}"
    used: set[str] = set()
    for title, page_blocks in chapters:
        if not page_blocks:
            continue
        first = f"{file.name}/page-{page_blocks[0][1].page}"
        source, number = first, 2
        while source in used:
            source, number = f"{first}-{number}", number + 1
        used.add(source)
        yield Page(
            source=source, title=title, part="", url=url, sections=tuple(_sections(page_blocks))
        )


def _sections(page_blocks: "list[tuple[tuple[str, ...], PageBlock]]") -> Iterator[Section]:
    """Split at headings and page breaks, so that links open the right page."""
    key: tuple[tuple[str, ...], int] | None = None
    blocks: list[Block] = []
    for path, page_block in page_blocks:
        if key and (path, page_block.page) != key:
            yield Section(path=key[0], anchor=f"page={key[1]}", blocks=tuple(blocks))
            blocks = []
        key = (path, page_block.page)
        blocks.append(page_block.block)
    if key:
        yield Section(path=key[0], anchor=f"page={key[1]}", blocks=tuple(blocks))


class PdfFormat(SingleFileFormat):
    """A single PDF file."""

    name = "pdf"
    ending = ENDING
    read_file = read_pdf
