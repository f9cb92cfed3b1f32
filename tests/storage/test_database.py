"""Database URLs as operators write them, and servers that come and go."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from citewell.errors import BadSettings, StoreUnavailable
from citewell.storage.database import Database, parse_database_url
from citewell.storage.keys import SqlKeyStore, make_key
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import entry_of, turn_of

if TYPE_CHECKING:
    from tests.postgres import Postgres


@pytest.mark.parametrize(
    ("said", "used"),
    [
        ("sqlite:///a.db", "sqlite+aiosqlite:///a.db"),
        ("postgres://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgresql://u@h:5433/d", "postgresql+asyncpg://u@h:5433/d"),
        ("postgresql+asyncpg://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("postgresql://u@h/d?sslmode=require", "postgresql+asyncpg://u@h/d?ssl=require"),
        ("postgresql://u@h/d?channel_binding=prefer", "postgresql+asyncpg://u@h/d"),
    ],
)
def test_the_driver_is_chosen(said: str, used: str) -> None:
    assert parse_database_url(said).render_as_string(hide_password=False) == used


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("not a url", "is not a database URL"),
        ("mysql://u:secret@h/d", "names mysql; Citewell uses sqlite or postgresql"),
        ("postgresql://u:secret@h/d?channel_binding=require", "asyncpg does not support"),
        ("postgresql+nothing://u:secret@h/d", "cannot be used"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_without_its_password(url: str, why: str) -> None:
    with pytest.raises(BadSettings, match=why) as told:
        Database(url)

    assert "secret" not in str(told.value)


def test_a_missing_driver_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "asyncpg", None)

    with pytest.raises(BadSettings, match=r"asyncpg: pip install 'citewell\[postgres\]'"):
        Database("postgresql://u@h/d")


def test_a_database_is_shown_without_its_password() -> None:
    assert str(Database("postgres://u:secret@h/d")) == "postgresql+asyncpg://u:***@h/d"


async def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    store = SqlThreadStore(f"postgresql://u@/d?host={tmp_path}")

    with pytest.raises(StoreUnavailable):
        await store.ping()


async def test_a_server_that_refuses_us_is_unavailable(postgres: "Postgres") -> None:
    url = postgres.new_database()
    store = SqlThreadStore(url.replace("/postgres?", "/no_such_database?"))

    with pytest.raises(StoreUnavailable):
        await store.ping()


async def test_a_server_that_was_restarted_costs_no_answer(postgres: "Postgres") -> None:
    store, other = (SqlThreadStore(url) for url in [postgres.new_database()] * 2)
    await store.open()
    async with store.track_answer(entry_of("t1", "one")):
        postgres.disconnect_all()
        await store.append(*turn_of("t1", "one"))
        await store.lease.renew()

        assert await other.lease.dead_workers([store.lease.name]) == []

    assert await store.load("t1") is not None
    await store.close()
    await other.close()


async def test_what_must_last_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    """In SQLite's words: FULL (2) has each commit written through, NORMAL (1) waits."""
    database = Database(f"sqlite:///{tmp_path / 'threads.db'}")
    asked = "PRAGMA synchronous"
    async with database.write_transaction(durable=True) as connection:
        lasting = (await connection.exec_driver_sql(asked)).scalar()
        await connection.exec_driver_sql("CREATE TABLE kept (id TEXT)")
    async with database.write_transaction() as connection:
        usual = (await connection.exec_driver_sql(asked)).scalar()
        kept = (await connection.exec_driver_sql("SELECT count(*) FROM kept")).scalar()
    await database.close()

    assert (lasting, usual, kept) == (2, 1, 0)


async def test_a_revoked_key_is_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting: list[bool] = []
    write_transaction = Database.write_transaction

    def noted(self: Database, *, durable: bool = False) -> Any:
        lasting.append(durable)
        return write_transaction(self, durable=durable)

    store = SqlKeyStore(f"sqlite:///{tmp_path / 'threads.db'}", tmp_path / "marker")
    key, _ = make_key("old", scopes=frozenset({"ask"}), created_at=datetime.now(UTC))
    await store.add(key)
    monkeypatch.setattr(Database, "write_transaction", noted)
    await store.revoke("old", datetime.now(UTC))

    assert lasting == [True]
