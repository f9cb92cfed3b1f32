"""Libraries: the current revisions of all books, opened on first use."""

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
    parse_contents,
    parse_statistics,
    parse_vocabulary,
    read_manifest,
)

MAX_LISTED = 10
"""Books named in an error message."""
MAX_CONCURRENT_LOADS = 16
"""Locks among which books share out their loading."""


@dataclass(frozen=True, slots=True)
class _OpenIndex:
    version_token: object
    index: BookIndex


class BaseLibrary:
    """Opens books on first use, and reopens those with a new revision."""

    location: str
    """Where the books are stored, for messages."""

    def __init__(self, *, embedder: str, default: str | None, max_open: int) -> None:
        """Open books that `embedder` built, at most `max_open` at a time."""
        self._embedder = embedder
        self._default = default
        self._max_open = max_open
        self._opened: OrderedDict[str, _OpenIndex] = OrderedDict()
        self._lock = Lock()
        self._load_locks = [Lock() for _ in range(MAX_CONCURRENT_LOADS)]

    def manifests(self) -> Iterator[Manifest]:
        """Yield the manifest of each book's current revision, ordered by name."""
        raise NotImplementedError

    def names(self) -> Iterator[str]:
        """Yield the names of the books, in order."""
        return (manifest.book for manifest in self.manifests())

    def report(self, book: str) -> str | None:
        """Return a book's ingest report as JSON; `None` if it is missing."""
        raise NotImplementedError

    def _version_token(self, name: str) -> object:
        """Return a value that changes with the book's current revision.

        Raises:
            UnknownBook: there is no such book.
        """
        raise NotImplementedError

    def _load(self, name: str) -> BookIndex:
        raise NotImplementedError

    def books(self) -> list[Manifest]:
        """Return the manifest of each book's current revision."""
        return list(self.manifests())

    def find(self, book: str) -> Manifest:
        """Return the manifest of a book.

        Raises:
            UnknownBook: there is no such book, or its index is damaged.
        """
        manifest = next((m for m in self.manifests() if m.book == book), None)
        if manifest is None:
            raise self._unknown(book)
        return manifest

    def open(self, book: str | None) -> BookIndex:
        """Return the current revision of a book; `None` means the default or only book."""
        name = book or self._default or self._only_book()
        version_token = self._version_token(name)
        if index := self._cached_index(name, version_token):
            return index
        # Concurrent callers wait for one of them to load the revision, which may be large.
        with self._load_locks[hash(name) % MAX_CONCURRENT_LOADS]:
            return self._cached_index(name, version_token) or self._cache_index(
                name, version_token, self._load(name)
            )

    def _cached_index(self, name: str, version_token: object) -> BookIndex | None:
        with self._lock:
            entry = self._opened.get(name)
            if entry and entry.version_token == version_token:
                self._opened.move_to_end(name)
                return entry.index
        return None

    def _cache_index(self, name: str, version_token: object, index: BookIndex) -> BookIndex:
        with self._lock:
            # Evicted indexes are not closed, because a question may still use them.
            self._opened[name] = _OpenIndex(version_token, index)
            self._opened.move_to_end(name)
            while len(self._opened) > self._max_open:
                self._opened.popitem(last=False)
        return index

    def ping(self) -> None:
        """Check that the default book, or any book, can be opened.

        Raises:
            UnknownBook: there is no book.
            IndexUnavailable: the book cannot be opened.
        """
        self.open(self._default or next(iter(self.names()), None))

    def close(self) -> None:
        """Close every open index."""
        with self._lock:
            entries = list(self._opened.values())
            self._opened.clear()
        for entry in entries:
            entry.index.close()

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
        raise UnknownBook(f"Name a book.{self._list_books()}")

    def _unknown(self, name: str) -> UnknownBook:
        return UnknownBook(f"There is no book {name!r}.{self._list_books()}")

    def _list_books(self) -> str:
        names = list(islice(self.names(), MAX_LISTED + 1))
        if not names:
            return " None has been ingested yet."
        return f" Known: {', '.join(names[:MAX_LISTED])}{', …' if len(names) > MAX_LISTED else '.'}"


class DiskLibrary(BaseLibrary):
    """The books in a folder, on the embedded engine."""

    def __init__(
        self, folder: Path, *, embedder: str, default: str | None = None, max_open: int = 32
    ) -> None:
        """Open the books in `folder` that `embedder` built."""
        super().__init__(embedder=embedder, default=default, max_open=max_open)
        self.location = str(folder.parent)
        self._folder = folder

    def manifests(self) -> Iterator[Manifest]:
        """Yield the manifest of each book's current revision, ordered by name."""
        self._check_folder()
        for book in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            current = current_revision(book)
            manifest = read_manifest(current) if current else None
            if manifest:
                yield manifest

    def report(self, book: str) -> str | None:
        """Return a book's ingest report as JSON; `None` if it is missing."""
        self._version_token(book)
        current = current_revision(self._folder / book)
        try:
            return (current / "report.json").read_text("utf-8") if current else None
        except (OSError, ValueError):
            return None

    def _version_token(self, name: str) -> int:
        if name != Path(name).name:  # prevents path traversal
            raise self._unknown(name)
        try:
            return (self._folder / name / "current").stat().st_mtime_ns
        except PermissionError as error:
            raise IndexUnavailable(f"The index of {name!r} cannot be read: {error}.") from error
        except (OSError, ValueError) as error:
            self._check_folder()
            raise self._unknown(name) from error

    def _check_folder(self) -> None:
        """Check that the folder can be read; a folder that never existed is an empty library.

        Raises:
            IndexUnavailable: the folder cannot be read, or it has disappeared.
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
                f"The index of {name!r} is incomplete or has another format; ingest the book again."
            )
        self._check_embedder(manifest)
        damaged = f"The index of {name!r} is incomplete or damaged; ingest the book again."
        if not is_intact(folder, verify_contents=False):
            raise IndexUnavailable(damaged)
        try:
            statistics = parse_statistics((folder / "terms.json").read_text("utf-8"))
            contents = parse_contents((folder / "contents.json").read_text("utf-8"))
            vocabulary = parse_vocabulary((folder / "vocabulary.json").read_text("utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(damaged) from error
        return EdgeIndex(folder, manifest, statistics, contents, vocabulary)
