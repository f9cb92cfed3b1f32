"""Sliding-window rate limits, counted in this process or in Redis."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import monotonic, time
from typing import Literal

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import ConfigurationError, StorageError

from citewell.errors import BadSettings, LimitsUnavailable, RateLimited
from citewell.options import LimitOptions

LOG = logging.getLogger("citewell.auth")
REDIS_RETRY_SECONDS = 5.0
"""How long Redis is not used after it failed."""
LimitKind = Literal["key", "session", "ip", "wrong_key"]
MESSAGE_SUFFIXES: dict[LimitKind, str] = {
    "key": "with this key",
    "session": "in this conversation",
    "ip": "from this address",
    "wrong_key": "with wrong keys from this address",
}


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """A caller's usage of one limit."""

    limit: int
    remaining: int
    reset: int
    """Seconds until the window resets."""

    @property
    def headers(self) -> dict[str, str]:
        """The `RateLimit` header fields of the IETF draft."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset),
        }


class Limiter:
    """Counts requests over sliding windows."""

    def __init__(
        self,
        options: LimitOptions,
        redis_url: str | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Count in the Redis at `redis_url`, or in this process."""
        rates: dict[LimitKind, str] = {
            "key": options.per_key,
            "session": options.per_session,
            "ip": options.per_ip,
            "wrong_key": options.wrong_keys,
        }
        self._limits: dict[LimitKind, RateLimitItem] = {k: parse(v) for k, v in rates.items() if v}
        self._refuse_without_redis = options.without_redis == "refuse"
        self._clock = clock
        self._memory = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._redis = _redis(redis_url, options.redis_timeout_seconds) if redis_url else None
        self._shared = SlidingWindowCounterRateLimiter(self._redis) if self._redis else None
        self._down_until: float | None = None

    async def count(self, kind: LimitKind, identifier: str) -> RateLimitState | None:
        """Count one request; return `None` if no such limit is configured.

        Raises:
            RateLimited: The limit is exceeded.
            LimitsUnavailable: Redis is down, and requests are refused without it.
        """
        item = self._limits.get(kind)
        if item is None:
            return None
        allowed, state = await self._hit_limit(item, (kind, identifier))
        if not allowed:
            window = f"{'an' if item.GRANULARITY.name == 'hour' else 'a'} {item.GRANULARITY.name}"
            raise RateLimited(
                f"More than {item.amount} requests {window} came {MESSAGE_SUFFIXES[kind]}.",
                limit=item.amount,
                retry_after=max(1, state.reset),
            )
        return state

    async def ping(self) -> None:
        """Check that Redis is reachable, if it is configured.

        Raises:
            LimitsUnavailable: Redis does not answer.
        """
        if self._redis and not await self._redis.check():
            raise LimitsUnavailable("Redis does not answer.")

    async def close(self) -> None:
        """Close all connections."""
        if self._redis:
            await self._redis.bridge.get_connection().aclose()  # type: ignore[attr-defined]

    async def _hit_limit(
        self, item: RateLimitItem, identifier: tuple[str, str]
    ) -> tuple[bool, RateLimitState]:
        if self._shared is None:
            return await _hit(self._memory, item, identifier)
        if self._down_until is None or self._clock() >= self._down_until:
            try:
                result = await _hit(self._shared, item, identifier)
            except StorageError as error:
                self._mark_redis_down(error)
            else:
                self._mark_redis_up()
                return result
        if self._refuse_without_redis:
            raise LimitsUnavailable("The service cannot take requests right now.")
        return await _hit(self._memory, item, identifier)

    def _mark_redis_down(self, error: StorageError) -> None:
        if self._down_until is None:
            refused = self._refuse_without_redis
            effect = "requests are refused" if refused else "this process counts by itself"
            LOG.warning("Redis does not answer, %s until it does: %s", effect, error.__cause__)
        self._down_until = self._clock() + REDIS_RETRY_SECONDS

    def _mark_redis_up(self) -> None:
        if self._down_until is not None:
            LOG.warning("Redis answers again, requests are counted there")
        self._down_until = None


async def _hit(
    limiter: SlidingWindowCounterRateLimiter, item: RateLimitItem, identifier: tuple[str, str]
) -> tuple[bool, RateLimitState]:
    allowed = await limiter.hit(item, *identifier)
    reset_at, remaining = await limiter.get_window_stats(item, *identifier)
    left = max(0, min(item.amount, remaining)) if allowed else 0
    return allowed, RateLimitState(item.amount, left, max(0, ceil(reset_at - time())))


def _redis(url: str, timeout: float) -> RedisStorage:
    try:
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return RedisStorage(
            f"async+{url}",
            wrap_exceptions=True,
            implementation="redispy",
            key_prefix="citewell",
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            # Requests would wait for retries; this process counts by itself instead.
            retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]
        )
    except ImportError as error:
        raise BadSettings(
            "CITEWELL_REDIS_URL needs the Redis client: pip install 'citewell[redis]'."
        ) from error
    except (ConfigurationError, ValueError) as error:
        raise BadSettings(f"CITEWELL_REDIS_URL cannot be used: {error}.") from error
