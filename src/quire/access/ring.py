"""The keys a running service knows, read again from time to time."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic

from quire.access.keys import Key, digest_of
from quire.access.store import SqlKeyStore
from quire.errors import StoreUnavailable

LOG = logging.getLogger("quire.access")
PATIENCE = 1.0
"""An unknown key has the keys read again, but not more often than this."""


class Keyring:
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
    def had_keys(self) -> bool:
        """Whether there ever was a key; neither time nor revoking the last one opens a door."""
        return self._ever

    def allows(self, origin: str) -> bool:
        """Tell whether a publishable key that holds names the origin."""
        now = datetime.now(UTC)
        return any(origin in k.origins and k.holds(now) for k in (self._keys or {}).values())

    async def find(self, secret: str) -> Key | None:
        """Give the key of a secret, if there is one and it holds."""
        digest = digest_of(secret)
        await self.refresh()
        if digest not in (self._keys or {}):
            await self.refresh(min(PATIENCE, self._refresh))  # it may have been made just now
        key = (self._keys or {}).get(digest)
        return key if key and key.holds(datetime.now(UTC)) else None

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
