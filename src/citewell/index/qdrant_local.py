"""The index on the embedded Qdrant engine.

The engine holds the GIL while it works and must be opened in the process that uses it. A revision
is flushed and has no write-ahead log, so any number of processes can read it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import disk_usage
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

from citewell.domain import AllowedValues, Chunk, Contents, Filters, Prefix
from citewell.errors import DiskFull, IndexUnavailable
from citewell.index.bm25 import Scored, SparseWeights, passage_weights
from citewell.index.book import BATCH_SIZE, DENSE, KEYWORD, BookIndex, Payload
from citewell.index.revision import Manifest, chunk_to_json
from citewell.ports import Vectors
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary

KEYWORD_FIELDS = ("book", "chapter", "section", "url", "source_file", "content_hash", "role")


@contextmanager
def _engine_errors(action: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine raises plain `Exception`; subclasses come from elsewhere.
        if type(error) is not Exception and not isinstance(error, OSError):
            raise
        if "os error 28" in str(error):
            raise IndexUnavailable(
                f"The index failed while {action}: there is no space left on its disk."
            ) from error
        raise IndexUnavailable(f"The index failed while {action}: {error}") from error


def build_shard(
    folder: Path, entries: Iterable[tuple[Chunk, str, Vectors]], *, width: int, average: float
) -> None:
    """Write chunks, the texts to index for them, and their vectors into a new folder."""
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
            if len(batch) == BATCH_SIZE:
                shard.update(UpdateOperation.upsert_points(batch))
                batch = []
        if batch:
            shard.update(UpdateOperation.upsert_points(batch))
        shard.flush()
        shard.close()


def _check_memory(folder: Path) -> None:
    """Check that a file system in memory can hold what the engine maps.

    The index files are sparse. If the memory for them is missing, the system kills the process.

    Raises:
        DiskFull: there is not enough space.
    """
    with suppress(OSError):  # only Linux has `/proc/mounts`
        mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
        enclosing = [mount for mount in mounts if folder.resolve().is_relative_to(mount[1])]
        if max(enclosing, key=lambda mount: len(mount[1]))[2] not in ("tmpfs", "ramfs"):
            return
        stats = [file.stat() for file in folder.rglob("*")]
        missing = sum(max(0, stat.st_size - 512 * stat.st_blocks) for stat in stats)
        if disk_usage(folder).free < missing:
            raise DiskFull(f"The index in {folder} needs {missing} more bytes of memory.")


class EdgeEngine:
    """A shard in a folder, open for reading."""

    def __init__(self, folder: Path) -> None:
        """Open the shard that `build_shard` wrote."""
        _check_memory(folder)
        with _engine_errors("opening"):
            self._shard = EdgeShard.load(str(folder))

    def search(
        self, vector: Vectors, keywords: SparseWeights, filters: Filters, limit: int
    ) -> list[list[Scored]]:
        """Return a dense ranking and, unless `keywords` is empty, a keyword ranking."""
        where = _filter(filters)
        dense: Any = vector
        requests = [
            QueryRequest(
                limit=limit,
                query=Query.Nearest(dense, using=DENSE),
                filter=where,
                params=SearchParams(exact=False),
            )
        ]
        if keywords.indices:
            sparse = SparseVector(keywords.indices, keywords.values)
            requests.append(
                QueryRequest(limit=limit, query=Query.Nearest(sparse, using=KEYWORD), filter=where)
            )
        with _engine_errors("searching"):
            rankings = self._shard.query_batch(QueryBatchRequest(requests))
        return [[(str(point.id), point.score) for point in points] for points in rankings]

    def payloads(self, ids: Sequence[str]) -> Mapping[str, Payload]:
        """Return the payloads of points; skip unknown ids."""
        point_ids: list[Any] = list(ids)
        with _engine_errors("reading"):
            records = self._shard.retrieve(point_ids, True, False)
        return {str(record.id): record.payload or {} for record in records}

    def vectors(self, ids: Sequence[str]) -> Mapping[str, tuple[Payload, Vectors]]:
        """Return the payloads and dense vectors of points; skip unknown ids."""
        point_ids: list[Any] = list(ids)
        with _engine_errors("reading"):
            records = self._shard.retrieve(point_ids, True, [DENSE])
        return {
            str(record.id): (record.payload or {}, np.asarray(_dense(record.vector), np.float32))
            for record in records
        }

    def page(self, source_file: str) -> Mapping[str, Payload]:
        """Return the payloads of a page's points."""
        where = Filter(must=[FieldCondition(key="source_file", match=MatchValue(source_file))])
        payloads: dict[str, Payload] = {}
        offset = None
        with _engine_errors("reading"):
            while True:
                records, offset = self._shard.scroll(
                    ScrollRequest(limit=BATCH_SIZE, offset=offset, filter=where, with_payload=True)
                )
                payloads |= {str(record.id): record.payload or {} for record in records}
                if offset is None:
                    return payloads

    def close(self) -> None:
        """Close the files."""
        self._shard.close()


class EdgeIndex(BookIndex):
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
        super().__init__(EdgeEngine(folder / "shard"), manifest, statistics, contents, vocabulary)


def _dense(vectors: object) -> object:
    assert isinstance(vectors, dict)
    return vectors[DENSE]


def _filter(filters: Filters) -> Filter | None:
    """Translate the filters to the engine's."""
    fields: list[Any] = [
        Filter(should=_conditions(name, values))
        for name, values in filters.by_field.items()
        if values
    ]
    return Filter(must=fields) if fields else None


def _conditions(name: str, values: AllowedValues) -> list[Any]:
    exact = [value for value in values if isinstance(value, str)]
    prefixes = [
        FieldCondition(key=name, match=MatchPrefix(value.text))
        for value in values
        if isinstance(value, Prefix)
    ]
    return [*([FieldCondition(key=name, match=MatchAny(exact))] if exact else ()), *prefixes]
