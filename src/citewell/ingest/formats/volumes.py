"""A folder with nothing but PDF and EPUB files: one book of several volumes."""

from dataclasses import replace
from pathlib import Path

from citewell.domain import Book, Page, SkippedFile
from citewell.ingest.formats import epub
from citewell.ingest.formats.base import BookFormat, SourceFile, walk_files
from citewell.ingest.formats.pdf import document
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.options import IngestOptions

_READERS = {epub.ENDING: epub.read_epub, document.ENDING: document.read_pdf}


class VolumesFormat(BookFormat):
    """A folder of PDF and EPUB files."""

    name = "shelf"

    def matches(self, root: Path) -> bool:
        """Return whether the folder contains a PDF or EPUB file."""
        return root.is_dir() and next(walk_files(root, tuple(_READERS)), None) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the PDF and EPUB files."""
        return list(walk_files(root, tuple(_READERS)))

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every file; its title becomes the part of its pages."""
        pages: list[Page] = []
        skipped: list[SkippedFile] = []
        for file in walk_files(root, tuple(_READERS), skipped):
            with skip_on_error(file.name, skipped):
                book = _READERS[file.path.suffix.lower()](file, options)
                pages += (_in_volume(page, book.title) for page in book.pages)
                skipped += book.skipped
        return Book(
            title=root.resolve().name, kind=self.name, pages=tuple(pages), skipped=tuple(skipped)
        )


def _in_volume(page: Page, title: str) -> Page:
    return replace(page, part=f"{title}: {page.part}" if page.part else title)
