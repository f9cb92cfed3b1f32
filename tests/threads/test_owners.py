"""What one reader has said, no other can read, continue, describe or delete."""

import pytest

from quire.conversation import ANYONE
from quire.errors import UnknownThread
from quire.threads.store import SqlThreadStore
from tests.threads.turns import entry_of, turn_of

OTHERS = [None, "bob", ""]


@pytest.fixture
async def alices(store: SqlThreadStore) -> SqlThreadStore:
    """A store with one conversation, which is Alice's."""
    answer, messages = turn_of("t1", "one")
    async with store.answering(entry_of("t1", "one", owner="alice")):
        await store.append(answer, messages, owner="alice", contract="query")
    return store


@pytest.mark.parametrize("other", OTHERS)
async def test_nobody_else_sees_a_thread_its_messages_or_its_answers(
    alices: SqlThreadStore, other: str | None
) -> None:
    assert await alices.load("t1", owner=other) is None
    assert await alices.messages("t1", limit=9, offset=0, owner=other) is None
    assert await alices.answer("a-t1-one", owner=other) is None
    assert await alices.list(limit=9, offset=0, owner=other) == []
    assert await alices.answers(state=None, limit=9, offset=0, owner=other) == []


@pytest.mark.parametrize("other", OTHERS)
async def test_nobody_else_changes_a_thread(alices: SqlThreadStore, other: str | None) -> None:
    assert await alices.describe("t1", "Mine now", owner=other) is False
    assert await alices.delete("t1", owner=other) is False
    with pytest.raises(UnknownThread):
        await alices.resume("t1", owner=other, contract="query")
    with pytest.raises(UnknownThread):
        await alices.append(*turn_of("t1", "two"), owner=other)

    thread = await alices.load("t1", owner="alice")
    assert thread is not None
    assert (thread.message_count, thread.topic_summary) == (2, None)


async def test_the_owner_sees_everything(alices: SqlThreadStore) -> None:
    thread = await alices.load("t1", owner="alice")

    assert thread is not None
    assert (thread.owner, thread.contract, thread.state) == ("alice", "query", "active")
    assert len(thread.messages) == 2
    assert await alices.answer("a-t1-one", owner="alice") == thread.messages[1]
    assert [t.id for t in await alices.list(limit=9, offset=0, owner="alice")] == ["t1"]
    (entry,) = await alices.answers(state=None, limit=9, offset=0, owner="alice")
    assert (entry.id, entry.owner) == ("a-t1-one", "alice")


async def test_a_thread_is_continued_by_its_owner_with_its_contract(alices: SqlThreadStore) -> None:
    assert await alices.resume("t1", owner="alice", contract="query") == "t1"
    with pytest.raises(UnknownThread):
        await alices.resume("t1", owner="alice", contract="chat")


async def test_an_operator_sees_what_anyone_said(alices: SqlThreadStore) -> None:
    await alices.append(*turn_of("t2", "one"))

    assert await alices.load("t1", owner=ANYONE) is not None
    assert {t.id for t in await alices.list(limit=9, offset=0, owner=ANYONE)} == {"t1", "t2"}
    assert len(await alices.answers(state=None, limit=9, offset=0, owner=ANYONE)) == 2


async def test_what_nobody_owns_is_not_an_owners(store: SqlThreadStore) -> None:
    await store.append(*turn_of("t1", "one"))

    assert await store.load("t1") is not None
    assert await store.load("t1", owner="alice") is None


async def test_deleting_leaves_no_row_of_it(alices: SqlThreadStore) -> None:
    assert await alices.delete("t1", owner="alice") is True

    assert await alices.load("t1", owner=ANYONE) is None
    assert await alices.answer("a-t1-one", owner=ANYONE) is None
    assert await alices.answers(state=None, limit=9, offset=0, owner=ANYONE) == []
    async with alices.database.reading() as connection:
        for table in ("threads", "messages", "answers"):
            found = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
            assert found.scalar() == 0
