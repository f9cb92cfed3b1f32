"""The keys a running service knows, read again from time to time."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic

from citewell.errors import StoreUnavailable
from citewell.storage.keys import Key, SqlKeyStore, hash_secret

LOG = logging.getLogger("citewell.auth")
MIN_REFRESH_SECONDS = 1.0
"""An unknown key has the keys read again, but not more often than this."""


class KeyCache:
    """Every key that was not revoked, in memory: requests do not wait for the database.

    While the database is down, the keys known before go on working.
    """

    def __init__(
        self, store: SqlKeyStore, refresh_seconds: float, clock: Callable[[], float] = monotonic
    ) -> None:
        """Read from `store` at first use, and again after `refresh_seconds`."""
        self._store = store
        self._refresh = refresh_seconds
        self._clock = clock
        self._keys: Mapping[str, Key] | None = None
        self._ever = False
        self._read_at = 0.0
        self._lock = asyncio.Lock()

    @property
    def ever_had_keys(self) -> bool:
        """Whether there ever was a key; neither time nor revoking the last one opens a door."""
        return self._ever

    def allows_origin(self, origin: str) -> bool:
        """Return whether a publishable key that holds names the origin."""
        now = datetime.now(UTC)
        return any(origin in k.origins and k.is_valid(now) for k in (self._keys or {}).values())

    async def find(self, secret: str) -> Key | None:
        """Return the key of a secret, if there is one and it holds."""
        digest = hash_secret(secret)
        await self.refresh()
        if digest not in (self._keys or {}):
            # it may have been made just now
            await self.refresh(min(MIN_REFRESH_SECONDS, self._refresh))
        key = (self._keys or {}).get(digest)
        return key if key and key.is_valid(datetime.now(UTC)) else None

    async def refresh(self, age: float | None = None) -> None:
        """Read the keys again if what is known is older than `age`.

        Raises:
            StoreUnavailable: they cannot be read and never were: who may come in is not known.
        """
        age = self._refresh if age is None else age
        async with self._lock:
            if self._keys is not None and self._clock() - self._read_at < age:
                return
            try:
                found = await self._store.all()
            except StoreUnavailable as error:
                if self._keys is None:
                    raise
                LOG.warning("keys cannot be read, the ones known stay: %s", error.__cause__)
            else:
                self._ever = self._ever or bool(found)
                self._keys = {key.digest: key for key in found if key.revoked_at is None}
            self._read_at = self._clock()
