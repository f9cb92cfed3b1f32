"""Every test of the store runs on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from citewell.storage.threads import SqlThreadStore


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlThreadStore]:
    store = SqlThreadStore(url)
    await store.open()
    yield store
    await store.close()
