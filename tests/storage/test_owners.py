"""What one reader has said, no other can read, continue, describe or delete."""

import pytest

from citewell.conversation import ANY_OWNER, SharedKeyUser, ThreadRef, ThreadStart
from citewell.errors import UnknownThread
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import entry_of, turn_of

OTHERS = [None, "bob", ""]


@pytest.fixture
async def alices(store: SqlThreadStore) -> SqlThreadStore:
    """A store with one conversation, which is Alice's."""
    answer, messages = turn_of("t1", "one")
    async with store.track_answer(entry_of("t1", "one", owner="alice")):
        await store.append(answer, messages, owner="alice", contract="workflow")
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
        await alices.resume("t1", owner=other, contract="workflow")
    with pytest.raises(UnknownThread):
        await alices.append(*turn_of("t1", "two"), owner=other)

    thread = await alices.load("t1", owner="alice")
    assert thread is not None
    assert (thread.message_count, thread.topic_summary) == (2, None)


async def test_the_owner_sees_everything(alices: SqlThreadStore) -> None:
    thread = await alices.load("t1", owner="alice")

    assert thread is not None
    assert (thread.owner, thread.contract, thread.state) == ("alice", "workflow", "active")
    assert len(thread.messages) == 2
    assert await alices.answer("a-t1-one", owner="alice") == thread.messages[1]
    assert [t.id for t in await alices.list(limit=9, offset=0, owner="alice")] == ["t1"]
    (entry,) = await alices.answers(state=None, limit=9, offset=0, owner="alice")
    assert (entry.id, entry.owner) == ("a-t1-one", "alice")


async def test_a_thread_is_continued_by_its_owner_with_its_contract(alices: SqlThreadStore) -> None:
    assert await alices.resume("t1", owner="alice", contract="workflow") == ThreadRef("t1", "alice")
    with pytest.raises(UnknownThread):
        await alices.resume("t1", owner="alice", contract="chat")


async def test_an_operator_sees_what_anyone_said(alices: SqlThreadStore) -> None:
    await alices.append(*turn_of("t2", "one"))

    assert await alices.load("t1", owner=ANY_OWNER) is not None
    assert {t.id for t in await alices.list(limit=9, offset=0, owner=ANY_OWNER)} == {"t1", "t2"}
    assert len(await alices.answers(state=None, limit=9, offset=0, owner=ANY_OWNER)) == 2


async def test_what_nobody_owns_is_not_an_owners(store: SqlThreadStore) -> None:
    await store.append(*turn_of("t1", "one"))

    assert await store.load("t1") is not None
    assert await store.load("t1", owner="alice") is None


async def test_deleting_leaves_no_row_of_it(alices: SqlThreadStore) -> None:
    assert await alices.delete("t1", owner="alice") is True

    assert await alices.load("t1", owner=ANY_OWNER) is None
    assert await alices.answer("a-t1-one", owner=ANY_OWNER) is None
    assert await alices.answers(state=None, limit=9, offset=0, owner=ANY_OWNER) == []
    async with alices.database.read_transaction() as connection:
        for table in ("threads", "messages", "answers"):
            found = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
            assert found.scalar() == 0


RANDOM = "0d3d5c7e-52a1-4c10-8a0e-7a6f0e1b2c3d"
BY_ID = ThreadStart(opens_by_id=True)
BOB = SharedKeyUser("key_1:bob", "key_1")


@pytest.fixture
async def shared(store: SqlThreadStore) -> SqlThreadStore:
    """A store with a conversation that a reader of a key began without a token."""
    await store.append(*turn_of(RANDOM, "one"), owner="key_1:ann", start=BY_ID)
    return store


async def test_a_random_id_opens_what_was_begun_without_a_token(shared: SqlThreadStore) -> None:
    thread = await shared.load(RANDOM, owner=BOB)

    assert thread is not None
    assert await shared.resume(RANDOM, owner=BOB) == ThreadRef(RANDOM, "key_1:ann")
    assert await shared.answer(f"a-{RANDOM[:20]}-one", owner=BOB) == thread.messages[1]
    assert await shared.describe(RANDOM, "Ours", owner=BOB)
    assert await shared.delete(RANDOM, owner=BOB)
    assert await shared.load(RANDOM, owner=ANY_OWNER) is None


async def test_no_list_shows_what_an_id_opens(shared: SqlThreadStore) -> None:
    assert await shared.list(limit=9, offset=0, owner=BOB) == []
    (own,) = await shared.list(limit=9, offset=0, owner=SharedKeyUser("key_1:ann", "key_1"))
    assert own.id == RANDOM


@pytest.mark.parametrize(
    "other",
    [
        SharedKeyUser("key_2:bob", "key_2"),
        SharedKeyUser("key_12:bob", "key_12"),
        SharedKeyUser("key_:bob", "key_"),
        SharedKeyUser("%:bob", "%"),
        "key_1",
        None,
    ],
)
async def test_a_random_id_opens_nothing_for_another_key(
    shared: SqlThreadStore, other: SharedKeyUser | str | None
) -> None:
    assert await shared.load(RANDOM, owner=other) is None
    assert await shared.answer(f"a-{RANDOM[:20]}-one", owner=other) is None
    assert not await shared.delete(RANDOM, owner=other)
    with pytest.raises(UnknownThread):
        await shared.resume(RANDOM, owner=other)


@pytest.mark.parametrize(
    ("thread_id", "start"),
    [
        (RANDOM, ThreadStart()),
        ("conv-1", BY_ID),
        ("0d3d5c7e-52a1-1c10-8a0e-7a6f0e1b2c3d", BY_ID),  # a UUID of version 1 has a time in it
    ],
)
async def test_no_other_id_opens_anything(
    store: SqlThreadStore, thread_id: str, start: ThreadStart
) -> None:
    await store.append(*turn_of(thread_id, "one"), owner="key_1:ann", start=start)

    assert await store.load(thread_id, owner=BOB) is None
    with pytest.raises(UnknownThread):
        await store.resume(thread_id, owner=BOB)


async def test_two_readers_without_a_token_who_begin_at_once_are_both_kept(
    shared: SqlThreadStore,
) -> None:
    await shared.append(*turn_of(RANDOM, "two"), owner="key_1:late", start=BY_ID)

    thread = await shared.load(RANDOM, owner=BOB)
    assert thread is not None
    assert (thread.message_count, thread.owner) == (4, "key_1:ann")
