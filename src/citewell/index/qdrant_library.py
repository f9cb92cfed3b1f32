"""The passages of one revision in a collection of a Qdrant server."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.domain import Chunk, Filters, Prefix, Wanted
from citewell.errors import IndexUnavailable, IndexUnreachable
from citewell.index.bm25 import Scored, SparseWeights, passage_weights
from citewell.index.book import BATCH, DENSE, KEYWORD, BookIndex, Payload
from citewell.index.library import BaseLibrary
from citewell.index.qdrant_server import (
    QdrantServer,
    RevisionCatalog,
    ServerRevision,
    count_replicas,
    hosts,
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
"""A chunk, the text it is found by, and its vector."""
MAX_FACET_VALUES = 1_000_000
"""More than any book has chapters, pages or addresses."""
OVERSAMPLING = 3.0
"""So many times as many are found by the smaller form of the vectors as are scored by the whole."""
INDEXED = {
    **dict.fromkeys(Filters().wanted, "keyword"),
    "content_hash": "keyword",
    "chunk_index": "integer",
    "text": "text",
}
"""Fields that the server can look passages up by, and how."""
INDEXING_TIMEOUT = 600.0
"""Seconds that the server may take to build its index before readers are sent there anyway."""


class Checksum:
    """Sums up passages with their vectors, in whatever order they come."""

    def __init__(self) -> None:
        """Begin with none."""
        self.count = 0
        self._total = 0

    def add(self, identity: str, payload: Payload, vector: Vectors) -> None:
        """Count one passage."""
        said = json.dumps([identity, payload], sort_keys=True, ensure_ascii=False)
        seen = hashlib.sha256(said.encode() + vector.astype("<f4").tobytes()).digest()
        self._total = (self._total + int.from_bytes(seen)) % (1 << 256)
        self.count += 1

    def __str__(self) -> str:
        return f"{self._total:064x}"


class ServerEngine:
    """One collection, read from wherever the server is."""

    def __init__(self, server: QdrantServer, collection: str) -> None:
        """Read `collection`; nothing is sent yet."""
        self._server = server
        self._name = collection
        self._values: dict[str, list[str]] = {}

    def nearest(
        self, vector: Vectors, words: SparseWeights, filters: Filters, limit: int
    ) -> list[list[Scored]]:
        """Return points by meaning and, if there are any words, by those, best first."""
        from qdrant_client import models

        where = self._filter(filters)
        requests = [
            models.QueryRequest(
                query=vector.tolist(), using=DENSE, filter=where, limit=limit, params=self._params()
            )
        ]
        if words.indices:
            said = models.SparseVector(indices=words.indices, values=words.values)
            requests.append(
                models.QueryRequest(query=said, using=KEYWORD, filter=where, limit=limit)
            )
        lists = self._server.read(
            "searching", lambda client: client.query_batch_points(self._name, requests)
        )
        # JSON has the shortest text of a 32-bit number, which read as 64 bits is another one.
        return [[(str(p.id), float(np.float32(p.score))) for p in one.points] for one in lists]

    def payloads(self, ids: Sequence[str]) -> Mapping[str, Payload]:
        """Return what is kept of points; unknown ones are left out."""
        if not ids:
            return {}
        records = self._server.read(
            "reading", lambda client: client.retrieve(self._name, ids, with_payload=True)
        )
        return {str(record.id): record.payload or {} for record in records}

    def vectors(self, ids: Sequence[str]) -> Mapping[str, tuple[Payload, Vectors]]:
        """Return what is kept of points, with their vectors; unknown ones are left out."""
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
        """Return all points of one page."""
        where = self._filter(Filters(source_file=(source_file,)))
        return {str(record.id): record.payload or {} for record in self._scroll(where)}

    def everything(self) -> Iterator[tuple[str, Payload, Vectors]]:
        """Yield all points, with their vectors."""
        for record in self._scroll(None, with_vectors=[DENSE]):
            yield str(record.id), record.payload or {}, _dense(record)

    def close(self) -> None:
        """Do nothing: connections are the server's."""

    def _scroll(self, where: Any, **more: Any) -> "Iterator[models.Record]":
        offset: Any = None
        while True:
            records, offset = self._server.read(
                "reading", _page_of(self._name, scroll_filter=where, offset=offset, **more)
            )
            yield from records
            if offset is None:
                return

    def _params(self) -> "models.SearchParams | None":
        from qdrant_client import models

        if self._server.options.quantization == "none":
            return None
        whole = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return models.SearchParams(quantization=whole)

    def _filter(self, filters: Filters) -> "models.Filter | None":
        """Return the filters as the server's own, so that it looks only where they allow."""
        from qdrant_client import models

        fields: list[Any] = [
            models.FieldCondition(
                key=name, match=models.MatchAny(any=self._expand_prefixes(name, values))
            )
            for name, values in filters.wanted.items()
            if values
        ]
        return models.Filter(must=fields) if fields else None

    def _expand_prefixes(self, name: str, values: Wanted) -> list[str]:
        """Return every value that is meant: servers match whole values, beginnings only of late."""
        begun = tuple(value.text for value in values if isinstance(value, Prefix))
        known = self._field_values(name) if begun else ()
        whole = [value for value in values if isinstance(value, str)]
        return list(dict.fromkeys([*whole, *(one for one in known if one.startswith(begun))]))

    def _field_values(self, name: str) -> list[str]:
        """Return all values of a field; a revision never changes, so they are asked for once."""
        if name not in self._values:
            found = self._server.read(
                "reading",
                lambda client: client.facet(self._name, name, limit=MAX_FACET_VALUES, exact=True),
            )
            self._values[name] = [str(hit.value) for hit in found.hits]
        return self._values[name]


