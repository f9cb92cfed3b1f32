"""Migrations from any earlier schema; the first process to start runs them.

Conversations, keys and streams share one migration history, even in separate database files.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from sqlalchemy import Connection, column, inspect, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from citewell.errors import StoreMismatch, StoreUnavailable
from citewell.storage.database import UNAVAILABLE, Database
from citewell.storage.tables import VERSION_TABLE

_VERSIONS = Path(__file__).parent / "migrations" / "versions"
# Read from the file names, because loading Alembic takes a second.
REVISIONS = tuple(sorted(file.name[1:5] for file in _VERSIONS.glob("r[0-9]*_*.py")))
"""All revisions; the code uses the tables of the last."""
MIGRATION_LOCK = 0x51_75_69_72_65
"""Key of the PostgreSQL advisory lock under which a process migrates."""
LOCK_SECONDS = 120.0
"""How long a process waits for another one to migrate a large database."""


async def current_revision(database: Database) -> str | None:
    """Return the revision of a database; `None` if it has never been migrated."""
    async with database.read_transaction() as connection:
        return await connection.run_sync(_read_revision)


async def upgrade(database: Database) -> None:
    """Migrate the tables to the latest revision.

    Raises:
        StoreMismatch: a newer version of Citewell, or another program, made the tables.
    """
    revision = await current_revision(database)
    if revision == REVISIONS[-1]:
        return
    if revision is not None and revision not in REVISIONS:
        raise StoreMismatch(
            f"The tables in {database} were made by a newer version of Citewell "
            f"(schema {revision}; this version supports up to {REVISIONS[-1]})."
        )
    if revision is None and await _is_foreign(database):
        raise StoreMismatch(f"The tables in {database} were made by another program.")
    run = migrations()  # loaded before the lock, to hold it briefly
    async with database.write_transaction() as connection:
        await _lock(connection)
        await connection.run_sync(run)


async def _lock(connection: AsyncConnection) -> None:
    if connection.dialect.name == "sqlite":
        timeout = (await connection.exec_driver_sql("PRAGMA busy_timeout")).scalar()
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * LOCK_SECONDS:.0f}")
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={timeout}")
        return
    # Polled, because a blocking query would be cancelled after `QUERY_SECONDS`.
    deadline = monotonic() + LOCK_SECONDS
    attempt = text("SELECT pg_try_advisory_xact_lock(:lock)")
    while not (await connection.execute(attempt, {"lock": MIGRATION_LOCK})).scalar():
        if monotonic() > deadline:
            raise StoreUnavailable(UNAVAILABLE)
        await asyncio.sleep(0.05)


async def _is_foreign(database: Database) -> bool:
    """Return whether unversioned tables have a column that only migrations add."""

    def column_names(connection: Connection) -> set[str]:
        inspector = inspect(connection)
        columns = inspector.get_columns("threads") if inspector.has_table("threads") else []
        return {column["name"] for column in columns}

    async with database.read_transaction() as connection:
        return "owner" in await connection.run_sync(column_names)


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: Any = column("version_num")
    return connection.execute(select(version).select_from(table(VERSION_TABLE))).scalar()


def migrations(to: str = "head") -> Callable[[Connection], None]:
    """Load Alembic and return a function that migrates a database to a revision."""
    from alembic import command
    from alembic.config import Config

    def run(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", "citewell.storage:migrations")
        config.attributes["connection"] = connection
        command.upgrade(config, to)

    return run
