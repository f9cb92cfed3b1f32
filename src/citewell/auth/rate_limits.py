"""How often anyone may come, counted in this process or in Redis."""

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
"""For so many seconds a Redis that failed is left alone."""
LimitKind = Literal["key", "session", "ip", "wrong_key"]
PER: dict[LimitKind, str] = {
    "key": "with this key",
    "session": "in this conversation",
    "ip": "from this address",
    "wrong_key": "with wrong keys from this address",
}


@dataclass(frozen=True, slots=True)
class RateLimitState:
    """Where a caller stands with one limit."""

    limit: int
    remaining: int
    reset: int
    """Seconds until there is room again."""

    @property
    def headers(self) -> dict[str, str]:
        """The fields of the IETF draft."""
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
        """Count in the Redis at `redis_url`, or without one in this process."""
        rates: dict[LimitKind, str] = {
            "key": options.per_key,
            "session": options.per_session,
            "ip": options.per_ip,
            "wrong_key": options.wrong_keys,
        }
        self._items: dict[LimitKind, RateLimitItem] = {k: parse(v) for k, v in rates.items() if v}
        self._refuses = options.without_redis == "refuse"
        self._clock = clock
        self._memory = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._redis = _redis(redis_url, options.redis_timeout_seconds) if redis_url else None
        self._shared = SlidingWindowCounterRateLimiter(self._redis) if self._redis else None
        self._down_until: float | None = None

    async def count(self, kind: LimitKind, who: str) -> RateLimitState | None:
        """Count one request of someone; `None` if there is no such limit.

        Raises:
            RateLimited: it was one too many.
            LimitsUnavailable: Redis is down, and what is not counted is to be refused.
        """
        item = self._items.get(kind)
        if item is None:
            return None
        allowed, limit_state = await self._hit_limit(item, (kind, who))
        if not allowed:
            window = f"{'an' if item.GRANULARITY.name == 'hour' else 'a'} {item.GRANULARITY.name}"
            raise RateLimited(
                f"More than {item.amount} requests {window} came {PER[kind]}.",
                limit=item.amount,
                retry_after=max(1, limit_state.reset),
            )
        return limit_state

    async def ping(self) -> None:
        """See that requests can be counted where they should be.

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
        self, item: RateLimitItem, who: tuple[str, str]
    ) -> tuple[bool, RateLimitState]:
        if self._shared is None:
            return await _hit(self._memory, item, who)
        if self._down_until is None or self._clock() >= self._down_until:
            try:
                counted = await _hit(self._shared, item, who)
            except StorageError as error:
                self._mark_redis_down(error)
            else:
                self._mark_redis_up()
                return counted
        if self._refuses:
            raise LimitsUnavailable("The service cannot take requests right now.")
        return await _hit(self._memory, item, who)

    def _mark_redis_down(self, error: StorageError) -> None:
        if self._down_until is None:
            then = "requests are refused" if self._refuses else "this process counts for itself"
            LOG.warning("Redis does not answer, %s until it does: %s", then, error.__cause__)
        self._down_until = self._clock() + REDIS_RETRY_SECONDS

    def _mark_redis_up(self) -> None:
        if self._down_until is not None:
            LOG.warning("Redis answers again, requests are counted there")
        self._down_until = None


async def _hit(
    limiter: SlidingWindowCounterRateLimiter, item: RateLimitItem, who: tuple[str, str]
) -> tuple[bool, RateLimitState]:
    allowed = await limiter.hit(item, *who)
    reset_at, remaining = await limiter.get_window_stats(item, *who)
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
            # A request would wait for it; this process counts meanwhile.
            retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]
        )
    except ImportError as error:
        raise BadSettings(
            "CITEWELL_REDIS_URL needs the Redis client: pip install 'citewell[redis]'."
        ) from error
    except (ConfigurationError, ValueError) as error:
        raise BadSettings(f"CITEWELL_REDIS_URL cannot be used: {error}.") from error
