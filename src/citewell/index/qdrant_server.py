"""What a server holds of books beside their passages, and which revision of each readers use.

    citewell                              the catalogue: a point a piece of what a revision records
    citewell~BOOK~REVISION~NONCE          a collection with the passages of one revision
    citewell~BOOK                         an alias: the revision that readers use

A revision is complete before its alias names it, and never changes afterwards.
"""

import hashlib
import json
import logging
import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

from citewell.errors import BadSettings, IndexUnavailable, IndexUnreachable, RevisionGone
from citewell.index.revision import Manifest, parse_manifest
from citewell.options import IndexOptions

if TYPE_CHECKING:
    from qdrant_client import QdrantClient


LOG = logging.getLogger("citewell.index")
T = TypeVar("T")
Request = Callable[["QdrantClient"], T]
FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
MAX_WRITE_ATTEMPTS = 12
"""How many times as long as a read a write may take: it waits for every copy."""
TOO_MANY_REQUESTS, FAULT, MISSING = 429, 500, 404
NO_COMPRESSION = {"accept-encoding": "identity"}
"""Packed answers come in several writes, the second of which waits 40 ms for the first to be
acknowledged: far longer than sending them as they are takes."""


class QdrantServer:
    """Sends requests to whichever address answers; nothing is opened before the first."""

    def __init__(self, urls: str, options: IndexOptions) -> None:
        """Use the comma-separated `urls`, each process beginning with another.

        Raises:
            BadSettings: one of them is no address.
        """
        self.options = options
        self.urls = [_checked(url.strip()) for url in urls.split(",") if url.strip()]
        if not self.urls:
            raise BadSettings("CITEWELL_INDEX_URL is empty.")
        self._clients: dict[tuple[str, int], QdrantClient] = {}
        self._lock = Lock()
        self._first = os.getpid() % len(self.urls)

    def read(self, doing: str, request: Request[T]) -> T:
        """Return what the server answers to a request that changes nothing.

        Raises:
            IndexUnreachable: no address answers, or not with what was asked for.
            RevisionGone: it is not there.
        """
        return self._send(doing, request, self.options.timeout_seconds)

    def write(self, doing: str, request: Request[T]) -> T:
        """Return what the server answers to a request that may be sent twice without harm.

        Raises:
            IndexUnreachable: no address answers, or it refuses.
        """
        return self._send(doing, request, MAX_WRITE_ATTEMPTS * self.options.timeout_seconds)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _send(self, doing: str, request: Request[T], timeout: int) -> T:
        # Imported here: it takes seconds, and only those who use a server should wait.
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        waits = self._backoff()
        while True:
            place = self._first
            failed: Exception
            try:
                return request(self._client(self.urls[place], timeout))
            except ResponseHandlingException as error:
                failed, why = error, str(error.source) or type(error.source).__name__
            except UnexpectedResponse as error:
                failed, why = error, _error_text(error)
                if error.status_code == MISSING:
                    raise RevisionGone(f"The index failed while {doing}: {why}") from error
                if error.status_code not in (None, TOO_MANY_REQUESTS) and error.status_code < FAULT:
                    raise IndexUnreachable(f"The index failed while {doing}: {why}") from error
            wait = next(waits, None)
            if wait is None:
                raise IndexUnreachable(f"The index failed while {doing}: {why}") from failed
            LOG.warning("%s does not answer (%s), going on", _host(self.urls[place]), why)
            # Another thread may have found out the same, and gone on already.
            if place == self._first:
                self._first = (place + 1) % len(self.urls)
            sleep(wait)

    def _backoff(self) -> Iterator[float]:
        """Go on at once while there is an address that was not tried, then ever more slowly."""
        for attempt in range(self.options.retries):
            rounds = (attempt + 1) // len(self.urls)
            yield min(LONGEST_WAIT, FIRST_WAIT * 2 ** (rounds - 1)) if rounds else 0.0

    def _client(self, url: str, timeout: int) -> "QdrantClient":
        with self._lock:
            known = self._clients.get((url, timeout))
            if known is None:
                known = self._clients[url, timeout] = _open(url, self.options, timeout)
            return known


