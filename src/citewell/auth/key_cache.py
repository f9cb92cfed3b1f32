"""An in-memory cache of the API keys, refreshed from the database."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic

from citewell.errors import StoreUnavailable
from citewell.storage.keys import Key, SqlKeyStore, hash_secret

LOG = logging.getLogger("citewell.auth")
MIN_REFRESH_SECONDS = 1.0
"""The shortest interval at which unknown keys cause a refresh."""


class KeyCache:
    """Caches all keys that are not revoked, so that requests do not wait for the database.

    While the database is down, cached keys remain valid.
    """

    def __init__(
        self, store: SqlKeyStore, refresh_seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        """Read from `store` on first use, and again after `refresh_seconds`."""
        self._store = store
        self._refresh_seconds = refresh_seconds
        self._clock = clock
        self._keys: Mapping[str, Key] | None = None
        self.ever_had_keys = False
        """Whether a key ever existed: expiry, revocation or the loss of the database must not
        make the service public."""
        self._read_at = 0.0
        self._lock = asyncio.Lock()

    def allows_origin(self, origin: str) -> bool:
        """Return whether a valid publishable key names the origin."""
        now = datetime.now(UTC)
        return any(origin in k.origins and k.is_valid(now) for k in (self._keys or {}).values())

    async def find(self, secret: str) -> Key | None:
        """Return the valid key with this secret, or `None`."""
        digest = hash_secret(secret)
        await self.refresh()
        if digest not in (self._keys or {}):
            # It may be new.
            await self.refresh(min(MIN_REFRESH_SECONDS, self._refresh_seconds))
        key = (self._keys or {}).get(digest)
        return key if key and key.is_valid(datetime.now(UTC)) else None

    async def refresh(self, max_age: float | None = None) -> None:
        """Read the keys again if the cache is older than `max_age` seconds.

        Raises:
            StoreUnavailable: The keys cannot be read and never were.
        """
        max_age = self._refresh_seconds if max_age is None else max_age
        async with self._lock:
            if self._keys is not None and self._clock() - self._read_at < max_age:
                return
            try:
                keys = await self._store.all()
            except StoreUnavailable as error:
                if self._keys is None:
                    raise
                LOG.warning("keys cannot be read, using cached ones: %s", error.__cause__)
            else:
                self.ever_had_keys = self.ever_had_keys or bool(keys) or self._store.ever_had_keys()
                self._keys = {key.digest: key for key in keys if key.revoked_at is None}
            self._read_at = self._clock()
