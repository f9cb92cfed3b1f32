"""One revision of one book on any engine: what all of them do the same way."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

from citewell.domain import Chunk, Contents, Filters
from citewell.index.bm25 import Scored, SparseWeights, best, query_weights
from citewell.index.revision import Manifest, chunk_from_json
from citewell.ports import Rankings, Vectors
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary

DENSE = "dense"
KEYWORD = "keyword"
BATCH = 256
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Payload = Mapping[str, Any]


class Engine(Protocol):
    """Finds and keeps points; knows nothing of books."""

    def nearest(
        self, vector: Vectors, words: SparseWeights, filters: Filters, limit: int
    ) -> list[list[Scored]]:
        """Return points by meaning and, if there are any words, by those, best first."""
        ...

    def payloads(self, ids: Sequence[str]) -> Mapping[str, Payload]:
        """Return what is kept of points; unknown ones are left out."""
        ...

    def vectors(self, ids: Sequence[str]) -> Mapping[str, tuple[Payload, Vectors]]:
        """Return what is kept of points, with their vectors; unknown ones are left out."""
        ...

    def page(self, source_file: str) -> Mapping[str, Payload]:
        """Return all points of one page."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...


class BookIndex:
    """One revision of one book, ready to search."""

    def __init__(
        self,
        engine: Engine,
        manifest: Manifest,
        statistics: TermStatistics,
        contents: Contents,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Search with `engine`; the rest was recorded when the revision was made."""
        self.book = manifest.book
        self.title = manifest.title
        self.revision = manifest.revision
        self.statistics = statistics
        self.contents = contents
        self.vocabulary = vocabulary or Vocabulary()
        self._engine = engine

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        """Rank chunks by meaning and by keywords, at most `depth` each."""
        ask = partial(self._engine.nearest, vector, query_weights(text), filters)
        dense, *keyword = best(ask, depth)
        return Rankings(dense=dense, keyword=keyword[0] if keyword else [])

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors, in the order of `ids`; unknown ids are left out."""
        found = self._engine.vectors(_possible(ids))
        return [
            (chunk_from_json(identity, found[identity][0]), found[identity][1])
            for identity in ids
            if identity in found
        ]

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        """Return chunks in the order of `ids`; unknown ids are left out."""
        found = self._engine.payloads(_possible(ids))
        return [chunk_from_json(identity, found[identity]) for identity in ids if identity in found]

    def neighbours(self, identity: str, reach: int) -> Sequence[Chunk]:
        """Return a chunk with the `reach` before and after it in the book; nothing if unknown."""
        place = self._places.get(identity)
        if place is None:
            return []
        return self.read(self._order[max(0, place - reach) : place + reach + 1])

    def page(self, source_file: str) -> list[Chunk]:
        """Return every chunk of one page, in order."""
        found = self._engine.page(source_file)
        chunks = (chunk_from_json(identity, payload) for identity, payload in found.items())
        return sorted(chunks, key=lambda chunk: chunk.sequence)

    def close(self) -> None:
        """Close the engine and its files."""
        self._engine.close()

    @cached_property
    def _order(self) -> list[str]:
        return [identity for heading in self.contents.walk() for identity in heading.chunks]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {identity: place for place, identity in enumerate(self._order)}


def _possible(ids: Sequence[str]) -> list[str]:
    """Leave out what no engine takes for an id."""
    return [identity for identity in ids if _UUID.fullmatch(identity)]
