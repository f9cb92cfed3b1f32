"""An answer cache in Redis, shared by all processes of a service.

A process that answers a question holds a lease on it; other processes wait for the answer instead
of making it again. If Redis is down, each process caches for itself.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Any, Self
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from citewell.errors import BadSettings
from citewell.events import Done, Event, Retrieved, Sentence, Started, Withheld
from citewell.version import __version__

LOG = logging.getLogger("citewell.answer")
EVENT_TYPES: tuple[type[Any], ...] = (Started, Retrieved, Sentence, Withheld, Done)
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
LEASE = 5.0
"""Seconds until a lease expires that is not renewed."""
POLL_INTERVAL = 0.1
RETRY_PAUSE = 5.0
"""Seconds without calls after Redis failed."""
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end"


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer with its events."""

    events: tuple[Event, ...]
    record: dict[str, Any]
    """The stored record of the answer."""
    made_at: float = field(default_factory=time)
    """Unix time, comparable between hosts."""


class SharedAnswerCache:
    """The shared cache; calls have no effect while Redis is down."""

    def __init__(
        self, url: str, *, timeout: float, ttl: float, clock: Callable[[], float] = monotonic
    ) -> None:
        """Use the Redis at `url`, without connecting yet; answers expire after `ttl` seconds.

        Raises:
            BadSettings: the URL is invalid, or the Redis client is not installed.
        """
        try:
            from redis.asyncio import Redis
        except ImportError as error:
            raise BadSettings(
                "CITEWELL_REDIS_URL needs the Redis client: pip install 'citewell[redis]'."
            ) from error
        try:
            self._redis = Redis.from_url(
                url, socket_timeout=timeout, socket_connect_timeout=timeout
            )
        except ValueError as error:
            raise BadSettings(f"CITEWELL_REDIS_URL cannot be used: {error}.") from error
        self._worker_id = str(uuid4())
        self._scope = ""
        self._ttl = ttl
        self._clock = clock
        self._down_until = float("-inf")

    def with_scope(self, scope: str) -> Self:
        """Return the same cache with `scope` as a part of every key."""
        scoped = copy(self)
        scoped._scope = scope
        return scoped

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()

    async def find(self, key: object) -> CachedAnswer | None:
        """Return a cached answer."""
        data = await self._call_redis(self._redis.get, self._redis_key("answer", key))
        return _decode(data) if isinstance(data, bytes) else None

    async def put(self, key: object, answer: CachedAnswer) -> None:
        """Cache an answer."""
        name = self._redis_key("answer", key)
        await self._call_redis(self._redis.set, name, _encode(answer), ex=max(1, round(self._ttl)))

    async def get_or_acquire_lease(self, key: object) -> CachedAnswer | None:
        """Return an answer, waiting for one in progress; `None` after acquiring the lease."""
        while True:
            if answer := await self.find(key):
                return answer
            if await self._acquire_lease(key):
                return None
            await asyncio.sleep(POLL_INTERVAL)

    @asynccontextmanager
    async def hold_lease(self, key: object) -> AsyncIterator[None]:
        """Renew an acquired lease, and release it at the end."""
        renewal = asyncio.create_task(self._renew_lease(key))
        try:
            yield
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal
            await self._call_redis(
                self._redis.eval, RELEASE, 1, self._redis_key("claim", key), self._worker_id
            )

    async def _acquire_lease(self, key: object) -> bool:
        acquired = await self._call_redis(
            self._redis.set,
            self._redis_key("claim", key),
            self._worker_id,
            nx=True,
            px=round(1000 * LEASE),
            default=True,
        )
        return bool(acquired)

    async def _renew_lease(self, key: object) -> None:
        while True:
            await asyncio.sleep(LEASE / 3)
            await self._call_redis(
                self._redis.pexpire, self._redis_key("claim", key), round(1000 * LEASE)
            )

    def _redis_key(self, purpose: str, key: object) -> str:
        data = f"{__version__}\n{self._scope}\n".encode() + _adapter(type(key)).dump_json(key)
        return f"citewell:{purpose}:{hashlib.sha256(data).hexdigest()}"

    async def _call_redis(
        self, call: Callable[..., Any], *args: Any, default: Any = None, **kwargs: Any
    ) -> Any:
        """Call Redis; return `default` while it is down."""
        from redis.exceptions import RedisError

        if self._clock() < self._down_until:
            return default
        try:
            return await call(*args, **kwargs)
        except (RedisError, OSError) as error:
            LOG.warning("Redis is unavailable, each process caches for itself: %s", error)
            self._down_until = self._clock() + RETRY_PAUSE
            return default


def _adapter(python_type: Any) -> TypeAdapter[Any]:
    if python_type not in _ADAPTERS:
        _ADAPTERS[python_type] = TypeAdapter(python_type)
    return _ADAPTERS[python_type]


def _encode(answer: CachedAnswer) -> bytes:
    events = [
        [type(event).__name__, _adapter(type(event)).dump_python(event, mode="json")]
        for event in answer.events
    ]
    data = {"events": events, "record": answer.record, "made_at": answer.made_at}
    return json.dumps(data, ensure_ascii=False).encode()


def _decode(encoded: bytes) -> CachedAnswer | None:
    types = {event_type.__name__: event_type for event_type in EVENT_TYPES}
    try:
        data = json.loads(encoded)
        events = tuple(
            _adapter(types[name]).validate_python(event, strict=False)
            for name, event in data["events"]
        )
        return CachedAnswer(events, data["record"], data["made_at"])
    except (ValueError, KeyError, TypeError, ValidationError):
        return None  # written by another version
