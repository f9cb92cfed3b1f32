"""Answers that all processes of a service remember together, in Redis.

A question that is being answered is claimed there; who asks the same elsewhere waits for the answer
instead of making it a second time. A claim is held only while its process lives, and without Redis
each process remembers for itself.
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
"""Seconds for which a question stays claimed after the last sign of life."""
POLL = 0.1
RETRY_PAUSE = 5.0
"""For so many seconds a Redis that failed is left alone."""
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end"


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer with all that was said on the way to it."""

    events: tuple[Event, ...]
    record: dict[str, Any]
    """What was stored with it."""
    made_at: float = field(default_factory=time)
    """In seconds since 1970: the processes need not be on one machine."""


class SharedAnswerCache:
    """What is remembered for all processes; every call may find that Redis is not there."""

    def __init__(
        self, url: str, *, timeout: float, keep: float, clock: Callable[[], float] = monotonic
    ) -> None:
        """Use the Redis at `url`, keeping answers for so many seconds; nothing is opened yet.

        Raises:
            BadSettings: the URL cannot be used, or the client is not installed.
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
        self._keep = keep
        self._clock = clock
        self._down_until = float("-inf")

    def with_scope(self, scope: str) -> Self:
        """Return the same for answers that depend on more than their key says, all of `scope`."""
        scoped = copy(self)
        scoped._scope = scope
        return scoped

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()

    async def find(self, key: object) -> CachedAnswer | None:
        """Return an answer that some process made."""
        said = await self._call_redis(self._redis.get, self._redis_key("answer", key))
        return _decode(said) if isinstance(said, bytes) else None

    async def keep(self, key: object, made: CachedAnswer) -> None:
        """Remember an answer for all."""
        name = self._redis_key("answer", key)
        await self._call_redis(self._redis.set, name, _encode(made), ex=max(1, round(self._keep)))

    async def get_or_claim(self, key: object) -> CachedAnswer | None:
        """Return an answer, waiting for one that is being made; `None` lets the caller make it."""
        while True:
            if made := await self.find(key):
                return made
            if await self._claim(key):
                return None
            await asyncio.sleep(POLL)

    @asynccontextmanager
    async def hold_lease(self, key: object) -> AsyncIterator[None]:
        """Show signs of life while a claimed question is answered, and then let go of it."""
        beating = asyncio.create_task(self._renew_lease(key))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
            await self._call_redis(
                self._redis.eval, RELEASE, 1, self._redis_key("claim", key), self._worker_id
            )

    async def _claim(self, key: object) -> bool:
        lease = round(1000 * LEASE)
        claimed = await self._call_redis(
            self._redis.set,
            self._redis_key("claim", key),
            self._worker_id,
            nx=True,
            px=lease,
            otherwise=True,
        )
        return bool(claimed)

    async def _renew_lease(self, key: object) -> None:
        while True:
            await asyncio.sleep(LEASE / 3)
            await self._call_redis(
                self._redis.pexpire, self._redis_key("claim", key), round(1000 * LEASE)
            )

    def _redis_key(self, what: str, key: object) -> str:
        said = f"{__version__}\n{self._scope}\n".encode() + _adapter(type(key)).dump_json(key)
        return f"citewell:{what}:{hashlib.sha256(said).hexdigest()}"

    async def _call_redis(
        self, call: Callable[..., Any], *given: Any, otherwise: Any = None, **more: Any
    ) -> Any:
        """Return what Redis says; `otherwise`, while it says nothing."""
        from redis.exceptions import RedisError

        if self._clock() < self._down_until:
            return otherwise
        try:
            return await call(*given, **more)
        except (RedisError, OSError) as error:
            LOG.warning("Redis does not answer, each process remembers for itself: %s", error)
            self._down_until = self._clock() + RETRY_PAUSE
            return otherwise


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _encode(made: CachedAnswer) -> bytes:
    events = [
        [type(event).__name__, _adapter(type(event)).dump_python(event, mode="json")]
        for event in made.events
    ]
    said = {"events": events, "record": made.record, "made_at": made.made_at}
    return json.dumps(said, ensure_ascii=False).encode()


def _decode(said: bytes) -> CachedAnswer | None:
    kinds = {kind.__name__: kind for kind in EVENT_TYPES}
    try:
        data = json.loads(said)
        events = tuple(
            _adapter(kinds[name]).validate_python(event, strict=False)
            for name, event in data["events"]
        )
        return CachedAnswer(events, data["record"], data["made_at"])
    except (ValueError, KeyError, TypeError, ValidationError):
        return None  # of another version, perhaps
