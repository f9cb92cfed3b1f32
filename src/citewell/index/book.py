"""The index of one revision of one book, on any engine."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

from citewell.domain import Chunk, Contents, Filters
from citewell.index.bm25 import Scored, SparseWeights, query_weights, top_k
from citewell.index.revision import Manifest, chunk_from_json
from citewell.ports import Rankings, Vectors
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary

DENSE = "dense"
KEYWORD = "keyword"
BATCH_SIZE = 256
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Payload = Mapping[str, Any]


class Engine(Protocol):
    """A vector database that stores the points of one revision."""

    def search(
        self, vector: Vectors, keywords: SparseWeights, filters: Filters, limit: int
    ) -> list[list[Scored]]:
        """Return a dense ranking and, unless `keywords` is empty, a keyword ranking."""
        ...

    def payloads(self, ids: Sequence[str]) -> Mapping[str, Payload]:
        """Return the payloads of points; skip unknown ids."""
        ...

    def vectors(self, ids: Sequence[str]) -> Mapping[str, tuple[Payload, Vectors]]:
        """Return the payloads and dense vectors of points; skip unknown ids."""
        ...

    def page(self, source_file: str) -> Mapping[str, Payload]:
        """Return the payloads of a page's points."""
        ...

    def close(self) -> None:
        """Release the engine's resources."""
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
        """Search with `engine`; the other arguments were stored with the revision."""
        self.book = manifest.book
        self.title = manifest.title
        self.revision = manifest.revision
        self.statistics = statistics
        self.contents = contents
        self.vocabulary = vocabulary or Vocabulary()
        self._engine = engine

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        """Return the `depth` best chunks by dense and by keyword search."""
        search = partial(self._engine.search, vector, query_weights(text), filters)
        dense, *keyword = top_k(search, depth)
        return Rankings(dense=dense, keyword=keyword[0] if keyword else [])

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors, in the order of `ids`; skip unknown ids."""
        points = self._engine.vectors(_valid_ids(ids))
        found = [(chunk_id, *points[chunk_id]) for chunk_id in ids if chunk_id in points]
        return [(chunk_from_json(chunk_id, payload), vector) for chunk_id, payload, vector in found]

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        """Return chunks in the order of `ids`; skip unknown ids."""
        payloads = self._engine.payloads(_valid_ids(ids))
        return [chunk_from_json(name, payloads[name]) for name in ids if name in payloads]

    def neighbours(self, chunk_id: str, count: int) -> Sequence[Chunk]:
        """Return a chunk with the `count` chunks before and after it; none if it is unknown."""
        position = self._positions.get(chunk_id)
        if position is None:
            return []
        return self.read(self._order[max(0, position - count) : position + count + 1])

    def page(self, source_file: str) -> list[Chunk]:
        """Return every chunk of a page, in order."""
        payloads = self._engine.page(source_file)
        chunks = (chunk_from_json(chunk_id, payload) for chunk_id, payload in payloads.items())
        return sorted(chunks, key=lambda chunk: chunk.sequence)

    def close(self) -> None:
        """Close the engine and its files."""
        self._engine.close()

    @cached_property
    def _order(self) -> list[str]:
        return [chunk_id for heading in self.contents.walk() for chunk_id in heading.chunks]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {chunk_id: position for position, chunk_id in enumerate(self._order)}


def _valid_ids(ids: Sequence[str]) -> list[str]:
    # Engines reject ids that are not UUIDs.
    return [chunk_id for chunk_id in ids if _UUID.fullmatch(chunk_id)]
