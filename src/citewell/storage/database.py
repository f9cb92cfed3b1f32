"""One database by its URL: SQLite or PostgreSQL, with the same calls."""

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
"""Inserts that know what to do if the row is there already."""
UNAVAILABLE = "Conversations cannot be stored or read right now."
CONNECT_SECONDS = 5.0
QUERY_SECONDS = 30.0
DEFAULT_SYNCHRONOUS = "NORMAL"
"""How SQLite writes what may be lost in a power cut: the last answers, never the file."""
WAL_ATTEMPTS = 200
"""How often a new SQLite file is asked again for its log, a hundredth of a second apart."""


class Database:
    """Hands out connections; on SQLite one at a time for writing, in the order asked for."""

    def __init__(self, url: str, *, pool_size: int = 10, down: str = UNAVAILABLE) -> None:
        """Use the database at `url`; nothing is opened yet.

        Callers are told `down` while it cannot be used.

        Raises:
            BadSettings: the URL cannot be read, or names a database that Citewell cannot use.
        """
        self.url = parse_database_url(url)
        self.dialect = self.url.get_backend_name()
        self.engine = make_engine(self.url, pool_size)
        self.insert = INSERTS[self.dialect]
        self._down = down
        # Waiting here is fair and costs nothing; SQLite's own waiting is polling.
        self._writer = asyncio.Lock() if self.dialect == "sqlite" else None

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection to read with.

        Raises:
            StoreUnavailable: the database cannot be reached, or does not do what it is told.
        """
        async with store_errors(self._down), self.engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def writing(self, *, durable: bool = False) -> AsyncIterator[AsyncConnection]:
        """Yield a connection whose changes are kept together, or not at all.

        What is `durable` is on the disk when this ends: SQLite would else wait for its next
        checkpoint, and a power cut could undo it.

        Raises:
            StoreUnavailable: the database cannot be reached, or does not do what it is told.
        """
        async with self._writer or nullcontext():
            if durable and self.dialect == "sqlite":
                async with self._on_disk() as connection:
                    yield connection
            else:
                async with self.reading() as connection:
                    yield connection

    @asynccontextmanager
    async def _on_disk(self) -> AsyncIterator[AsyncConnection]:
        async with store_errors(self._down), self.engine.connect() as connection:
            # It cannot be changed within a transaction.
            await connection.exec_driver_sql("PRAGMA synchronous=FULL")
            await connection.commit()
            async with connection.begin():
                yield connection
            await connection.exec_driver_sql(f"PRAGMA synchronous={DEFAULT_SYNCHRONOUS}")

    async def check(self) -> None:
        """Look for damage, which the pages that are read may not show.

        Raises:
            StoreUnavailable: the file is damaged, or cannot be read.
        """
        if self.dialect != "sqlite":
            return
        async with self.reading() as connection:
            found = (await connection.exec_driver_sql("PRAGMA quick_check(1)")).scalar()
        if found != "ok":
            raise StoreUnavailable(self._down) from SQLAlchemyError(f"{self}: {found}")

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)


def parse_database_url(text: str) -> URL:
    """Read a URL as operators write it, and choose the driver where none is named.

    Raises:
        BadSettings: it cannot be read, or names a database that Citewell cannot use.
    """
    try:
        url = make_url(text)
    except ArgumentError as error:
        # Its words would repeat the URL, and with it the password.
        raise BadSettings("CITEWELL_DATABASE_URL is not a database URL.") from error
    url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    if url.get_backend_name() not in INSERTS:
        raise BadSettings(
            f"CITEWELL_DATABASE_URL names {url.get_backend_name()}; Citewell uses sqlite or "
            f"postgresql."
        )
    return _for_asyncpg(url) if url.drivername == "postgresql+asyncpg" else url


def _for_asyncpg(url: URL) -> URL:
    """Say in asyncpg's words what providers of PostgreSQL put into their URLs."""
    query = dict(url.query)
    if query.pop("channel_binding", "prefer") == "require":
        raise BadSettings(
            "CITEWELL_DATABASE_URL asks for channel_binding=require, which asyncpg cannot do; "
            "leave it out, and say sslmode=verify-full instead."
        )
    if "sslmode" in query:
        query["ssl"] = query.pop("sslmode")
    return url.set(query=query)


def make_engine(url: URL, pool_size: int) -> AsyncEngine:
    """Make what connects to the database; without a pool, each use has a connection of its own.

    Raises:
        BadSettings: the driver is not installed.
    """
    more: dict[str, Any] = {} if pool_size else {"poolclass": NullPool}
    if url.drivername == "postgresql+asyncpg":
        more["connect_args"] = {"timeout": CONNECT_SECONDS, "command_timeout": QUERY_SECONDS}
        if pool_size:
            more |= {
                "pool_size": pool_size,
                "max_overflow": 0,
                "pool_timeout": QUERY_SECONDS,
                "pool_pre_ping": True,  # a server that was restarted costs nobody an answer
            }
    try:
        engine = create_async_engine(url, **more)
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
        connection.close()  # the pool does not know it yet, and would leave it open
        raise


def _set_pragmas(connection: Any) -> None:
    connection.execute("PRAGMA busy_timeout=5000")  # another process that writes is waited for
    _enable_wal(connection)
    for pragma in (
        f"synchronous={DEFAULT_SYNCHRONOUS}",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is deleted does not stay in the file
    ):
        connection.execute(f"PRAGMA {pragma}")


def _enable_wal(connection: Any) -> None:
    """Let readers not wait for a writer.

    Whoever comes while another makes the same change to a new file is turned away by SQLite at
    once, whatever its timeout.
    """
    for more in range(WAL_ATTEMPTS, -1, -1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not more or "locked" not in str(error):
                raise
            sleep(0.01)
        else:
            return


@asynccontextmanager
async def store_errors(said: str = UNAVAILABLE) -> AsyncIterator[None]:
    """Turn what SQLAlchemy and its drivers raise into `StoreUnavailable`."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise StoreUnavailable(said) from error
    except Exception as error:
        # A connection that the server refuses comes with the driver's own error, unlike a query.
        if type(error).__module__.startswith("asyncpg."):
            raise StoreUnavailable(said) from error
        raise
