"""The index on a Qdrant server: a collection per revision, and the library of all books."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.domain import AllowedValues, Chunk, Filters, Prefix
from citewell.errors import IndexUnavailable, IndexUnreachable
from citewell.index.bm25 import Scored, SparseWeights, passage_weights
from citewell.index.book import BATCH_SIZE, DENSE, KEYWORD, BookIndex, Payload
from citewell.index.library import BaseLibrary
from citewell.index.qdrant_server import (
    QdrantServer,
    RevisionCatalog,
    ServerRevision,
    count_replicas,
    host_names,
)
from citewell.index.revision import (
    Manifest,
    chunk_to_json,
    parse_contents,
    parse_manifest,
    parse_statistics,
    parse_vocabulary,
)
from citewell.ports import Vectors

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models


Entry = tuple[Chunk, str, Vectors]
"""A chunk, the text to index for it, and its vector."""
MAX_FACET_VALUES = 1_000_000
"""More distinct values than any field of a book has."""
OVERSAMPLING = 3.0
"""Candidates per hit that are found by quantized vectors and rescored by the original ones."""
PAYLOAD_INDEXES = {
    **dict.fromkeys(Filters().by_field, "keyword"),
    "content_hash": "keyword",
    "chunk_index": "integer",
    "text": "text",
}
"""The indexed payload fields and their types."""
INDEXING_TIMEOUT = 600.0
"""Seconds to wait for the server to build its index before the revision is published anyway."""


class Checksum:
    """An order-independent checksum of passages with their vectors."""

    def __init__(self) -> None:
        """Start with no passages."""
        self.count = 0
        self._total = 0

    def add(self, chunk_id: str, payload: Payload, vector: Vectors) -> None:
        """Add one passage."""
        text = json.dumps([chunk_id, payload], sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(text.encode() + vector.astype("<f4").tobytes()).digest()
        self._total = (self._total + int.from_bytes(digest)) % (1 << 256)
        self.count += 1

    def __str__(self) -> str:
        return f"{self._total:064x}"


class ServerEngine:
    """A collection of the server, for reading."""

    def __init__(self, server: QdrantServer, collection: str) -> None:
        """Use `collection` without connecting."""
        self._server = server
        self._name = collection
        self._values: dict[str, list[str]] = {}

    def search(
        self, vector: Vectors, keywords: SparseWeights, filters: Filters, limit: int
    ) -> list[list[Scored]]:
        """Return a dense ranking and, unless `keywords` is empty, a keyword ranking."""
        from qdrant_client import models

        where = self._filter(filters)
        requests = [
            models.QueryRequest(
                query=vector.tolist(), using=DENSE, filter=where, limit=limit, params=self._params()
            )
        ]
        if keywords.indices:
            sparse = models.SparseVector(indices=keywords.indices, values=keywords.values)
            requests.append(
                models.QueryRequest(query=sparse, using=KEYWORD, filter=where, limit=limit)
            )
        rankings = self._server.read(
            "searching", lambda client: client.query_batch_points(self._name, requests)
        )
        # JSON carries the shortest decimal of a 32-bit float, which differs as a 64-bit float.
        return [[(str(p.id), float(np.float32(p.score))) for p in r.points] for r in rankings]

    def payloads(self, ids: Sequence[str]) -> Mapping[str, Payload]:
        """Return the payloads of points; skip unknown ids."""
        if not ids:
            return {}
        records = self._server.read(
            "reading", lambda client: client.retrieve(self._name, ids, with_payload=True)
        )
        return {str(record.id): record.payload or {} for record in records}

    def vectors(self, ids: Sequence[str]) -> Mapping[str, tuple[Payload, Vectors]]:
        """Return the payloads and dense vectors of points; skip unknown ids."""
        if not ids:
            return {}
        records = self._server.read(
            "reading",
            lambda client: client.retrieve(
                self._name, ids, with_payload=True, with_vectors=[DENSE]
            ),
        )
        return {str(record.id): (record.payload or {}, _dense(record)) for record in records}

    def page(self, source_file: str) -> Mapping[str, Payload]:
        """Return the payloads of a page's points."""
        where = self._filter(Filters(source_file=(source_file,)))
        records = self._server.scroll(self._name, BATCH_SIZE, scroll_filter=where)
        return {str(record.id): record.payload or {} for record in records}

    def points(self) -> Iterator[tuple[str, Payload, Vectors]]:
        """Yield all points with their payloads and dense vectors."""
        for record in self._server.scroll(self._name, BATCH_SIZE, with_vectors=[DENSE]):
            yield str(record.id), record.payload or {}, _dense(record)

    def close(self) -> None:
        """Do nothing: the library closes the connections."""

    def _params(self) -> "models.SearchParams | None":
        from qdrant_client import models

        if self._server.options.quantization == "none":
            return None
        rescoring = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return models.SearchParams(quantization=rescoring)

    def _filter(self, filters: Filters) -> "models.Filter | None":
        """Translate the filters to the server's."""
        from qdrant_client import models

        fields: list[Any] = [
            models.FieldCondition(
                key=name, match=models.MatchAny(any=self._expand_prefixes(name, values))
            )
            for name, values in filters.by_field.items()
            if values
        ]
        return models.Filter(must=fields) if fields else None

    def _expand_prefixes(self, name: str, values: AllowedValues) -> list[str]:
        """Replace prefixes by the values they match: only recent servers can filter by prefix."""
        prefixes = tuple(value.text for value in values if isinstance(value, Prefix))
        stored = self._field_values(name) if prefixes else ()
        exact = [value for value in values if isinstance(value, str)]
        return list(dict.fromkeys([*exact, *(v for v in stored if v.startswith(prefixes))]))

    def _field_values(self, name: str) -> list[str]:
        """Return the distinct values of a field, cached because revisions are immutable."""
        if name not in self._values:
            facet = self._server.read(
                "reading",
                lambda client: client.facet(self._name, name, limit=MAX_FACET_VALUES, exact=True),
            )
            self._values[name] = [str(hit.value) for hit in facet.hits]
        return self._values[name]


