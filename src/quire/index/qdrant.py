"""The index on the Qdrant engine, embedded in this process.

The engine holds the interpreter lock while it works and must be opened in the process that uses it.
A revision is written without a log and flushed, so that any number of processes may read it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    MatchAny,
    MatchPrefix,
    MatchValue,
    Modifier,
    PayloadSchemaType,
    Point,
    Query,
    QueryBatchRequest,
    QueryRequest,
    ScrollRequest,
    SearchParams,
    SparseVector,
    UpdateOperation,
)

from quire.domain import Chunk, Contents, Filters, Prefix, Wanted
from quire.errors import IndexUnavailable
from quire.index.revision import Manifest, chunk_from_json, chunk_to_json
from quire.index.sparse import passage_weights, query_weights
from quire.ports import Rankings, Vectors
from quire.prose.terms import TermStatistics
from quire.prose.vocabulary import Vocabulary

DENSE = "dense"
KEYWORD = "keyword"
KEYWORD_FIELDS = ("book", "chapter", "section", "url", "source_file", "content_hash", "role")
BATCH = 256
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@contextmanager
def _engine_errors(doing: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine raises plain `Exception` with a text; what is more special is not its own.
        if type(error) is not Exception and not isinstance(error, OSError):
            raise
        if "os error 28" in str(error):
            raise IndexUnavailable(
                f"The index failed while {doing}: there is no space left on its disk."
            ) from error
        raise IndexUnavailable(f"The index failed while {doing}: {error}") from error


def build_shard(
    folder: Path, entries: Iterable[tuple[Chunk, str, Vectors]], *, width: int, average: float
) -> None:
    """Write chunks, the texts they are found by, and their vectors into a new folder."""
    config = EdgeConfig(
        vectors={DENSE: EdgeVectorParams(size=width, distance=Distance.Cosine)},
        sparse_vectors={KEYWORD: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        wal_enabled=False,
    )
    with _engine_errors("writing"):
        folder.mkdir(parents=True)
        shard = EdgeShard.create(str(folder), config)
        for name in KEYWORD_FIELDS:
            shard.update(UpdateOperation.create_field_index(name, PayloadSchemaType.Keyword))
        shard.update(UpdateOperation.create_field_index("chunk_index", PayloadSchemaType.Integer))
        shard.update(UpdateOperation.create_field_index("text", PayloadSchemaType.Text))
        batch: list[Point] = []
        for chunk, text, vector in entries:
            sparse = passage_weights(text, average)
            vectors: Any = {DENSE: vector, KEYWORD: SparseVector(sparse.indices, sparse.values)}
            batch.append(Point(chunk.id, vectors, chunk_to_json(chunk)))
            if len(batch) == BATCH:
                shard.update(UpdateOperation.upsert_points(batch))
                batch = []
        if batch:
            shard.update(UpdateOperation.upsert_points(batch))
        shard.flush()
        shard.close()


class EdgeIndex:
    """One revision of one book on the embedded engine."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        statistics: TermStatistics,
        contents: Contents,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Open the revision in `folder` for reading."""
        self.book = manifest.book
        self.title = manifest.title
        self.revision = manifest.revision
        self.statistics = statistics
        self.contents = contents
        self.vocabulary = vocabulary or Vocabulary()
        with _engine_errors("opening"):
            self._shard = EdgeShard.load(str(folder / "shard"))

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        """Rank chunks by meaning and by keywords, at most `depth` each."""
        where = _filter(filters)
        nearest: Any = vector
        sparse = query_weights(text)
        requests = [
            QueryRequest(
                limit=depth,
                query=Query.Nearest(nearest, using=DENSE),
                filter=where,
                params=SearchParams(exact=False),
            )
        ]
        if sparse.indices:
            words = SparseVector(sparse.indices, sparse.values)
            requests.append(
                QueryRequest(limit=depth, query=Query.Nearest(words, using=KEYWORD), filter=where)
            )
        with _engine_errors("searching"):
            lists = self._shard.query_batch(QueryBatchRequest(requests))
        ranked = [[(str(point.id), point.score) for point in points] for points in lists]
        return Rankings(dense=ranked[0], keyword=ranked[1] if len(ranked) > 1 else [])

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        """Give chunks with their vectors, in the order of `ids`; unknown ids are left out."""
        with _engine_errors("reading"):
            known: list[Any] = [identity for identity in ids if _UUID.fullmatch(identity)]
            records = {str(r.id): r for r in self._shard.retrieve(known, True, [DENSE])}
        return [
            (
                chunk_from_json(identity, record.payload or {}),
                np.asarray(_dense(record.vector), np.float32),
            )
            for identity in ids
            if (record := records.get(identity))
        ]

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        """Give chunks in the order of `ids`; unknown ids are left out."""
        with _engine_errors("reading"):
            known: list[Any] = [identity for identity in ids if _UUID.fullmatch(identity)]
            records = {str(r.id): r for r in self._shard.retrieve(known, True, False)}
        return [
            chunk_from_json(identity, record.payload or {})
            for identity in ids
            if (record := records.get(identity))
        ]

    def neighbours(self, identity: str, reach: int) -> Sequence[Chunk]:
        """Give a chunk with the `reach` before and after it in the book; nothing if unknown."""
        place = self._places.get(identity)
        if place is None:
            return []
        return self.read(self._order[max(0, place - reach) : place + reach + 1])

    @cached_property
    def _order(self) -> list[str]:
        return [identity for heading in self.contents.walk() for identity in heading.chunks]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {identity: place for place, identity in enumerate(self._order)}

    def page(self, source_file: str) -> list[Chunk]:
        """Give every chunk of one page, in order."""
        where = Filter(must=[FieldCondition(key="source_file", match=MatchValue(source_file))])
        chunks: list[Chunk] = []
        offset = None
        with _engine_errors("reading"):
            while True:
                records, offset = self._shard.scroll(
                    ScrollRequest(limit=BATCH, offset=offset, filter=where, with_payload=True)
                )
                chunks += [chunk_from_json(str(r.id), r.payload or {}) for r in records]
                if offset is None:
                    return sorted(chunks, key=lambda chunk: chunk.sequence)

    def close(self) -> None:
        """Give the files back."""
        self._shard.close()


def _dense(vectors: object) -> object:
    assert isinstance(vectors, dict)
    return vectors[DENSE]


def _filter(filters: Filters) -> Filter | None:
    """Give the filters as the engine's own, so that it looks only where they allow."""
    fields: list[Any] = [
        Filter(should=_conditions(name, values))
        for name, values in filters.wanted.items()
        if values
    ]
    return Filter(must=fields) if fields else None


def _conditions(name: str, values: Wanted) -> list[Any]:
    whole = [value for value in values if isinstance(value, str)]
    begun = [
        FieldCondition(key=name, match=MatchPrefix(value.text))
        for value in values
        if isinstance(value, Prefix)
    ]
    return [*([FieldCondition(key=name, match=MatchAny(whole))] if whole else ()), *begun]
