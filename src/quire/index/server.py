"""A Qdrant server or cluster: one or more addresses, each tried when another fails."""

import logging
import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from quire.errors import BadSettings, IndexUnreachable, RevisionGone
from quire.index.options import IndexOptions

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

LOG = logging.getLogger("quire.index")
T = TypeVar("T")
Request = Callable[["QdrantClient"], T]
FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
WRITES = 12
"""How many times as long as a read a write may take: it waits for every copy."""
TOO_MANY, FAULT, MISSING = 429, 500, 404
PLAIN = {"accept-encoding": "identity"}
"""Packed answers come in several writes, the second of which waits 40 ms for the first to be
acknowledged: far longer than sending them as they are takes."""


class Server:
    """Sends requests to whichever address answers; nothing is opened before the first."""

    def __init__(self, urls: str, options: IndexOptions) -> None:
        """Use the comma-separated `urls`, each process beginning with another.

        Raises:
            BadSettings: one of them is no address.
        """
        self.options = options
        self.urls = [_checked(url.strip()) for url in urls.split(",") if url.strip()]
        if not self.urls:
            raise BadSettings("QUIRE_INDEX_URL is empty.")
        self._clients: dict[tuple[str, int], QdrantClient] = {}
        self._lock = Lock()
        self._first = os.getpid() % len(self.urls)

    def read(self, doing: str, request: Request[T]) -> T:
        """Give what the server answers to a request that changes nothing.

        Raises:
            IndexUnreachable: no address answers, or not with what was asked for.
            RevisionGone: it is not there.
        """
        return self._send(doing, request, self.options.timeout_seconds)

    def write(self, doing: str, request: Request[T]) -> T:
        """Give what the server answers to a request that may be sent twice without harm.

        Raises:
            IndexUnreachable: no address answers, or it refuses.
        """
        return self._send(doing, request, WRITES * self.options.timeout_seconds)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _send(self, doing: str, request: Request[T], timeout: int) -> T:
        # Imported here: it takes seconds, and only those who use a server should wait.
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        waits = self._waits()
        while True:
            place = self._first
            failed: Exception
            try:
                return request(self._client(self.urls[place], timeout))
            except ResponseHandlingException as error:
                failed, why = error, str(error.source) or type(error.source).__name__
            except UnexpectedResponse as error:
                failed, why = error, _said(error)
                if error.status_code == MISSING:
                    raise RevisionGone(f"The index failed while {doing}: {why}") from error
                if error.status_code not in (None, TOO_MANY) and error.status_code < FAULT:
                    raise IndexUnreachable(f"The index failed while {doing}: {why}") from error
            wait = next(waits, None)
            if wait is None:
                raise IndexUnreachable(f"The index failed while {doing}: {why}") from failed
            LOG.warning("%s does not answer (%s), going on", _host(self.urls[place]), why)
            # Another thread may have found out the same, and gone on already.
            if place == self._first:
                self._first = (place + 1) % len(self.urls)
            sleep(wait)

    def _waits(self) -> Iterator[float]:
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
            "QUIRE_INDEX_URL needs the package qdrant-client: pip install 'quire[qdrant]'."
        ) from error
    more: dict[str, Any] = {}
    if options.ca_file:
        more["verify"] = ssl.create_default_context(cafile=options.ca_file)
    key = options.api_key.get_secret_value() if options.api_key else ""
    return QdrantClient(
        url=url,
        timeout=timeout,
        # The key as a header: given as such, it would warn where the operator wants no TLS.
        headers=PLAIN | ({"api-key": key} if key else {}),
        # It asks the server for its version in a thread of its own, and only prints what it finds.
        check_compatibility=False,
        limits=Limits(max_connections=None, max_keepalive_connections=32),
        **more,
    )


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSettings(
            "QUIRE_INDEX_URL is no address, or a list of them: one looks like "
            "http://127.0.0.1:6333."
        )
    return url


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _said(error: Any) -> str:
    try:
        return str(error.structured()["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return f"it answers {error.status_code}"


def hosts(urls: Sequence[str]) -> str:
    """Name the addresses without what else they may hold."""
    return ", ".join(map(_host, urls))
