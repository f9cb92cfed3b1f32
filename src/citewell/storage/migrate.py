"""Brings the tables of any earlier version up to date, once, whoever starts first.

Conversations, keys and running streams have one history, also where they are in files of their own.
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
# By the names of the files: Alembic takes a second to load, and is needed once.
REVISIONS = tuple(sorted(file.name[1:5] for file in _VERSIONS.glob("r[0-9]*_*.py")))
"""Every revision there is; the last one makes the tables that the code uses."""
LOCK = 0x51_75_69_72_65
"""The number under which PostgreSQL keeps one process from migrating while another does."""
LOCK_SECONDS = 120.0
"""How long a process waits for another one that migrates; a large database takes a while."""


async def current_revision(database: Database) -> str | None:
    """Return how far a database has been migrated; `None` if it never was."""
    async with database.reading() as connection:
        return await connection.run_sync(_read_revision)


async def upgrade(database: Database) -> None:
    """Bring the tables up to date.

    Raises:
        StoreMismatch: a newer version of Citewell has migrated them further.
    """
    revision = await current_revision(database)
    if revision == REVISIONS[-1]:  # as nearly always
        return
    if revision is not None and revision not in REVISIONS:
        raise StoreMismatch(
            f"The tables in {database} were made by a newer version of Citewell "
            f"(schema {revision}; this one knows those up to {REVISIONS[-1]})."
        )
    run = migrations()  # before the lock: others wait for it, and not for ever
    async with database.writing() as connection:
        await _lock(connection)
        await connection.run_sync(run)


async def _lock(connection: AsyncConnection) -> None:
    if connection.dialect.name == "sqlite":
        waiting = (await connection.exec_driver_sql("PRAGMA busy_timeout")).scalar()
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={1000 * LOCK_SECONDS:.0f}")
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
        await connection.exec_driver_sql(f"PRAGMA busy_timeout={waiting}")
        return
    # Asked again and again: a query that waits is ended after `QUERY_SECONDS`.
    deadline = monotonic() + LOCK_SECONDS
    attempt = text("SELECT pg_try_advisory_xact_lock(:lock)")
    while not (await connection.execute(attempt, {"lock": LOCK})).scalar():
        if monotonic() > deadline:
            raise StoreUnavailable(UNAVAILABLE)
        await asyncio.sleep(0.05)


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: Any = column("version_num")
    return connection.execute(select(version).select_from(table(VERSION_TABLE))).scalar()


def migrations(to: str = "head") -> Callable[[Connection], None]:
    """Load what migrates a database up to a revision."""
    from alembic import command
    from alembic.config import Config

    def run(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", "citewell.storage:migrations")
        config.attributes["connection"] = connection
        command.upgrade(config, to)

    return run
