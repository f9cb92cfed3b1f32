"""The books in a data folder, each opened at its current revision."""

from dataclasses import dataclass
from pathlib import Path

from quire.errors import IndexMismatch, IndexUnavailable, UnknownBook
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


@dataclass(frozen=True, slots=True)
class _Opened:
    stamp: int
    index: EdgeIndex


class DiskLibrary:
    """Opens books on first use, and again when a new revision has been ingested."""

    def __init__(self, folder: Path, *, embedder: str, default: str | None = None) -> None:
        """Serve the books below `folder` that `embedder` built."""
        self._folder = folder
        self._embedder = embedder
        self._default = default
        self._opened: dict[str, _Opened] = {}

    def books(self) -> list[Manifest]:
        """List the current revision of every book."""
        self._check_folder()
        if not self._folder.is_dir():
            return []
        folders = (current_revision(book) for book in sorted(self._folder.iterdir()))
        manifests = (read_manifest(folder) for folder in folders if folder)
        return [manifest for manifest in manifests if manifest]

    def find(self, book: str) -> Manifest:
        """Give what is recorded of a book.

        Raises:
            UnknownBook: there is none of that name, or its index is damaged.
        """
        found = next((manifest for manifest in self.books() if manifest.book == book), None)
        if found is None:
            raise UnknownBook(f"There is no book {book!r}.{self._known()}")
        return found

    def open(self, book: str | None) -> EdgeIndex:
        """Give the current revision of a book; of the only one if `book` is `None`."""
        name = book or self._default or self._only_book()
        if name != Path(name).name:
            # A name is one folder's, never a path out of the library.
            raise UnknownBook(f"There is no book {name!r}.{self._known()}")
        stamp = self._stamp(name)
        opened = self._opened.get(name)
        if opened and opened.stamp == stamp:
            return opened.index
        index = self._load(name)
        # The old handle is left to the garbage collector: a question may still be using it.
        self._opened[name] = _Opened(stamp, index)
        return index

    def close(self) -> None:
        """Close every open index."""
        for opened in self._opened.values():
            opened.index.close()
        self._opened.clear()

    def _stamp(self, name: str) -> int:
        try:
            return (self._folder / name / "current").stat().st_mtime_ns
        except PermissionError as error:
            raise IndexUnavailable(f"The index of {name!r} cannot be read: {error}.") from error
        except (OSError, ValueError) as error:
            self._check_folder()
            raise UnknownBook(f"There is no book {name!r}.{self._known()}") from error

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

    def _load(self, name: str) -> EdgeIndex:
        folder = current_revision(self._folder / name)
        manifest = read_manifest(folder) if folder else None
        if folder is None or manifest is None:
            raise IndexUnavailable(
                f"The index of {name!r} is incomplete or of another version; ingest the book again."
            )
        if manifest.embedder != self._embedder:
            raise IndexMismatch(
                f"The index of {name!r} was built with the embedder {manifest.embedder!r}, "
                f"but {self._embedder!r} is configured."
            )
        damaged = f"The index of {name!r} is incomplete or damaged; ingest the book again."
        if not is_whole(folder, contents=False):
            raise IndexUnavailable(damaged)
        try:
            statistics, contents = read_statistics(folder), read_contents(folder)
            vocabulary = read_vocabulary(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(damaged) from error
        return EdgeIndex(folder, manifest, statistics, contents, vocabulary)

    def _only_book(self) -> str:
        names = [manifest.book for manifest in self.books()]
        if len(names) == 1:
            return names[0]
        if not names:
            raise UnknownBook("No book has been ingested yet.")
        raise UnknownBook(f"Say which book is meant.{self._known()}")

    def _known(self) -> str:
        names = [manifest.book for manifest in self.books()]
        return f" Known: {', '.join(names)}." if names else " None has been ingested yet."
