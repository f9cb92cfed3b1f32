"""Books that are opened when they are asked for, and of which only the last few stay open."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from quire.errors import IndexMismatch, UnknownBook
from quire.index.book import BookIndex
from quire.index.revision import Manifest

NAMED = 10
"""How many books are named in a message."""
AT_ONCE = 16
"""How many books may be opened at once."""


@dataclass(frozen=True, slots=True)
class _Opened:
    stamp: object
    index: BookIndex


class Shelf:
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
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._lock = Lock()
        self._loading = [Lock() for _ in range(AT_ONCE)]

    def manifests(self) -> Iterator[Manifest]:
        """Give what is recorded of the current revision of every book, by name."""
        raise NotImplementedError

    def names(self) -> Iterator[str]:
        """Give the names of the books, in order."""
        return (manifest.book for manifest in self.manifests())

    def report(self, book: str) -> str | None:
        """Give what was noticed when a book was ingested, as JSON; `None` if that is lost."""
        raise NotImplementedError

    def _stamp(self, name: str) -> object:
        """Give something that changes with the current revision of a book.

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
        """Give what is recorded of a book.

        Raises:
            UnknownBook: there is none of that name, or its index is damaged.
        """
        found = next((manifest for manifest in self.manifests() if manifest.book == book), None)
        if found is None:
            raise self._unknown(book)
        return found

    def open(self, book: str | None) -> BookIndex:
        """Give the current revision of a book; of the only one if `book` is `None`."""
        name = book or self._default or self._only_book()
        stamp = self._stamp(name)
        if index := self._held(name, stamp):
            return index
        # One opens a new revision for all who ask for it at once: it may be large.
        with self._loading[hash(name) % AT_ONCE]:
            return self._held(name, stamp) or self._hold(name, stamp, self._load(name))

    def _held(self, name: str, stamp: object) -> BookIndex | None:
        with self._lock:
            opened = self._opened.get(name)
            if opened and opened.stamp == stamp:
                self._opened.move_to_end(name)
                return opened.index
        return None

    def _hold(self, name: str, stamp: object, index: BookIndex) -> BookIndex:
        with self._lock:
            # Those let go of are left to the garbage collector: a question may still use them.
            self._opened[name] = _Opened(stamp, index)
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
        names = list(islice(self.names(), NAMED + 1))
        if not names:
            return " None has been ingested yet."
        return f" Known: {', '.join(names[:NAMED])}{', …' if len(names) > NAMED else '.'}"
