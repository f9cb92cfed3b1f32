"""Books that are one file."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from quire.domain import Book, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile


class OneFileReader:
    """Reads a book that is one file, known by how its name ends."""

    kind: str
    ending: ClassVar[str]
    read_file: ClassVar[Callable[[SourceFile, IngestOptions], Book]]

    def recognises(self, root: Path) -> bool:
        """Tell whether `root` is such a file, by its name."""
        return root.is_file() and root.name.lower().endswith(self.ending)

    def home(self, root: Path) -> Path:
        """Return the folder of the book."""
        return root if root.is_dir() else root.parent

    def files(self, root: Path) -> list[SourceFile]:
        """List the one file."""
        return [SourceFile(root, root.name)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every chapter."""
        try:
            return type(self).read_file(SourceFile(root, root.name), options)
        except UnreadableFile as error:
            skip = Skipped(source=root.name, reason=str(error))
            return Book(title=root.stem, kind=self.kind, pages=(), skipped=(skip,))
