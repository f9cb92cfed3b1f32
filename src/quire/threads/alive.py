"""Which processes that make answers are still there.

Each holds a lock for as long as it lives: a file beside SQLite's, or an advisory lock of
PostgreSQL. The system gives it back however the process ends, so a lock that can be had belongs to
a dead one.
"""

import asyncio
import fcntl
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO
from uuid import UUID, uuid4

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from quire.errors import StoreUnavailable
from quire.threads.database import Database, store_errors


class Alive:
    """The sign of life of one process, and a look at those of others."""

    def __init__(self, database: Database) -> None:
        """Take a name that no other process has; nothing is locked yet."""
        self.name = str(uuid4())
        self._database = database
        self._file: IO[str] | None = None
        self._connection: AsyncConnection | None = None
        self._claiming = asyncio.Lock()

    async def claim(self) -> None:
        """Hold the lock from now on; does nothing if it is held."""
        if self._database.dialect == "sqlite":
            async with store_errors():
                self._lock_file()
        elif self._connection is None:
            async with self._claiming:
                await self._lock_number()

    async def renew(self) -> None:
        """Hold the lock again if the database let go of it, by being restarted."""
        if self._connection is None:
            return
        try:
            async with store_errors():
                await self._connection.execute(select(1))
        except StoreUnavailable:
            await self.release()
            await self._lock_number()

    async def dead(self, names: Iterable[str]) -> list[str]:
        """Give those of `names` whose process is there no longer."""
        return [name for name in names if name != self.name and await self._is_dead(name)]

    async def release(self) -> None:
        """Give the lock back."""
        if self._file:
            self._file.close()
            self.forget(self.name)
            self._file = None
        if self._connection:
            # Ended, not put back into the pool: the lock goes with it.
            with suppress(StoreUnavailable):
                async with store_errors():
                    await self._connection.invalidate()
                    await self._connection.close()
            self._connection = None

    def forget(self, name: str) -> None:
        """Remove what a dead process left beside the database."""
        path = self._path(name)
        if path:
            path.unlink(missing_ok=True)

    def _lock_file(self) -> None:
        path = self._path(self.name)
        if path and not self._file:
            self._file = path.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    async def _lock_number(self) -> None:
        if self._connection:
            return  # another answer of this process was faster
        async with store_errors():
            connection = await self._database.engine.connect()
            # Without a transaction: the server minds those that stay open.
            connection = await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(select(func.pg_advisory_lock(_number(self.name))))
        self._connection = connection

    async def _is_dead(self, name: str) -> bool:
        if self._database.dialect == "sqlite":
            return self._is_free(name)
        async with self._database.reading() as connection:
            # Had for the length of this transaction only.
            free = select(func.pg_try_advisory_xact_lock(_number(name)))
            return bool((await connection.execute(free)).scalar())

    def _is_free(self, name: str) -> bool:
        path = self._path(name)
        with suppress(FileNotFoundError):
            if path:
                with path.open() as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        return False
        return True

    def _path(self, name: str) -> Path | None:
        file = self._database.url.database
        if not file or file == ":memory:":
            return None
        return Path(f"{file}-{UUID(name)}.alive")


def _number(name: str) -> int:
    return UUID(name).int >> 65  # as many bits as PostgreSQL's numbers have
