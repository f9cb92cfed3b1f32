"""The client of a Qdrant server, and the server's catalog of revisions.

    citewell                              the catalog: metadata of revisions, split into points
    citewell~BOOK~REVISION~NONCE          a collection with the passages of one revision; the random
                                          nonce separates hosts that write the same revision
    citewell~BOOK                         an alias of the book's current revision

A revision is complete before the alias names it and immutable afterwards.
"""

import hashlib
import json
import logging
import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import methodcaller
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

from citewell.errors import BadSettings, IndexUnavailable, IndexUnreachable, RevisionGone
from citewell.index.revision import Manifest, parse_manifest
from citewell.options import IndexOptions

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models


LOG = logging.getLogger("citewell.index")
T = TypeVar("T")
Request = Callable[["QdrantClient"], T]
FIRST_WAIT = 0.2
MAX_WAIT = 5.0
WRITE_TIMEOUT_FACTOR = 12
"""How much longer than a read a write may take, because it waits for every replica."""
TOO_MANY_REQUESTS, SERVER_ERROR, NOT_FOUND = 429, 500, 404
NO_COMPRESSION = {"accept-encoding": "identity"}
"""Compressed responses are sent in several writes, and delayed ACKs then cost 40 ms each."""


class QdrantServer:
    """A Qdrant server with failover among its addresses; connects on first use."""

    def __init__(self, urls: str, options: IndexOptions) -> None:
        """Use the comma-separated `urls`; processes start with different ones to spread the load.

        Raises:
            BadSettings: a URL is invalid.
        """
        self.options = options
        self.urls = [_check_url(url.strip()) for url in urls.split(",") if url.strip()]
        if not self.urls:
            raise BadSettings("CITEWELL_INDEX_URL is empty.")
        self._clients: dict[tuple[str, int], QdrantClient] = {}
        self._lock = Lock()
        self._active = os.getpid() % len(self.urls)

    def read(self, action: str, request: Request[T]) -> T:
        """Return the response to a read request; `action` describes it in errors.

        Raises:
            IndexUnreachable: no address answers, or the request is refused.
            RevisionGone: the collection does not exist.
        """
        return self._send(action, request, self.options.timeout_seconds)

    def write(self, action: str, request: Request[T]) -> T:
        """Return the response to an idempotent write request.

        Raises:
            IndexUnreachable: no address answers, or the request is refused.
        """
        return self._send(action, request, WRITE_TIMEOUT_FACTOR * self.options.timeout_seconds)

    def upsert(self, collection: str, points: list[Any]) -> None:
        """Write points and wait until they can be read."""
        self.write("writing", methodcaller("upsert", collection, points, wait=True))

    def scroll(self, collection: str, limit: int, **options: Any) -> "Iterator[models.Record]":
        """Yield the points of a collection, reading `limit` at a time."""
        offset: Any = None
        while True:
            arguments = {"limit": limit, "offset": offset, "with_payload": True, **options}
            request = methodcaller("scroll", collection, **arguments)
            records, offset = self.read("reading", request)
            yield from records
            if offset is None:
                return

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _send(self, action: str, request: Request[T], timeout: int) -> T:
        # Imported here because it takes seconds, and books on disk do not need it.
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        waits = self._backoff()
        while True:
            active = self._active
            failure: Exception
            try:
                return request(self._client(self.urls[active], timeout))
            except ResponseHandlingException as error:
                failure, reason = error, str(error.source) or type(error.source).__name__
            except UnexpectedResponse as error:
                failure, reason = error, _error_text(error)
                if error.status_code == NOT_FOUND:
                    raise RevisionGone(f"The index failed while {action}: {reason}") from error
                status = error.status_code
                if status not in (None, TOO_MANY_REQUESTS) and status < SERVER_ERROR:
                    raise IndexUnreachable(f"The index failed while {action}: {reason}") from error
            wait = next(waits, None)
            if wait is None:
                raise IndexUnreachable(f"The index failed while {action}: {reason}") from failure
            LOG.warning("%s does not answer (%s); retrying", _host(self.urls[active]), reason)
            # Another thread may have switched to the next address already.
            if active == self._active:
                self._active = (active + 1) % len(self.urls)
            sleep(wait)

    def _backoff(self) -> Iterator[float]:
        """Yield 0 until each address was tried once, then exponentially growing waits."""
        for attempt in range(self.options.retries):
            rounds = (attempt + 1) // len(self.urls)
            yield min(MAX_WAIT, FIRST_WAIT * 2 ** (rounds - 1)) if rounds else 0.0

    def _client(self, url: str, timeout: int) -> "QdrantClient":
        with self._lock:
            client = self._clients.get((url, timeout))
            if client is None:
                client = self._clients[url, timeout] = _connect(url, self.options, timeout)
            return client


