"""Connections to a database, SQLite or PostgreSQL, given by its URL."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from time import sleep
from typing import Any

from sqlalchemy import Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from citewell.errors import BadSettings, StoreUnavailable

DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
}
INSERTS: Mapping[str, Callable[[Table], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
"""`INSERT` constructs that support `ON CONFLICT`."""
UNAVAILABLE = "Conversations cannot be stored or read right now."
CONNECT_SECONDS = 5.0
QUERY_SECONDS = 30.0
DEFAULT_SYNCHRONOUS = "NORMAL"
"""In WAL mode, a power cut can lose the last transactions but never corrupts the file."""
WAL_RETRIES = 200
"""Retries, 10 ms apart, to switch a new SQLite file to WAL mode."""


class Database:
    """A connection pool; on SQLite, writers take turns in the order of arrival."""

    def __init__(self, url: str, *, pool_size: int = 10, unavailable: str = UNAVAILABLE) -> None:
        """Configure the pool without connecting; `unavailable` is the message when it fails.

        Raises:
            BadSettings: the URL is invalid or names an unsupported database.
        """
        self.url = parse_database_url(url)
        self.dialect = self.url.get_backend_name()
        self.engine = make_engine(self.url, pool_size)
        self.insert = INSERTS[self.dialect]
        self._unavailable = unavailable
        # A fair lock without polling, unlike SQLite's own.
        self._writer = asyncio.Lock() if self.dialect == "sqlite" else None

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a transaction for reading.

        Raises:
            StoreUnavailable: the database cannot be reached or reports an error.
        """
        async with store_errors(self._unavailable), self.engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def write_transaction(self, *, durable: bool = False) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a transaction for writing.

        A `durable` transaction is on disk when it commits. Otherwise a power cut can undo what
        SQLite has not yet checkpointed.

        Raises:
            StoreUnavailable: the database cannot be reached or reports an error.
        """
        async with self._writer or nullcontext():
            if durable and self.dialect == "sqlite":
                async with self._durable_transaction() as connection:
                    yield connection
            else:
                async with self.read_transaction() as connection:
                    yield connection

    @asynccontextmanager
    async def _durable_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with store_errors(self._unavailable), self.engine.connect() as connection:
            # SQLite ignores this pragma within a transaction.
            await connection.exec_driver_sql("PRAGMA synchronous=FULL")
            await connection.commit()
            async with connection.begin():
                yield connection
            await connection.exec_driver_sql(f"PRAGMA synchronous={DEFAULT_SYNCHRONOUS}")

    async def check(self) -> None:
        """Check a SQLite file for corruption, also in pages that queries do not touch.

        Raises:
            StoreUnavailable: the file is damaged or cannot be read.
        """
        if self.dialect != "sqlite":
            return
        async with self.read_transaction() as connection:
            result = (await connection.exec_driver_sql("PRAGMA quick_check(1)")).scalar()
        if result != "ok":
            raise StoreUnavailable(self._unavailable) from SQLAlchemyError(f"{self}: {result}")

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)


def parse_database_url(text: str) -> URL:
    """Parse a database URL and choose the async driver.

    Raises:
        BadSettings: the URL is invalid or names an unsupported database.
    """
    try:
        url = make_url(text)
    except ArgumentError as error:
        # SQLAlchemy's message would repeat the URL, and with it the password.
        raise BadSettings("CITEWELL_DATABASE_URL is not a database URL.") from error
    url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    if url.get_backend_name() not in INSERTS:
        raise BadSettings(
            f"CITEWELL_DATABASE_URL names {url.get_backend_name()}; Citewell uses sqlite or "
            f"postgresql."
        )
    return _for_asyncpg(url) if url.drivername == "postgresql+asyncpg" else url


def _for_asyncpg(url: URL) -> URL:
    """Translate libpq URL parameters to those of asyncpg."""
    query = dict(url.query)
    if query.pop("channel_binding", "prefer") == "require":
        raise BadSettings(
            "CITEWELL_DATABASE_URL sets channel_binding=require, which asyncpg does not support; "
            "use sslmode=verify-full instead."
        )
    if "sslmode" in query:
        query["ssl"] = query.pop("sslmode")
    return url.set(query=query)


def make_engine(url: URL, pool_size: int) -> AsyncEngine:
    """Create the engine; with a `pool_size` of 0, every use opens its own connection.

    Raises:
        BadSettings: the driver is not installed.
    """
    options: dict[str, Any] = {} if pool_size else {"poolclass": NullPool}
    if url.drivername == "postgresql+asyncpg":
        options["connect_args"] = {"timeout": CONNECT_SECONDS, "command_timeout": QUERY_SECONDS}
        if pool_size:
            options |= {
                "pool_size": pool_size,
                "max_overflow": 0,
                "pool_timeout": QUERY_SECONDS,
                "pool_pre_ping": True,  # survive a restart of the server
            }
    try:
        engine = create_async_engine(url, **options)
    except ModuleNotFoundError as error:
        raise BadSettings(
            f"CITEWELL_DATABASE_URL needs {error.name}: pip install 'citewell[postgres]'."
        ) from error
    except SQLAlchemyError as error:
        raise BadSettings(f"CITEWELL_DATABASE_URL cannot be used: {error}.") from error
    if url.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", _tune_sqlite)
    return engine


def _tune_sqlite(connection: Any, _: Any) -> None:
    try:
        _set_pragmas(connection)
    except sqlite3.Error:
        connection.close()  # the pool does not own it yet
        raise


def _set_pragmas(connection: Any) -> None:
    connection.execute("PRAGMA busy_timeout=5000")  # wait for writers in other processes
    _enable_wal(connection)
    for pragma in (
        f"synchronous={DEFAULT_SYNCHRONOUS}",
        "foreign_keys=ON",
        "secure_delete=ON",  # overwrite deleted data
    ):
        connection.execute(f"PRAGMA {pragma}")


def _enable_wal(connection: Any) -> None:
    """Switch to WAL mode, so that readers do not wait for writers.

    If another process is switching the same new file, SQLite fails without waiting for its timeout.
    """
    for retries_left in range(WAL_RETRIES, -1, -1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not retries_left or "locked" not in str(error):
                raise
            sleep(0.01)
        else:
            return


@asynccontextmanager
async def store_errors(message: str = UNAVAILABLE) -> AsyncIterator[None]:
    """Convert errors of SQLAlchemy and its drivers to `StoreUnavailable`."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise StoreUnavailable(message) from error
    except Exception as error:
        # SQLAlchemy wraps the errors of queries, but not those of refused connections.
        if type(error).__module__.startswith("asyncpg."):
            raise StoreUnavailable(message) from error
        raise