def write_passages(
    server: QdrantServer, collection: str, entries: Iterable[Entry], *, width: int, average: float
) -> Checksum:
    """Write chunks into a new collection, and give the checksum of what was sent.

    Raises:
        IndexUnreachable: the server fails, or does not give back what was written.
    """
    server.write("writing", lambda client: _create(client, server, collection, width))
    sent, left = Checksum(), iter(entries)
    while points := [_point(entry, average, sent) for entry in islice(left, BATCH)]:
        server.write("writing", _upsert(collection, points))
    kept = checksum_of(ServerEngine(server, collection))
    if str(kept) != str(sent):
        raise IndexUnreachable(
            f"The server does not give back what was written into {collection}: "
            f"{kept.count} of {sent.count} passages."
        )
    _wait_for_indexing(server, collection)
    return sent


def checksum_of(engine: ServerEngine) -> Checksum:
    """Sum up what a collection holds."""
    found = Checksum()
    for one in engine.everything():
        found.add(*one)
    return found


def _create(client: "QdrantClient", server: QdrantServer, collection: str, width: int) -> None:
    from qdrant_client import models

    options = server.options
    smaller: dict[str, Any] = {
        "none": None,
        "int8": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        ),
        "binary": models.BinaryQuantization(
            binary=models.BinaryQuantizationConfig(always_ram=True)
        ),
    }
    if client.collection_exists(collection):
        return  # an answer was lost, not the request
    client.create_collection(
        collection,
        vectors_config={DENSE: models.VectorParams(size=width, distance=models.Distance.COSINE)},
        sparse_vectors_config={KEYWORD: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        shard_number=options.shard_number,
        replication_factor=count_replicas(client, server),
        quantization_config=smaller[options.quantization],
    )
    for name, kind in INDEXED.items():
        client.create_payload_index(collection, name, models.PayloadSchemaType(kind))


def _point(entry: Entry, average: float, sent: Checksum) -> "models.PointStruct":
    from qdrant_client import models

    chunk, text, vector = entry
    words = passage_weights(text, average)
    payload = chunk_to_json(chunk)
    sent.add(chunk.id, payload, vector)
    said = models.SparseVector(indices=words.indices, values=words.values)
    return models.PointStruct(
        id=chunk.id, vector={DENSE: vector.tolist(), KEYWORD: said}, payload=payload
    )


def _wait_for_indexing(server: QdrantServer, collection: str) -> None:
    """Wait until the server has built its index: readers get what they get from then on."""
    until = monotonic() + INDEXING_TIMEOUT
    while monotonic() < until:
        found = server.read("reading", lambda client: client.get_collection(collection))
        if str(found.status.value) != "yellow":
            return
        sleep(0.2)


def _upsert(collection: str, points: list[Any]) -> Any:
    return lambda client: client.upsert(collection, points, wait=True)


def _page_of(collection: str, **more: Any) -> Any:
    return lambda client: client.scroll(collection, limit=BATCH, with_payload=True, **more)


def _dense(record: "models.Record") -> Vectors:
    vectors: Any = record.vector
    return np.asarray(vectors[DENSE], np.float32)


class ServerLibrary(BaseLibrary):
    """Any number of hosts may serve from the same server; none of them keeps anything."""

    def __init__(self, server: QdrantServer, *, embedder: str, default: str | None = None) -> None:
        """Serve the books on `server` that `embedder` built."""
        super().__init__(embedder=embedder, default=default, most=server.options.open_books)
        self.where = hosts(server.urls)
        self._server = server
        self._catalogue = RevisionCatalog(server)
        self._current: Mapping[str, ServerRevision] = {}
        self._looked_at = float("-inf")
        self._looking = Lock()

    def manifests(self) -> Iterator[Manifest]:
        """Yield what is recorded of the current revision of every book, by name."""
        yield from self._catalogue.manifests(self._refresh().values())

    def names(self) -> Iterator[str]:
        """Yield the names of the books, in order, without asking for what is recorded of each."""
        yield from sorted(self._refresh())

    def find(self, book: str) -> Manifest:
        """Return what is recorded of a book.

        Raises:
            UnknownBook: there is none of that name, or its index is of another version.
        """
        found = self._catalogue.manifests([self._find_revision(book)])
        if not found:
            raise self._unknown(book)
        return found[0]

    def report(self, book: str) -> str | None:
        """Return what was noticed when a book was ingested, as JSON; `None` if that is lost."""
        return self._catalogue.parts(self._find_revision(book)).get("report")

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self._server.close()

    def _stamp(self, name: str) -> object:
        return self._find_revision(name).collection

    def _find_revision(self, name: str) -> ServerRevision:
        kept = self._refresh().get(name)
        if kept is None:
            raise self._unknown(name)
        return kept

    def _refresh(self) -> Mapping[str, ServerRevision]:
        """Return the revisions that readers use, as they were a moment ago."""
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
        kept = self._find_revision(name)
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
