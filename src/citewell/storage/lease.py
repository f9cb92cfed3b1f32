"""Liveness of the worker processes, exclusive locks among them, and the election of a leader.

Every process holds a lock while it lives: a locked file beside the SQLite database, or an advisory
lock of PostgreSQL. The system releases it however the process ends, so a lock that can be acquired
belongs to a dead process. Answers in a thread and leadership need further locks of this type.
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
"""Seconds between two attempts to acquire a lock."""
LEADER_LOCK = 0x51_75_69_72_65_53
"""The key of the lock that the leader holds."""
SHARED_LOCK_FILE = "00000000-0000-0000-0000-000000000000"
"""Names the file, beside SQLite's, whose bytes all processes lock."""


class WorkerLease:
    """The lock that proves a process alive, and the locks that it shares with others."""

    def __init__(self, database: Database) -> None:
        """Choose a unique name without acquiring the lock."""
        self.name = str(uuid4())
        self._database = database
        self._file: IO[str] | None = None
        self._connection: AsyncConnection | None = None
        self._connecting = asyncio.Lock()
        self._querying = asyncio.Lock()
        self._lock_file_handle: IO[str] | None = None

    async def acquire(self) -> None:
        """Acquire the lock, unless it is held already."""
        if self._database.dialect == "sqlite":
            async with store_errors():
                self._acquire_file_lock()
        elif self._connection is None:
            async with self._connecting:
                await self._acquire_advisory_lock()

    async def is_leader(self) -> bool:
        """Return whether this process is the leader; it stays so while it lives."""
        await self.acquire()
        return await self._try_lock(LEADER_LOCK)

    @asynccontextmanager
    async def exclusive_lock(self, name: str) -> AsyncIterator[None]:
        """Hold the lock `name` among all processes; without one if the database is unavailable."""
        key = int.from_bytes(sha256(name.encode()).digest()[:8]) >> 1
        is_locked = False
        with suppress(StoreUnavailable):
            # Other processes cannot signal an event, so the lock is polled.
            while not (is_locked := await self._try_lock_or_undo(key)):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            if is_locked:
                with suppress(StoreUnavailable):
                    await asyncio.shield(asyncio.create_task(self._unlock(key)))

    async def _try_lock_or_undo(self, key: int) -> bool:
        """Try to acquire a lock; release it again if the task is cancelled meanwhile."""
        attempt = asyncio.create_task(self._try_lock(key))
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            with suppress(StoreUnavailable):
                if await attempt:
                    await self._unlock(key)
            raise

    async def _try_lock(self, key: int) -> bool:
        if self._database.dialect == "sqlite":
            return self._lock_byte(key, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return bool(await self._evaluate(func.pg_try_advisory_lock(key)))

    async def _unlock(self, key: int) -> None:
        if self._database.dialect == "sqlite":
            self._lock_byte(key, fcntl.LOCK_UN)
        else:
            await self._evaluate(func.pg_advisory_unlock(key))

    async def _evaluate(self, function: Function[Any]) -> object:
        """Evaluate a function on the connection that holds the locks, one at a time."""
        async with self._querying:
            connection = self._connection
            if connection is None:
                raise StoreUnavailable("The database was unavailable when this process started.")
            async with store_errors():
                return await connection.scalar(select(function))

    def _lock_byte(self, key: int, operation: int) -> bool:
        """Lock one byte of the shared lock file, or unlock it."""
        path = self._path(SHARED_LOCK_FILE)
        if path is None:
            return True  # a database in memory has one process only
        try:
            self._lock_file_handle = self._lock_file_handle or path.open("a+")
            fcntl.lockf(self._lock_file_handle, operation, 1, key >> 2)
        except BlockingIOError:
            return False
        except OSError as error:
            raise StoreUnavailable(UNAVAILABLE) from error
        return True

    async def renew(self) -> None:
        """Acquire the lock again if the database lost it, for example in a restart."""
        if self._connection is None:
            return
        try:
            await self._evaluate(func.now())
        except StoreUnavailable:
            await self.release()
            await self._acquire_advisory_lock()

    async def dead_workers(self, names: Iterable[str]) -> list[str]:
        """Return the names whose process has ended."""
        return [name for name in names if name != self.name and await self._is_dead(name)]

    async def release(self) -> None:
        """Release the lock."""
        if self._file:
            self._file.close()
            self.remove_lock_file(self.name)
            self._file = None
        if self._lock_file_handle:
            self._lock_file_handle.close()
            self._lock_file_handle = None
        if self._connection:
            # Closed instead of returned to the pool, so that the server releases the lock.
            with suppress(StoreUnavailable):
                async with store_errors():
                    await self._connection.invalidate()
                    await self._connection.close()
            self._connection = None

    def remove_lock_file(self, name: str) -> None:
        """Delete the lock file of a dead process."""
        path = self._path(name)
        if path:
            path.unlink(missing_ok=True)

    def _acquire_file_lock(self) -> None:
        path = self._path(self.name)
        if path and not self._file:
            self._file = path.open("w")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    async def _acquire_advisory_lock(self) -> None:
        if self._connection:
            return  # a concurrent call acquired it
        async with store_errors():
            connection = await self._database.engine.connect()
            # Autocommit, because servers limit how long a transaction may be idle.
            connection = await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(select(func.pg_advisory_lock(_advisory_key(self.name))))
        self._connection = connection

    async def _is_dead(self, name: str) -> bool:
        if self._database.dialect == "sqlite":
            return self._is_file_unlocked(name)
        async with self._database.read_transaction() as connection:
            # Held until the end of this transaction only.
            try_lock = select(func.pg_try_advisory_xact_lock(_advisory_key(name)))
            return bool((await connection.execute(try_lock)).scalar())

    def _is_file_unlocked(self, name: str) -> bool:
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


def _advisory_key(name: str) -> int:
    return UUID(name).int >> 65  # an advisory lock's key is a signed 64-bit integer
