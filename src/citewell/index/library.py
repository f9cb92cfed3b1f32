"""The books in a data folder, each opened at its current revision."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock

from citewell.errors import IndexMismatch, IndexUnavailable, UnknownBook
from citewell.index.book import BookIndex
from citewell.index.integrity import is_intact
from citewell.index.qdrant_local import EdgeIndex
from citewell.index.revision import (
    Manifest,
    current_revision,
    read_contents,
    read_manifest,
    read_statistics,
    read_vocabulary,
)

MAX_LISTED = 10
"""How many books are named in a message."""
MAX_CONCURRENT_LOADS = 16
"""How many books may be opened at once."""


@dataclass(frozen=True, slots=True)
class _OpenIndex:
    version_token: object
    index: BookIndex


class BaseLibrary:
    """Opens books on first use, and again when a new revision has been ingested.

    Where they are kept, those say that inherit from it.
    """

    where: str
    """Where the books are, for people."""

    def __init__(self, *, embedder: str, default: str | None, most: int) -> None:
        """Serve books that `embedder` built, at most so many at a time."""
        self._embedder = embedder
        self._default = default
        self._most = most
        self._opened: OrderedDict[str, _OpenIndex] = OrderedDict()
        self._lock = Lock()
        self._loading = [Lock() for _ in range(MAX_CONCURRENT_LOADS)]

    def manifests(self) -> Iterator[Manifest]:
        """Return what is recorded of the current revision of every book, by name."""
        raise NotImplementedError

    def names(self) -> Iterator[str]:
        """Return the names of the books, in order."""
        return (manifest.book for manifest in self.manifests())

    def report(self, book: str) -> str | None:
        """Return what was noticed when a book was ingested, as JSON; `None` if that is lost."""
        raise NotImplementedError

    def _stamp(self, name: str) -> object:
        """Return something that changes with the current revision of a book.

        Raises:
            UnknownBook: there is none of that name.
        """
        raise NotImplementedError

    def _load(self, name: str) -> BookIndex:
        raise NotImplementedError

    def books(self) -> list[Manifest]:
        """List the current revision of every book."""
        return list(self.manifests())

    def find(self, book: str) -> Manifest:
        """Return what is recorded of a book.

        Raises:
            UnknownBook: there is none of that name, or its index is damaged.
        """
        found = next((manifest for manifest in self.manifests() if manifest.book == book), None)
        if found is None:
            raise self._unknown(book)
        return found

    def open(self, book: str | None) -> BookIndex:
        """Return the current revision of a book; of the only one if `book` is `None`."""
        name = book or self._default or self._only_book()
        version_token = self._stamp(name)
        if index := self._cached_index(name, version_token):
            return index
        # One opens a new revision for all who ask for it at once: it may be large.
        with self._loading[hash(name) % MAX_CONCURRENT_LOADS]:
            return self._cached_index(name, version_token) or self._cache_index(
                name, version_token, self._load(name)
            )

    def _cached_index(self, name: str, version_token: object) -> BookIndex | None:
        with self._lock:
            opened = self._opened.get(name)
            if opened and opened.version_token == version_token:
                self._opened.move_to_end(name)
                return opened.index
        return None

    def _cache_index(self, name: str, version_token: object, index: BookIndex) -> BookIndex:
        with self._lock:
            # Those let go of are left to the garbage collector: a question may still use them.
            self._opened[name] = _OpenIndex(version_token, index)
            self._opened.move_to_end(name)
            while len(self._opened) > self._most:
                self._opened.popitem(last=False)
        return index

    def ping(self) -> None:
        """See that a book can be opened: the default one, or any.

        Raises:
            UnknownBook: there is none.
            IndexUnavailable: it cannot be opened.
        """
        self.open(self._default or next(iter(self.names()), None))

    def close(self) -> None:
        """Close every open index."""
        with self._lock:
            opened = list(self._opened.values())
            self._opened.clear()
        for one in opened:
            one.index.close()

    def _check_embedder(self, manifest: Manifest) -> None:
        if manifest.embedder != self._embedder:
            raise IndexMismatch(
                f"The index of {manifest.book!r} was built with the embedder "
                f"{manifest.embedder!r}, but {self._embedder!r} is configured."
            )

    def _only_book(self) -> str:
        names = list(islice(self.names(), 2))
        if len(names) == 1:
            return names[0]
        if not names:
            raise UnknownBook("No book has been ingested yet.")
        raise UnknownBook(f"Say which book is meant.{self._known()}")

    def _unknown(self, name: str) -> UnknownBook:
        return UnknownBook(f"There is no book {name!r}.{self._known()}")

    def _known(self) -> str:
        names = list(islice(self.names(), MAX_LISTED + 1))
        if not names:
            return " None has been ingested yet."
        return f" Known: {', '.join(names[:MAX_LISTED])}{', …' if len(names) > MAX_LISTED else '.'}"


MAX_OPEN_BOOKS = 32
"""How many books are held open, unless more or fewer are wanted."""


class DiskLibrary(BaseLibrary):
    """The books below a folder, on the embedded engine."""

    def __init__(
        self, folder: Path, *, embedder: str, default: str | None = None, most: int = MAX_OPEN_BOOKS
    ) -> None:
        """Serve the books below `folder` that `embedder` built."""
        super().__init__(embedder=embedder, default=default, most=most)
        self.where = str(folder.parent)
        self._folder = folder

    def manifests(self) -> Iterator[Manifest]:
        """Yield what is recorded of the current revision of every book, by name."""
        self._check_folder()
        for book in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            current = current_revision(book)
            manifest = read_manifest(current) if current else None
            if manifest:
                yield manifest

    def report(self, book: str) -> str | None:
        """Return what was noticed when a book was ingested, as JSON; `None` if that is lost."""
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
        if not is_intact(folder, contents=False):
            raise IndexUnavailable(damaged)
        try:
            statistics, contents = read_statistics(folder), read_contents(folder)
            vocabulary = read_vocabulary(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(damaged) from error
        return EdgeIndex(folder, manifest, statistics, contents, vocabulary)