def _open(url: str, options: IndexOptions, timeout: int) -> "QdrantClient":
    try:
        from httpx import Limits
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise BadSettings(
            "CITEWELL_INDEX_URL needs the package qdrant-client: pip install 'citewell[qdrant]'."
        ) from error
    more: dict[str, Any] = {}
    if options.ca_file:
        more["verify"] = ssl.create_default_context(cafile=options.ca_file)
    key = options.api_key.get_secret_value() if options.api_key else ""
    return QdrantClient(
        url=url,
        timeout=timeout,
        # The key as a header: given as such, it would warn where the operator wants no TLS.
        headers=NO_COMPRESSION | ({"api-key": key} if key else {}),
        # It asks the server for its version in a thread of its own, and only prints what it finds.
        check_compatibility=False,
        limits=Limits(max_connections=None, max_keepalive_connections=32),
        **more,
    )


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSettings(
            "CITEWELL_INDEX_URL is no address, or a list of them: one looks like "
            "http://127.0.0.1:6333."
        )
    return url


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _error_text(error: Any) -> str:
    try:
        return str(error.structured()["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return f"it answers {error.status_code}"


def hosts(urls: Sequence[str]) -> str:
    """Name the addresses without what else they may hold."""
    return ", ".join(map(_host, urls))


SEPARATOR = "~"
"""Stands in no name of a book, and needs no escape in an address."""
PIECE = 200_000
"""Characters of one point: requests have a limit, and a long book's words are megabytes."""
PAGE_SIZE = 64
ABANDONED_AFTER = timedelta(days=1)
"""A revision that was begun so long ago and never finished was given up."""
CHECKSUMS = "seal"
BEGUN = "begun"
USED = "used"
_NAMESPACE = UUID("1f0a5a52-5b1f-5f0e-8a58-6c1c0c6f7d3e")


@dataclass(frozen=True, slots=True)
class ServerRevision:
    """A revision on the server."""

    book: str
    revision: str
    collection: str


class RevisionCatalog:
    """Revisions of books on one server."""

    def __init__(self, server: QdrantServer) -> None:
        """Look at `server`; nothing is sent yet."""
        self._server = server
        self._name = server.options.prefix

    def alias(self, book: str) -> str:
        """Name what always stands for the book's current revision."""
        return f"{self._name}{SEPARATOR}{book}"

    def current(self) -> dict[str, ServerRevision]:
        """Return the revision that readers use of each book."""
        found = self._server.read("listing", lambda client: client.get_aliases().aliases)
        return {
            kept.book: kept
            for one in found
            if (kept := self._parse(one.collection_name))
            and one.alias_name == self.alias(kept.book)
        }

    def manifests(self, kept: Iterable[ServerRevision]) -> list[Manifest]:
        """Return what is recorded of revisions; those of another version are left out."""
        wanted = {one.collection for one in kept}
        # Of one it is asked for alone; of more, all are read and the others left.
        only = {"collection": next(iter(wanted))} if len(wanted) == 1 else {}
        pieces = self._scroll(_where(part="manifest", **only)) if wanted else ()
        texts = (piece["text"] for piece in pieces if piece["collection"] in wanted)
        found = (parse_manifest(text) for text in texts)
        return sorted((one for one in found if one), key=lambda manifest: manifest.book)

    def parts(self, kept: ServerRevision) -> dict[str, str]:
        """Return all that a revision recorded beside its passages, each part checked.

        Raises:
            IndexUnavailable: something is missing or damaged.
        """
        gathered: dict[str, list[tuple[int, str]]] = {}
        for piece in self._scroll(_where(collection=kept.collection)):
            gathered.setdefault(piece["part"], []).append((piece["number"], piece["text"]))
        parts = {name: "".join(t for _, t in sorted(found)) for name, found in gathered.items()}
        try:
            sums = json.loads(parts[CHECKSUMS])
            whole = all(_checksum(parts[name]) == sums["parts"][name] for name in sums["parts"])
        except (KeyError, ValueError, TypeError):
            whole = False
        if not whole:
            raise IndexUnavailable(
                f"The index of {kept.book!r} is incomplete or damaged; ingest the book again."
            )
        return parts

    def begin(self, book: str, revision: str) -> ServerRevision:
        """Name a new revision that nobody sees yet, and note when it was begun."""
        self._create()
        nonce = uuid4().hex[:8]
        kept = ServerRevision(book, revision, SEPARATOR.join((self._name, book, revision, nonce)))
        self._put(kept, {BEGUN: datetime.now(UTC).isoformat()})
        return kept

    def record_checksums(
        self, kept: ServerRevision, parts: Mapping[str, str], checksum: str
    ) -> None:
        """Record what belongs to a revision whose passages are written."""
        sums = {name: _checksum(text) for name, text in parts.items()}
        self._put(kept, parts)
        self._put(kept, {CHECKSUMS: json.dumps({"parts": sums, "passages": checksum})})

    def set_current(self, kept: ServerRevision) -> ServerRevision | None:
        """Make a sealed revision the one that readers use, in one step; give the one before.

        Only what is noted here to have been used is ever swept before it is a day old: another host
        may have sealed a revision, and be about to send readers there.
        """
        from qdrant_client import models

        before = self.current().get(kept.book)
        alias = self.alias(kept.book)
        new = models.CreateAlias(collection_name=kept.collection, alias_name=alias)
        steps: list[Any] = [models.CreateAliasOperation(create_alias=new)]
        if before:
            old = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            steps.insert(0, old)
        self._server.write("publishing", lambda client: client.update_collection_aliases(steps))
        self._put(kept, {USED: datetime.now(UTC).isoformat()})
        return before

    def drop_alias(self, book: str) -> None:
        """Let readers know of a book no longer."""
        from qdrant_client import models

        gone = models.DeleteAlias(alias_name=self.alias(book))
        step = models.DeleteAliasOperation(delete_alias=gone)
        self._server.write("removing", lambda client: client.update_collection_aliases([step]))

    def sweep(self, book: str, keep: Sequence[ServerRevision]) -> int:
        """Delete every revision that was used but those, and what was given up; give how many."""
        current = self.current().get(book)
        kept = {one.collection for one in (*keep, *([current] if current else ()))}
        swept = 0
        for one in self.all(book):
            if one.collection not in kept and self._is_over(one):
                self.drop(one)
                swept += 1
        return swept

    def drop(self, kept: ServerRevision) -> None:
        """Delete a revision, its passages first."""
        name = kept.collection
        self._server.write("removing", lambda client: client.delete_collection(name))
        self._server.write(
            "removing", lambda client: client.delete(self._name, _where(collection=name))
        )

    def all(self, book: str) -> list[ServerRevision]:
        """Return every revision of a book, also those that are being written."""
        begun = self._scroll(_where(book=book, part=BEGUN))
        names = sorted({piece["collection"] for piece in begun})
        return [one for one in map(self._parse, names) if one]

    def _is_over(self, kept: ServerRevision) -> bool:
        """Tell a revision that nobody is writing or about to send readers to."""
        if any(self._scroll(_where(collection=kept.collection, part=USED))):
            return True
        begun = self._scroll(_where(collection=kept.collection, part=BEGUN))
        now = datetime.now(UTC)
        return all(now - datetime.fromisoformat(piece["text"]) > ABANDONED_AFTER for piece in begun)

    def _parse(self, name: str) -> ServerRevision | None:
        prefix, *rest = name.split(SEPARATOR)
        if prefix != self._name or len(rest) != 3:  # noqa: PLR2004 - book, revision, nonce
            return None
        return ServerRevision(rest[0], rest[1], name)

    def _create(self) -> None:
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

    def _put(self, kept: ServerRevision, parts: Mapping[str, str]) -> None:
        from qdrant_client import models

        for name, text in parts.items():
            for number, start in enumerate(range(0, max(1, len(text)), PIECE)):
                payload = {
                    "book": kept.book,
                    "collection": kept.collection,
                    "part": name,
                    "number": number,
                    "text": text[start : start + PIECE],
                }
                identity = str(uuid5(_NAMESPACE, f"{kept.collection}\n{name}\n{number}"))
                point = models.PointStruct(id=identity, vector={}, payload=payload)
                self._server.write("writing", _upsert(self._name, [point]))

    def _scroll(self, where: Any) -> Iterator[dict[str, Any]]:
        offset: Any = None
        while True:
            try:
                records, offset = self._server.read(
                    "reading", _page_of(self._name, where=where, offset=offset)
                )
            except RevisionGone:
                return  # nothing was ever put on this server
            yield from (record.payload or {} for record in records)
            if offset is None:
                return


def count_replicas(client: "QdrantClient", server: QdrantServer) -> int:
    """Return how many nodes get a copy: as many as the settings say, or all there are."""
    if server.options.replication_factor:
        return server.options.replication_factor
    status = client.cluster_status()
    return max(1, len(getattr(status, "peers", None) or ()))


def _upsert(name: str, points: list[Any]) -> Any:
    return lambda client: client.upsert(name, points, wait=True)


def _page_of(name: str, *, where: Any, offset: Any) -> Any:
    return lambda client: client.scroll(
        name, scroll_filter=where, limit=PAGE_SIZE, offset=offset, with_payload=True
    )


def _where(**wanted: str) -> Any:
    from qdrant_client import models

    return models.Filter(
        must=[
            models.FieldCondition(key=name, match=models.MatchValue(value=value))
            for name, value in wanted.items()
        ]
    )


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