def _connect(url: str, options: IndexOptions, timeout: int) -> "QdrantClient":
    try:
        from httpx import Limits
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise BadSettings(
            "CITEWELL_INDEX_URL needs the package qdrant-client: pip install 'citewell[qdrant]'."
        ) from error
    tls: dict[str, Any] = {}
    if options.ca_file:
        tls["verify"] = ssl.create_default_context(cafile=options.ca_file)
    key = options.api_key.get_secret_value() if options.api_key else ""
    return QdrantClient(
        url=url,
        timeout=timeout,
        # Passing the key as `api_key` would cause a warning without TLS.
        headers=NO_COMPRESSION | ({"api-key": key} if key else {}),
        # The check runs in another thread and only prints its result.
        check_compatibility=False,
        limits=Limits(max_connections=None, max_keepalive_connections=32),
        **tls,
    )


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSettings(
            "CITEWELL_INDEX_URL is not a URL, such as http://127.0.0.1:6333, or a list of them."
        )
    return url


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _error_text(error: Any) -> str:
    try:
        return str(error.structured()["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.status_code}"


def host_names(urls: Sequence[str]) -> str:
    """Return the hosts and ports of URLs, without any credentials."""
    return ", ".join(map(_host, urls))


SEPARATOR = "~"
"""A character that book names do not contain and URLs do not escape."""
PIECE_SIZE = 200_000
"""Characters per point; the size of a request is limited."""
PAGE_SIZE = 64
ABANDONED_AFTER = timedelta(days=1)
"""After this time, an unfinished revision counts as abandoned."""
CHECKSUMS, STARTED, PUBLISHED = "seal", "begun", "used"
"""Names of metadata that the catalog itself adds to a revision."""
_NAMESPACE = UUID("1f0a5a52-5b1f-5f0e-8a58-6c1c0c6f7d3e")


@dataclass(frozen=True, slots=True)
class ServerRevision:
    """The collection of a revision on the server."""

    book: str
    revision: str
    collection: str


class RevisionCatalog:
    """The revisions of books on a server."""

    def __init__(self, server: QdrantServer) -> None:
        """Use the catalog on `server` without connecting."""
        self._server = server
        self._name = server.options.prefix

    def alias(self, book: str) -> str:
        """Return the alias of a book's current revision."""
        return f"{self._name}{SEPARATOR}{book}"

    def current(self) -> dict[str, ServerRevision]:
        """Return the current revision of each book."""
        aliases = self._server.read("listing", lambda client: client.get_aliases().aliases)
        return {
            revision.book: revision
            for alias in aliases
            if (revision := self._parse_collection_name(alias.collection_name))
            and alias.alias_name == self.alias(revision.book)
        }

    def manifests(self, revisions: Iterable[ServerRevision]) -> list[Manifest]:
        """Return the manifests of revisions, except those of another format."""
        names = {revision.collection for revision in revisions}
        # The server filters by a single revision; several are filtered below.
        condition = {"collection": next(iter(names))} if len(names) == 1 else {}
        pieces = self._scroll(_match(part="manifest", **condition)) if names else ()
        texts = (piece["text"] for piece in pieces if piece["collection"] in names)
        manifests = (parse_manifest(text) for text in texts)
        return sorted((m for m in manifests if m), key=lambda m: m.book)

    def parts(self, revision: ServerRevision) -> dict[str, str]:
        """Return the metadata of a revision by name, after verifying its checksums.

        Raises:
            IndexUnavailable: a part is missing or damaged.
        """
        pieces: dict[str, list[tuple[int, str]]] = {}
        for piece in self._scroll(_match(collection=revision.collection)):
            pieces.setdefault(piece["part"], []).append((piece["number"], piece["text"]))
        parts = {name: "".join(t for _, t in sorted(texts)) for name, texts in pieces.items()}
        try:
            expected = json.loads(parts[CHECKSUMS])["parts"]
            is_intact = all(_checksum(parts[name]) == expected[name] for name in expected)
        except (KeyError, ValueError, TypeError):
            is_intact = False
        if not is_intact:
            raise IndexUnavailable(
                f"The index of {revision.book!r} is incomplete or damaged; ingest the book again."
            )
        return parts

    def create_revision(self, book: str, name: str) -> ServerRevision:
        """Add a new revision to the catalog, not yet visible to readers."""
        self._create_catalog()
        nonce = uuid4().hex[:8]
        revision = ServerRevision(book, name, SEPARATOR.join((self._name, book, name, nonce)))
        self._write_pieces(revision, {STARTED: datetime.now(UTC).isoformat()})
        return revision

    def write_parts(
        self, revision: ServerRevision, parts: Mapping[str, str], checksum: str
    ) -> None:
        """Store the metadata of a revision whose passages are written, with checksums."""
        sums = {name: _checksum(text) for name, text in parts.items()}
        self._write_pieces(revision, parts)
        self._write_pieces(revision, {CHECKSUMS: json.dumps({"parts": sums, "passages": checksum})})

    def set_current(self, revision: ServerRevision) -> ServerRevision | None:
        """Atomically make a complete revision the current one; return the previous one.

        The revision is marked as published, which makes it obsolete once another one is current. An
        unmarked one may be about to be published by another host, so it is kept for a day.
        """
        from qdrant_client import models

        previous = self.current().get(revision.book)
        alias = self.alias(revision.book)
        create = models.CreateAlias(collection_name=revision.collection, alias_name=alias)
        operations: list[Any] = [models.CreateAliasOperation(create_alias=create)]
        if previous:
            delete = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            operations.insert(0, delete)
        self._server.write("publishing", methodcaller("update_collection_aliases", operations))
        self._write_pieces(revision, {PUBLISHED: datetime.now(UTC).isoformat()})
        return previous

    def delete_alias(self, book: str) -> None:
        """Delete a book's alias, so that readers no longer find the book."""
        from qdrant_client import models

        alias = models.DeleteAlias(alias_name=self.alias(book))
        operation = models.DeleteAliasOperation(delete_alias=alias)
        self._server.write("removing", methodcaller("update_collection_aliases", [operation]))

    def delete_obsolete(self, book: str, keep: Sequence[ServerRevision]) -> int:
        """Delete a book's obsolete revisions, except `keep`; return how many."""
        current = self.current().get(book)
        kept = {r.collection for r in (*keep, *([current] if current else ()))}
        deleted = 0
        for r in self.all(book):
            if r.collection not in kept and self._is_obsolete(r):
                self.delete(r)
                deleted += 1
        return deleted

    def delete(self, revision: ServerRevision) -> None:
        """Delete a revision, its passages first."""
        name = revision.collection
        self._server.write("removing", methodcaller("delete_collection", name))
        self._server.write("removing", methodcaller("delete", self._name, _match(collection=name)))

    def all(self, book: str) -> list[ServerRevision]:
        """Return every revision of a book, unfinished ones included."""
        started = self._scroll(_match(book=book, part=STARTED))
        names = sorted({piece["collection"] for piece in started})
        return [revision for revision in map(self._parse_collection_name, names) if revision]

    def _is_obsolete(self, revision: ServerRevision) -> bool:
        """Return whether a revision that is not current was published before, or abandoned."""
        if any(self._scroll(_match(collection=revision.collection, part=PUBLISHED))):
            return True
        started = self._scroll(_match(collection=revision.collection, part=STARTED))
        now = datetime.now(UTC)
        return all(
            now - datetime.fromisoformat(piece["text"]) > ABANDONED_AFTER for piece in started
        )

    def _parse_collection_name(self, name: str) -> ServerRevision | None:
        prefix, *fields = name.split(SEPARATOR)
        if prefix != self._name or len(fields) != 3:  # noqa: PLR2004 - book, revision, nonce
            return None
        return ServerRevision(fields[0], fields[1], name)

    def _create_catalog(self) -> None:
        def create(client: "QdrantClient") -> None:
            from qdrant_client import models

            if not client.collection_exists(self._name):
                client.create_collection(
                    self._name,
                    vectors_config={},
                    shard_number=1,
                    replication_factor=count_replicas(client, self._server),
                )
            for field in ("book", "collection", "part"):
                client.create_payload_index(self._name, field, models.PayloadSchemaType.KEYWORD)

        self._server.write("writing", create)

    def _write_pieces(self, revision: ServerRevision, parts: Mapping[str, str]) -> None:
        from qdrant_client import models

        for name, text in parts.items():
            for number, start in enumerate(range(0, max(1, len(text)), PIECE_SIZE)):
                payload = {
                    "book": revision.book,
                    "collection": revision.collection,
                    "part": name,
                    "number": number,
                    "text": text[start : start + PIECE_SIZE],
                }
                point_id = str(uuid5(_NAMESPACE, f"{revision.collection}\n{name}\n{number}"))
                point = models.PointStruct(id=point_id, vector={}, payload=payload)
                self._server.upsert(self._name, [point])

    def _scroll(self, scroll_filter: Any) -> Iterator[dict[str, Any]]:
        try:
            for record in self._server.scroll(self._name, PAGE_SIZE, scroll_filter=scroll_filter):
                yield record.payload or {}
        except RevisionGone:
            return  # the server has no catalog yet


def count_replicas(client: "QdrantClient", server: QdrantServer) -> int:
    """Return the replication factor: as configured, or the number of nodes."""
    if server.options.replication_factor:
        return server.options.replication_factor
    status = client.cluster_status()
    return max(1, len(getattr(status, "peers", None) or ()))


def _match(**values: str) -> Any:
    from qdrant_client import models

    return models.Filter(
        must=[
            models.FieldCondition(key=name, match=models.MatchValue(value=value))
            for name, value in values.items()
        ]
    )


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
