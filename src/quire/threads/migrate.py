"""Brings the tables of any earlier version up to date, once, whoever starts first."""

from typing import Any

from sqlalchemy import Connection, column, inspect, select, table
from sqlalchemy.ext.asyncio import AsyncConnection

from quire.errors import StoreMismatch
from quire.threads.database import Database
from quire.threads.tables import VERSION_TABLE

REVISIONS = ("0001", "0002", "0003")
"""Every revision there is; the last one is what `tables.py` says."""
LOCK = 0x51_75_69_72_65
"""The number under which PostgreSQL keeps one process from migrating while another does."""


async def current_revision(database: Database) -> str | None:
    """Give how far a database has been migrated; `None` if it never was."""
    async with database.reading() as connection:
        return await connection.run_sync(_read_revision)


async def upgrade(database: Database) -> None:
    """Bring the tables up to date.

    Raises:
        StoreMismatch: a newer version of Quire has migrated them further.
    """
    revision = await current_revision(database)
    if revision == REVISIONS[-1]:  # as nearly always, and Alembic takes a second to load
        return
    if revision is not None and revision not in REVISIONS:
        raise StoreMismatch(
            f"The conversations in {database} were stored by a newer version of Quire "
            f"(schema {revision}; this one knows those up to {REVISIONS[-1]})."
        )
    async with database.writing() as connection:
        await _lock(connection)
        await connection.run_sync(_upgrade)


async def _lock(connection: AsyncConnection) -> None:
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: Any = column("version_num")
    return connection.execute(select(version).select_from(table(VERSION_TABLE))).scalar()


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "quire.threads:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
