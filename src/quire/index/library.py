"""The books in a data folder, each opened at its current revision."""

from collections.abc import Iterator
from pathlib import Path

from quire.errors import IndexUnavailable
from quire.index.book import BookIndex
from quire.index.qdrant import EdgeIndex
from quire.index.revision import (
    Manifest,
    current_revision,
    read_contents,
    read_manifest,
    read_statistics,
    read_vocabulary,
)
from quire.index.seal import is_whole
from quire.index.shelf import Shelf

OPEN = 32
"""How many books are held open, unless more or fewer are wanted."""


class DiskLibrary(Shelf):
    """The books below a folder, on the embedded engine."""

    def __init__(
        self, folder: Path, *, embedder: str, default: str | None = None, most: int = OPEN
    ) -> None:
        """Serve the books below `folder` that `embedder` built."""
        super().__init__(embedder=embedder, default=default, most=most)
        self.where = str(folder.parent)
        self._folder = folder

    def manifests(self) -> Iterator[Manifest]:
        """Give what is recorded of the current revision of every book, by name."""
        self._check_folder()
        for book in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            current = current_revision(book)
            manifest = read_manifest(current) if current else None
            if manifest:
                yield manifest

    def report(self, book: str) -> str | None:
        """Give what was noticed when a book was ingested, as JSON; `None` if that is lost."""
        self._stamp(book)
        current = current_revision(self._folder / book)
        try:
            return (current / "report.json").read_text("utf-8") if current else None
        except (OSError, ValueError):
            return None

    def _stamp(self, name: str) -> int:
        if name != Path(name).name:
            # A name is one folder's, never a path out of the library.
            raise self._unknown(name)
        try:
            return (self._folder / name / "current").stat().st_mtime_ns
        except PermissionError as error:
            raise IndexUnavailable(f"The index of {name!r} cannot be read: {error}.") from error
        except (OSError, ValueError) as error:
            self._check_folder()
            raise self._unknown(name) from error

    def _check_folder(self) -> None:
        """See that the books' folder can be read; one that was never there has no books.

        Raises:
            IndexUnavailable: it cannot, or books were read there before.
        """
        try:
            next(self._folder.iterdir(), None)
        except FileNotFoundError as error:
            if self._opened:
                raise IndexUnavailable(f"{self._folder} is gone.") from error
        except OSError as error:
            raise IndexUnavailable(f"{self._folder} cannot be read: {error}.") from error

    def _load(self, name: str) -> BookIndex:
        folder = current_revision(self._folder / name)
        manifest = read_manifest(folder) if folder else None
        if folder is None or manifest is None:
            raise IndexUnavailable(
                f"The index of {name!r} is incomplete or of another version; ingest the book again."
            )
        self._check_embedder(manifest)
        damaged = f"The index of {name!r} is incomplete or damaged; ingest the book again."
        if not is_whole(folder, contents=False):
            raise IndexUnavailable(damaged)
        try:
            statistics, contents = read_statistics(folder), read_contents(folder)
            vocabulary = read_vocabulary(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(damaged) from error
        return EdgeIndex(folder, manifest, statistics, contents, vocabulary)