def write_passages(
    server: QdrantServer, collection: str, entries: Iterable[Entry], *, width: int, average: float
) -> Checksum:
    """Write chunks into a new collection and return their checksum.

    Raises:
        IndexUnreachable: the server fails, or does not return what was written.
    """
    server.write("writing", lambda client: _create(client, server, collection, width))
    sent, remaining = Checksum(), iter(entries)
    while points := [_point(entry, average, sent) for entry in islice(remaining, BATCH_SIZE)]:
        server.upsert(collection, points)
    stored = Checksum()
    for point in ServerEngine(server, collection).points():
        stored.add(*point)
    if str(stored) != str(sent):
        raise IndexUnreachable(
            f"The server does not return what was written to {collection}: "
            f"{stored.count} of {sent.count} passages."
        )
    _wait_for_indexing(server, collection)
    return sent


def _create(client: "QdrantClient", server: QdrantServer, collection: str, width: int) -> None:
    from qdrant_client import models

    options = server.options
    quantization: dict[str, Any] = {
        "none": None,
        "int8": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        ),
        "binary": models.BinaryQuantization(
            binary=models.BinaryQuantizationConfig(always_ram=True)
        ),
    }
    if client.collection_exists(collection):
        return  # an earlier attempt succeeded, but its response was lost
    client.create_collection(
        collection,
        vectors_config={DENSE: models.VectorParams(size=width, distance=models.Distance.COSINE)},
        sparse_vectors_config={KEYWORD: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        shard_number=options.shard_number,
        replication_factor=count_replicas(client, server),
        quantization_config=quantization[options.quantization],
    )
    for name, kind in PAYLOAD_INDEXES.items():
        client.create_payload_index(collection, name, models.PayloadSchemaType(kind))


def _point(entry: Entry, average: float, sent: Checksum) -> "models.PointStruct":
    from qdrant_client import models

    chunk, text, vector = entry
    keywords = passage_weights(text, average)
    payload = chunk_to_json(chunk)
    sent.add(chunk.id, payload, vector)
    sparse = models.SparseVector(indices=keywords.indices, values=keywords.values)
    return models.PointStruct(
        id=chunk.id, vector={DENSE: vector.tolist(), KEYWORD: sparse}, payload=payload
    )


def _wait_for_indexing(server: QdrantServer, collection: str) -> None:
    """Wait until the server has built its index, which makes searches fast."""
    deadline = monotonic() + INDEXING_TIMEOUT
    while monotonic() < deadline:
        info = server.read("reading", lambda client: client.get_collection(collection))
        if str(info.status.value) != "yellow":
            return
        sleep(0.2)


def _dense(record: "models.Record") -> Vectors:
    vectors: Any = record.vector
    return np.asarray(vectors[DENSE], np.float32)


class ServerLibrary(BaseLibrary):
    """The books on a server, which any number of hosts can share."""

    def __init__(self, server: QdrantServer, *, embedder: str, default: str | None = None) -> None:
        """Open the books on `server` that `embedder` built."""
        super().__init__(embedder=embedder, default=default, max_open=server.options.open_books)
        self.location = host_names(server.urls)
        self._server = server
        self._catalog = RevisionCatalog(server)
        self._current: Mapping[str, ServerRevision] = {}
        self._refreshed_at = float("-inf")
        self._refreshing = Lock()

    def manifests(self) -> Iterator[Manifest]:
        """Yield the manifest of each book's current revision, ordered by name."""
        yield from self._catalog.manifests(self._refresh().values())

    def names(self) -> Iterator[str]:
        """Yield the names of the books, in order, without reading their manifests."""
        yield from sorted(self._refresh())

    def find(self, book: str) -> Manifest:
        """Return the manifest of a book.

        Raises:
            UnknownBook: there is no such book, or its index has another format.
        """
        manifests = self._catalog.manifests([self._find_revision(book)])
        if not manifests:
            raise self._unknown(book)
        return manifests[0]

    def report(self, book: str) -> str | None:
        """Return a book's ingest report as JSON; `None` if it is missing."""
        return self._catalog.parts(self._find_revision(book)).get("report")

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self._server.close()

    def _version_token(self, name: str) -> object:
        return self._find_revision(name).collection

    def _find_revision(self, name: str) -> ServerRevision:
        revision = self._refresh().get(name)
        if revision is None:
            raise self._unknown(name)
        return revision

    def _refresh(self) -> Mapping[str, ServerRevision]:
        """Return the current revisions, at most `refresh_seconds` old."""
        max_age = self._server.options.refresh_seconds
        if monotonic() - self._refreshed_at <= max_age:
            return self._current
        # One thread refreshes; the others use the old revisions, if there are any.
        if not self._refreshing.acquire(blocking=not self._current):
            return self._current
        try:
            if monotonic() - self._refreshed_at > max_age:
                self._current = self._catalog.current()
                self._refreshed_at = monotonic()
        finally:
            self._refreshing.release()
        return self._current

    def _load(self, name: str) -> BookIndex:
        revision = self._find_revision(name)
        try:
            parts = self._catalog.parts(revision)
        except IndexUnavailable:
            self._refreshed_at = float("-inf")  # a newer revision may have replaced it
            raise
        manifest = parse_manifest(parts.get("manifest", ""))
        if manifest is None:
            raise IndexUnavailable(
                f"The index of {name!r} has another format; ingest the book again."
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
        engine = ServerEngine(self._server, revision.collection)
        return BookIndex(engine, manifest, statistics, contents, vocabulary)
