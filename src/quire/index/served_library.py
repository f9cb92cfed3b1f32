"""The books on a Qdrant server, each opened at the revision that its alias names."""

from collections.abc import Iterator, Mapping
from threading import Lock
from time import monotonic

from quire.errors import IndexUnavailable
from quire.index.book import BookIndex
from quire.index.catalogue import Catalogue, Kept
from quire.index.remote import ServerEngine
from quire.index.revision import (
    Manifest,
    parse_contents,
    parse_manifest,
    parse_statistics,
    parse_vocabulary,
)
from quire.index.server import Server, hosts
from quire.index.shelf import Shelf


class ServerLibrary(Shelf):
    """Any number of hosts may serve from the same server; none of them keeps anything."""

    def __init__(self, server: Server, *, embedder: str, default: str | None = None) -> None:
        """Serve the books on `server` that `embedder` built."""
        super().__init__(embedder=embedder, default=default, most=server.options.open_books)
        self.where = hosts(server.urls)
        self._server = server
        self._catalogue = Catalogue(server)
        self._current: Mapping[str, Kept] = {}
        self._looked_at = float("-inf")
        self._looking = Lock()

    def manifests(self) -> Iterator[Manifest]:
        """Give what is recorded of the current revision of every book, by name."""
        yield from self._catalogue.manifests(self._look().values())

    def names(self) -> Iterator[str]:
        """Give the names of the books, in order, without asking for what is recorded of each."""
        yield from sorted(self._look())

    def find(self, book: str) -> Manifest:
        """Give what is recorded of a book.

        Raises:
            UnknownBook: there is none of that name, or its index is of another version.
        """
        found = self._catalogue.manifests([self._kept(book)])
        if not found:
            raise self._unknown(book)
        return found[0]

    def report(self, book: str) -> str | None:
        """Give what was noticed when a book was ingested, as JSON; `None` if that is lost."""
        return self._catalogue.parts(self._kept(book)).get("report")

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self._server.close()

    def _stamp(self, name: str) -> object:
        return self._kept(name).collection

    def _kept(self, name: str) -> Kept:
        kept = self._look().get(name)
        if kept is None:
            raise self._unknown(name)
        return kept

    def _look(self) -> Mapping[str, Kept]:
        """Give the revisions that readers use, as they were a moment ago."""
        fresh = self._server.options.refresh_seconds
        if monotonic() - self._looked_at <= fresh:
            return self._current
        # One looks for all; the others go on with what is known, if anything is.
        if not self._looking.acquire(blocking=not self._current):
            return self._current
        try:
            if monotonic() - self._looked_at > fresh:
                self._current = self._catalogue.current()
                self._looked_at = monotonic()
        finally:
            self._looking.release()
        return self._current

    def _load(self, name: str) -> BookIndex:
        kept = self._kept(name)
        try:
            parts = self._catalogue.parts(kept)
        except IndexUnavailable:
            self._looked_at = float("-inf")  # it may have made room for a newer one: look again
            raise
        manifest = parse_manifest(parts.get("manifest", ""))
        if manifest is None:
            raise IndexUnavailable(
                f"The index of {name!r} is of another version; ingest the book again."
            )
        self._check_embedder(manifest)
        try:
            statistics = parse_statistics(parts["terms"])
            contents = parse_contents(parts["contents"])
            vocabulary = parse_vocabulary(parts["vocabulary"])
        except (ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(
                f"The index of {name!r} is damaged; ingest the book again."
            ) from error
        engine = ServerEngine(self._server, kept.collection)
        return BookIndex(engine, manifest, statistics, contents, vocabulary)
