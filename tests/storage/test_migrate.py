"""Databases of every age are brought up to date; newer ones are left alone."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from citewell.errors import StoreMismatch
from citewell.storage.keys import SqlKeyStore
from citewell.storage.migrate import REVISIONS, current_revision, migrations, upgrade
from citewell.storage.stream_log import FRAMES, STREAMS, StreamLog
from citewell.storage.tables import KEYS, METADATA, VERSION_TABLE
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import turn_of

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

BESIDE_0002 = [
    "CREATE TABLE access_keys (id VARCHAR(20) NOT NULL, name VARCHAR(64) NOT NULL, digest "
    "VARCHAR(64) NOT NULL, scopes JSON NOT NULL, origins JSON NOT NULL, created_at TIMESTAMP{tz} "
    "NOT NULL, expires_at TIMESTAMP{tz}, revoked_at TIMESTAMP{tz}, PRIMARY KEY (id), "
    "UNIQUE (digest))",
    "CREATE TABLE streams (id VARCHAR(36) NOT NULL, owner VARCHAR(100) NOT NULL, ended VARCHAR(5) "
    "NOT NULL, beats INTEGER NOT NULL, reads INTEGER NOT NULL, begun_at FLOAT NOT NULL, ended_at "
    "FLOAT, PRIMARY KEY (id))",
    "CREATE TABLE stream_frames (stream_id VARCHAR(36) NOT NULL, number INTEGER NOT NULL, event "
    "VARCHAR(40) NOT NULL, data TEXT NOT NULL, PRIMARY KEY (stream_id, number))",
    "INSERT INTO access_keys VALUES ('key_1', 'backend', 'd1', '[\"ask\"]', '[]', "
    "'2025-01-02 12:00:00', NULL, NULL)",
    "INSERT INTO streams VALUES ('s1', 'ada', 'done', 0, 0, 1.0, 2.0)",
    "INSERT INTO stream_frames VALUES ('s1', 1, 'start', '{{}}')",
]
"""What stood beside the tables of revision 2, made without a migration."""


DESCENDING = ("threads_by_update", "threads_by_creation")
"""Indexes that cannot be compared on SQLite: it does not tell in which order they are."""


async def run(store: SqlThreadStore, *statements: str) -> None:
    async with store.database.write_transaction() as connection:
        for statement in statements:
            await connection.exec_driver_sql(statement)


def test_the_history_is_one_line_of_numbers_as_the_files_are_named() -> None:
    config = Config()
    config.set_main_option("script_location", str(files("citewell.storage") / "migrations"))
    scripts = ScriptDirectory.from_config(config)

    assert scripts.get_heads() == [REVISIONS[-1]], "two migrations follow the same one"
    assert tuple(one.revision for one in reversed([*scripts.walk_revisions()])) == REVISIONS
    assert tuple(f"{number:04}" for number in range(1, len(REVISIONS) + 1)) == REVISIONS


def _statements(store: SqlThreadStore, statements: list[str]) -> list[str]:
    zone = "" if store.database.dialect == "sqlite" else " WITH TIME ZONE"
    return [statement.format(tz=zone) for statement in statements]


def _differences(exact: bool) -> Callable[[Connection], list[object]]:
    def differences(connection: Connection) -> list[object]:
        options = {
            "compare_type": exact,
            "version_table": VERSION_TABLE,
            "include_object": lambda _, name, kind, *__: exact or name not in DESCENDING,
        }
        return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)

    return differences


async def test_migrations_make_the_tables_that_the_code_uses(store: SqlThreadStore) -> None:
    assert {KEYS, STREAMS, FRAMES} < set(METADATA.sorted_tables)
    exact = store.database.dialect != "sqlite"  # which keeps the length that a column once had
    async with store.database.read_transaction() as connection:
        assert await connection.run_sync(_differences(exact)) == []
    assert await current_revision(store.database) == REVISIONS[-1]


async def test_threads_are_indexed_by_both_times_the_newest_first(store: SqlThreadStore) -> None:
    lite = store.database.dialect == "sqlite"
    wanted = (
        "SELECT name, sql FROM sqlite_master"
        if lite
        else "SELECT indexname, indexdef FROM pg_indexes"
    )
    async with store.database.read_transaction() as connection:
        found = dict((await connection.exec_driver_sql(wanted)).all())

    assert "updated_at DESC" in found["threads_by_update"]
    assert "created_at DESC" in found["threads_by_creation"]


async def test_a_database_from_before_migrations_is_taken_over(url: str) -> None:
    store = SqlThreadStore(url)
    await run(store, *_statements(store, BEFORE))

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


@pytest.mark.parametrize("before", ["0002", None], ids=["beside conversations", "by themselves"])
async def test_keys_and_streams_that_were_made_without_a_migration_are_taken_over(
    url: str, before: str | None, tmp_path: Path
) -> None:
    store = SqlThreadStore(url)
    if before:
        async with store.database.write_transaction() as connection:
            await connection.run_sync(migrations(before))
    await run(store, *_statements(store, BESIDE_0002))

    keys, journal = SqlKeyStore(url, tmp_path / "marker"), StreamLog(url)
    (key,) = await keys.all()
    await journal.open()
    kept, frames = await journal.find("s1"), await journal.read("s1", 0)
    exact = store.database.dialect != "sqlite"
    async with store.database.read_transaction() as connection:
        assert await connection.run_sync(_differences(exact)) == []
    await journal.close()
    await store.close()

    assert (key.name, key.scopes) == ("backend", {"ask"})
    assert kept is not None
    assert (kept.owner, [frame.event for frame in frames]) == ("ada", ["start"])


async def test_documents_become_jsonb_and_what_that_cannot_hold_is_replaced(url: str) -> None:
    store = SqlThreadStore(url)
    async with store.database.write_transaction() as connection:
        await connection.run_sync(migrations("0005"))
    await run(
        store,
        "INSERT INTO threads (id, book, created_at, updated_at, message_count, metadata) VALUES "
        "('t1', 'tiny', '2025-01-02 12:00:00', '2025-01-02 12:00:00', 1, '{\"tags\": [\"a\"]}')",
        "INSERT INTO messages VALUES ('t1', 0, 'm1', 'assistant', 'An answer', "
        "'2025-01-02 12:00:00', NULL, "
        '\'{"said": "nul \\u0000 half \\ud800 whole \\ud83d\\ude00", "n": 0.1}\')',
    )

    await store.open()
    thread = await store.load("t1")
    await store.append(*turn_of("t2", "one"))
    async with store.database.read_transaction() as connection:
        kinds = await connection.run_sync(
            lambda on: {
                one["name"]: str(one["type"])
                for name in ("threads", "messages")
                for one in inspect(on).get_columns(name)
            }
        )
    await store.close()

    assert thread is not None
    assert thread.metadata == {"tags": ["a"]}
    (message,) = thread.messages
    assert message.record["n"] == 0.1
    if store.database.dialect == "postgresql":
        assert message.record["said"] == "nul � half � whole 😀"
        assert (kinds["metadata"], kinds["record"]) == ("JSONB", "JSONB")


async def test_postgresql_fills_in_what_another_program_leaves_out(store: SqlThreadStore) -> None:
    if store.database.dialect == "sqlite":
        pytest.skip("SQLite cannot add a default to a column that it has")
    await run(store, "INSERT INTO threads (id, book, message_count) VALUES ('t1', 'tiny', 0)")

    thread = await store.load("t1")

    assert thread is not None
    assert thread.metadata == {}
    assert thread.created_at == thread.updated_at <= datetime.now(UTC)


async def test_a_database_of_a_newer_citewell_is_refused_and_untouched(
    store: SqlThreadStore,
) -> None:
    await run(store, f"UPDATE {VERSION_TABLE} SET version_num = '0099'")

    with pytest.raises(
        StoreMismatch, match=rf"newer version of Citewell \(schema 0099; .* {REVISIONS[-1]}\)"
    ):
        await store.open()

    assert await current_revision(store.database) == "0099"


async def test_processes_that_start_at_once_migrate_once(url: str) -> None:
    stores = [SqlThreadStore(url) for _ in range(5)]

    await asyncio.gather(*(upgrade(store.database) for store in stores))

    assert await current_revision(stores[0].database) == REVISIONS[-1]
    for store in stores:
        await store.close()


async def test_a_new_file_is_opened_by_many_at_once(tmp_path: Path) -> None:
    # SQLite turns away one in some hundreds, if it is asked once.
    for number in range(40):
        url = f"sqlite:///{tmp_path}/{number}.db"
        stores = [SqlThreadStore(url) for _ in range(12)]

        found = await asyncio.gather(*(current_revision(store.database) for store in stores))

        assert found == [None] * 12
        for store in stores:
            await store.close()
