"""Every test of the store runs on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from quire.threads.store import SqlThreadStore

if TYPE_CHECKING:
    from tests.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator["Postgres"]:
    from tests.postgres import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'threads.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlThreadStore]:
    store = SqlThreadStore(url)
    await store.open()
    yield store
    await store.close()
