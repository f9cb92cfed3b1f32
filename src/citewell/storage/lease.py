"""Which processes that make answers are still there, and what only one of them may do at a time.

Each holds a lock for as long as it lives: a file beside SQLite's, or an advisory lock of
PostgreSQL. The system gives it back however the process ends, so a lock that can be had belongs to
a dead one. By the same connection or a file of its own, a process takes the turn in a conversation,
and one of all is the one that sweeps.
"""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from sqlalchemy import Function, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from citewell.errors import StoreUnavailable
from citewell.storage.database import UNAVAILABLE, Database, store_errors

POLL_SECONDS = 0.05
"""Seconds between two looks whether a turn has come."""
LEADER = 0x51_75_69_72_65_53
"""The number of the lock of the one that sweeps."""
LOCKS = "00000000-0000-0000-0000-000000000000"
"""Names the file in which turns are taken, beside SQLite's."""


class WorkerLease:
    """The sign of life of one process, and a look at those of others."""

    def __init__(self, database: Database) -> None:
        """Take a name that no other process has; nothing is locked yet."""
        self.name = str(uuid4())
        self._database = database
        self._file: IO[str] | None = None
        self._connection: AsyncConnection | None = None
        self._claiming = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._places: IO[str] | None = None

    async def claim(self) -> None:
        """Hold the lock from now on; does nothing if it is held."""
        if self._database.dialect == "sqlite":
            async with store_errors():
                self._lock_file()
        elif self._connection is None:
            async with self._claiming:
                await self._lock_number()

    async def is_leader(self) -> bool:
        """Return whether this process is the one of all that sweeps; it stays so while it lives."""
        await self.claim()
        return await self._take(LEADER)

    @asynccontextmanager
    async def exclusive_lock(self, name: str) -> AsyncIterator[None]:
        """Be the only process that is at something; without the database, one of several."""
        number = int.from_bytes(sha256(name.encode()).digest()[:8]) >> 1
        held = False
        with suppress(StoreUnavailable):
            # Another process has no event that could be waited for.
            while not (held := await self._take_or_undo(number)):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            if held:
                with suppress(StoreUnavailable):
                    await asyncio.shield(asyncio.create_task(self._give_back(number)))

    async def _take_or_undo(self, number: int) -> bool:
        """Take a lock, or leave nothing behind if the answer is given up in that moment."""
        taking = asyncio.create_task(self._take(number))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            with suppress(StoreUnavailable):
                if await taking:
                    await self._give_back(number)
            raise

    async def _take(self, number: int) -> bool:
        if self._database.dialect == "sqlite":
            return self._lock_byte(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return bool(await self._ask(func.pg_try_advisory_lock(number)))

    async def _give_back(self, number: int) -> None:
        if self._database.dialect == "sqlite":
            self._lock_byte(number, fcntl.LOCK_UN)
        else:
            await self._ask(func.pg_advisory_unlock(number))

    async def _ask(self, question: Function[Any]) -> object:
        """Ask by the connection that holds the locks, one at a time."""
        async with self._asking:
            connection = self._connection
            if connection is None:
                raise StoreUnavailable("The database was not there when this process began.")
            async with store_errors():
                return await connection.scalar(select(question))

    def _lock_byte(self, number: int, how: int) -> bool:
        """Lock one place of a file that all processes have open; the places hold nothing."""
        path = self._path(LOCKS)
        if path is None:
            return True  # a database in memory is of one process alone
        try:
            self._places = self._places or path.open("a+")
            fcntl.lockf(self._places, how, 1, number >> 2)
        except BlockingIOError:
            return False
        except OSError as error:
            raise StoreUnavailable(UNAVAILABLE) from error
        return True

    async def renew(self) -> None:
        """Hold the lock again if the database let go of it, by being restarted."""
        if self._connection is None:
            return
        try:
            await self._ask(func.now())
        except StoreUnavailable:
            await self.release()
            await self._lock_number()

    async def dead(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` whose process is there no longer."""
        return [name for name in names if name != self.name and await self._is_dead(name)]

    async def release(self) -> None:
        """Release the lock."""
        if self._file:
            self._file.close()
            self.forget(self.name)
            self._file = None
        if self._places:
            self._places.close()
            self._places = None
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
