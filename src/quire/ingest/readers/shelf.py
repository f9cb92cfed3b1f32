"""A folder with nothing but PDF and EPUB files: one book of several volumes."""

from dataclasses import replace
from pathlib import Path

from quire.domain import Book, Page, Skipped
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile, epub, pdf
from quire.ingest.readers.budget import reporting
from quire.ingest.readers.folder import files_below

_READ = {epub.ENDING: epub.read_epub, pdf.ENDING: pdf.read_pdf}


class ShelfReader:
    """A folder of PDF and EPUB files."""

    kind = "shelf"

    def recognises(self, root: Path) -> bool:
        """Tell whether there is a PDF or an EPUB below the folder."""
        return root.is_dir() and next(files_below(root, tuple(_READ)), None) is not None

    def home(self, root: Path) -> Path:
        """Return the folder of the book."""
        return root if root.is_dir() else root.parent

    def files(self, root: Path) -> list[SourceFile]:
        """List the files."""
        return list(files_below(root, tuple(_READ)))

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every file; its title is the part that its pages stand in."""
        pages: list[Page] = []
        skipped: list[Skipped] = []
        for file in files_below(root, tuple(_READ), skipped):
            with reporting(file.name, skipped):
                book = _READ[file.path.suffix.lower()](file, options)
                pages += (_in_volume(page, book.title) for page in book.pages)
                skipped += book.skipped
        return Book(
            title=root.resolve().name, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped)
        )


def _in_volume(page: Page, title: str) -> Page:
    return replace(page, part=f"{title}: {page.part}" if page.part else title)
