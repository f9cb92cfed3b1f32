"""Databases of every age are brought up to date; newer ones are left alone."""

import asyncio
from importlib.resources import files

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from quire.errors import StoreMismatch
from quire.threads.migrate import REVISIONS, current_revision, upgrade
from quire.threads.store import SqlThreadStore
from quire.threads.tables import METADATA, VERSION_TABLE
from tests.threads.turns import turn_of

BEFORE = [
    "CREATE TABLE threads (id VARCHAR(36) PRIMARY KEY, book VARCHAR(64) NOT NULL, created_at "
    "TIMESTAMP{tz} NOT NULL, updated_at TIMESTAMP{tz} NOT NULL, message_count INTEGER NOT NULL, "
    "topic_summary VARCHAR(200), metadata JSON NOT NULL)",
    "CREATE INDEX threads_by_update ON threads (updated_at)",
    "CREATE TABLE answers (id VARCHAR(36) PRIMARY KEY, thread_id VARCHAR(36) NOT NULL, book "
    "VARCHAR(64) NOT NULL, question TEXT NOT NULL, state VARCHAR(10) NOT NULL, created_at "
    "TIMESTAMP{tz} NOT NULL)",
    "CREATE INDEX ix_answers_thread_id ON answers (thread_id)",
    "CREATE INDEX answers_by_state ON answers (state, created_at)",
    "CREATE TABLE messages (thread_id VARCHAR(36) NOT NULL REFERENCES threads(id) ON DELETE "
    "CASCADE, position INTEGER NOT NULL, id VARCHAR(36) NOT NULL UNIQUE, role VARCHAR(10) NOT "
    "NULL, content TEXT NOT NULL, created_at TIMESTAMP{tz} NOT NULL, confidence FLOAT, record "
    "JSON NOT NULL, PRIMARY KEY (thread_id, position))",
    "INSERT INTO threads VALUES ('t1', 'tiny', '2025-01-02 12:00:00', '2025-01-02 12:00:00', 1, "
    "NULL, '{{}}')",
    "INSERT INTO messages VALUES ('t1', 0, 'm1', 'user', 'An old question', "
    "'2025-01-02 12:00:00', NULL, '{{}}')",
    "INSERT INTO answers VALUES ('a1', 't1', 'tiny', 'Cut off', 'processing', "
    "'2025-01-02 12:00:00')",
]
"""How a database looked before there were migrations, with a conversation and a cut-off answer."""


async def run(store: SqlThreadStore, *statements: str) -> None:
    async with store.database.writing() as connection:
        for statement in statements:
            await connection.exec_driver_sql(statement)


def test_the_revisions_named_are_those_there_are() -> None:
    config = Config()
    config.set_main_option("script_location", str(files("quire.threads") / "migrations"))
    scripts = ScriptDirectory.from_config(config)

    assert tuple(one.revision for one in reversed([*scripts.walk_revisions()])) == REVISIONS


async def test_migrations_make_the_tables_that_the_code_uses(store: SqlThreadStore) -> None:
    exact = store.database.dialect != "sqlite"  # which keeps the length that a column once had

    def differences(connection: Connection) -> list[object]:
        options = {"compare_type": exact, "version_table": VERSION_TABLE}
        return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)

    async with store.database.reading() as connection:
        assert await connection.run_sync(differences) == []
    assert await current_revision(store.database) == REVISIONS[-1]


async def test_a_database_from_before_migrations_is_taken_over(url: str) -> None:
    store = SqlThreadStore(url)
    zone = "" if store.database.dialect == "sqlite" else " WITH TIME ZONE"
    await run(store, *(statement.format(tz=zone) for statement in BEFORE))

    await store.open()
    await store.append(*turn_of("t1", "one"))
    thread = await store.load("t1")
    (cut,) = await store.answers(state="unfinished", limit=9, offset=0)
    await store.close()

    assert thread is not None
    assert (thread.owner, thread.contract, thread.state) == (None, "chat", "active")
    assert [message.content for message in thread.messages] == [
        "An old question",
        "question one",
        "answer one",
    ]
    assert cut.id == "a1"


async def test_a_database_of_a_newer_quire_is_refused_and_untouched(store: SqlThreadStore) -> None:
    await run(store, f"UPDATE {VERSION_TABLE} SET version_num = '0099'")

    with pytest.raises(StoreMismatch, match=r"newer version of Quire \(schema 0099; .* 0003\)"):
        await store.open()

    assert await current_revision(store.database) == "0099"


async def test_processes_that_start_at_once_migrate_once(url: str) -> None:
    stores = [SqlThreadStore(url) for _ in range(5)]

    await asyncio.gather(*(upgrade(store.database) for store in stores))

    assert await current_revision(stores[0].database) == REVISIONS[-1]
    for store in stores:
        await store.close()
