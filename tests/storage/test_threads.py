import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from citewell.conversation import Message, Thread
from citewell.errors import StoreUnavailable
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import entry_of, turn_of
from tests.verify.samples import NOON, answer_of, claim_of


async def test_what_was_appended_is_loaded(store: SqlThreadStore) -> None:
    answer, messages = turn_of("t1", "one")

    await store.append(answer, messages)
    thread = await store.load("t1")

    assert thread is not None
    assert (thread.id, thread.book, thread.message_count) == ("t1", "tiny", 2)
    assert thread.messages == (messages[0], replace(messages[1], state="validated"))


async def test_a_record_comes_back_as_it_went_in(store: SqlThreadStore) -> None:
    answer, messages = turn_of("t1", "one")

    await store.append(answer, messages)
    thread = await store.load("t1")

    assert thread is not None
    assert thread.messages[1].record == messages[1].record
    assert thread.messages[0].record == {}
    assert thread.messages[0].confidence is None


async def test_a_thread_grows_in_order(store: SqlThreadStore) -> None:
    for name in ("one", "two", "three"):
        await store.append(*turn_of("t1", name))

    thread = await store.load("t1")

    assert thread is not None
    assert thread.message_count == 6
    assert [m.content for m in thread.messages[::2]] == [
        "question one",
        "question two",
        "question three",
    ]


async def test_only_the_last_messages_are_loaded_if_asked_for(store: SqlThreadStore) -> None:
    for name in ("one", "two"):
        await store.append(*turn_of("t1", name))

    thread = await store.load("t1", last=3)

    assert thread is not None
    assert [m.content for m in thread.messages] == ["answer one", "question two", "answer two"]
    assert thread.message_count == 4


async def test_an_unknown_thread_is_nothing(store: SqlThreadStore) -> None:
    assert await store.load("nowhere") is None


async def test_times_come_back_in_utc_whatever_zone_they_went_in(store: SqlThreadStore) -> None:
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    at = datetime(2025, 1, 2, 3, 4, 5, 678, tzinfo=kathmandu)
    answer = answer_of(thread_id="t1", created_at=at)
    message = Message(id="m1", role="user", content="x", created_at=at)

    await store.append(answer, [message])
    thread = await store.load("t1")

    assert thread is not None
    assert thread.created_at == thread.updated_at == thread.messages[0].created_at == at
    assert thread.created_at.tzinfo is UTC


async def test_threads_are_listed_by_their_newest_activity(store: SqlThreadStore) -> None:
    for minute, name in enumerate("abca"):
        answer = answer_of(thread_id=name, created_at=NOON + timedelta(minutes=minute))
        message = Message(id=f"m{minute}", role="user", content="x", created_at=NOON)
        await store.append(answer, [message])

    threads = await store.list(limit=10, offset=0)

    assert [thread.id for thread in threads] == ["a", "c", "b"]
    assert threads[0].message_count == 2
    assert threads[0].messages == ()
    assert threads[0].created_at == NOON


async def test_threads_of_the_same_moment_are_listed_by_id(store: SqlThreadStore) -> None:
    for name in "ba":
        await store.append(*turn_of(name, "one"))

    assert [thread.id for thread in await store.list(limit=10, offset=0)] == ["a", "b"]


async def test_a_list_has_pages(store: SqlThreadStore) -> None:
    for name in "abc":
        await store.append(*turn_of(name, "one"))

    assert [thread.id for thread in await store.list(limit=1, offset=1)] == ["b"]
    assert await store.list(limit=5, offset=3) == []


async def test_a_deleted_thread_is_gone_with_its_messages(store: SqlThreadStore) -> None:
    await store.append(*turn_of("t1", "one"))

    assert await store.delete("t1") is True
    assert await store.load("t1") is None
    assert await store.delete("t1") is False
    # Its messages are gone too: their ids are free again.
    await store.append(*turn_of("t1", "one"))


async def test_deleting_one_thread_leaves_the_others(store: SqlThreadStore) -> None:
    for name in "ab":
        await store.append(*turn_of(name, "one"))

    await store.delete("a")

    thread = await store.load("b")
    assert thread is not None
    assert len(thread.messages) == 2


async def test_threads_outlive_the_store(url: str) -> None:
    first = SqlThreadStore(url)
    await first.open()
    await first.append(*turn_of("t1", "one"))
    await first.close()

    second = SqlThreadStore(url)
    await second.open()
    thread = await second.load("t1")
    await second.close()

    assert thread is not None
    assert thread.message_count == 2


def assert_whole(thread: Thread | None, names: set[str]) -> None:
    """See that every turn is there once, and each question stands before its own answer."""
    assert thread is not None
    assert thread.message_count == len(thread.messages) == 2 * len(names)
    pairs = list(zip(thread.messages[::2], thread.messages[1::2], strict=True))
    assert all(q.id.removeprefix("q") == a.id.removeprefix("a") for q, a in pairs)
    assert {q.content for q, _ in pairs} == {f"question {name}" for name in names}


async def test_fifty_appends_at_once_are_all_kept_in_order(store: SqlThreadStore) -> None:
    await asyncio.gather(*(store.append(*turn_of("t1", str(n))) for n in range(50)))

    assert_whole(await store.load("t1"), {str(n) for n in range(50)})


WRITER = """
import asyncio, sys
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import turn_of

async def main():
    store = SqlThreadStore(sys.argv[1])
    await store.open()
    sys.stdin.readline()
    await asyncio.gather(*(store.append(*turn_of("t1", sys.argv[2] + str(n))) for n in range(20)))
    await store.close()

asyncio.run(main())
"""


async def test_processes_that_write_to_one_thread_at_once_lose_nothing(
    store: SqlThreadStore, url: str
) -> None:
    def writer(name: str) -> Awaitable[Process]:
        return asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            WRITER,
            url,
            name,
            cwd=Path(__file__).parents[2],
            stdin=PIPE,
        )

    writers = [await writer(name) for name in "xyz"]
    await asyncio.gather(*(one.communicate(b"go\n") for one in writers))

    assert [one.returncode for one in writers] == [0, 0, 0]
    assert_whole(await store.load("t1"), {f"{w}{n}" for w in "xyz" for n in range(20)})


async def test_any_text_that_a_reader_can_send_is_stored(store: SqlThreadStore) -> None:
    answer, (asked, said) = turn_of("t1", "one")
    odd = "nul \0, half a pair \ud800, 🎈"

    await store.append(answer, (replace(asked, content=odd), replace(said, record={"odd": odd})))
    thread = await store.load("t1")

    assert thread is not None
    assert thread.messages[0].content == "nul �, half a pair �, 🎈"
    assert thread.messages[1].record == {"odd": "nul �, half a pair �, 🎈"}


async def test_messages_come_in_pages_and_the_old_ones_are_archived(store: SqlThreadStore) -> None:
    for n in range(27):
        await store.append(*turn_of("t1", str(n)))

    first = await store.messages("t1", limit=10, offset=0)
    live = await store.load("t1", last=50)

    assert first is not None
    assert live is not None
    assert [m.content for m in first[::2]] == [f"question {n}" for n in range(5)]
    assert [m.archived for m in first] == [True] * 4 + [False] * 6
    assert not any(message.archived for message in live.messages)
    assert await store.messages("t1", limit=10, offset=54) == []
    assert await store.messages("t2", limit=10, offset=0) is None


async def test_turns_of_one_thread_wait_for_each_other(store: SqlThreadStore) -> None:
    seen: list[str] = []
    inside = asyncio.Event()
    leave = asyncio.Event()

    async def first() -> None:
        async with store.turn("t1"):
            inside.set()
            await leave.wait()
            seen.append("first")

    async def second() -> None:
        await inside.wait()
        leave.set()
        async with store.turn("t1"):
            seen.append("second")

    await asyncio.gather(second(), first())

    assert seen == ["first", "second"]


async def test_turns_of_different_threads_do_not_wait(store: SqlThreadStore) -> None:
    async with store.turn("t1"), asyncio.timeout(5), store.turn("t2"):
        pass


async def test_a_turn_that_fails_lets_the_next_one_in(store: SqlThreadStore) -> None:
    with pytest.raises(ZeroDivisionError):
        async with store.turn("t1"):
            raise ZeroDivisionError

    async with asyncio.timeout(5), store.turn("t1"):
        pass


async def test_a_store_that_answers_can_be_pinged(store: SqlThreadStore) -> None:
    await store.ping()


async def test_a_database_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    store = SqlThreadStore(f"sqlite+aiosqlite:///{tmp_path / 'missing' / 'threads.db'}")

    for use in (store.open, store.ping, lambda: store.load("t1"), lambda: store.delete("t1")):
        with pytest.raises(StoreUnavailable):
            await use()

    await store.close()


async def test_a_turn_that_is_stored_twice_changes_nothing(store: SqlThreadStore) -> None:
    await store.append(*turn_of("t1", "one"))

    with pytest.raises(StoreUnavailable):
        await store.append(*turn_of("t1", "one"))

    thread = await store.load("t1")
    assert thread is not None
    assert thread.message_count == len(thread.messages) == 2


async def states(store: SqlThreadStore) -> list[str]:
    return [entry.state for entry in await store.answers(state=None, limit=9, offset=0)]


async def test_an_answer_is_processing_then_validated_then_delivered(store: SqlThreadStore) -> None:
    answer, messages = turn_of("t1", "one")
    seen = []

    async with store.track_answer(entry_of("t1", "one")):
        seen += await states(store)
        await store.append(answer, messages)
    seen += await states(store)
    await store.mark_delivered(answer.id)

    assert seen + await states(store) == ["processing", "validated", "delivered"]


KILLED = """
import asyncio, os, sys
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import entry_of

async def main():
    store = SqlThreadStore(sys.argv[1])
    await store.open()
    async with store.track_answer(entry_of("t1", "one")):
        os._exit(9)

asyncio.run(main())
"""


async def test_what_a_killed_process_left_is_marked_unfinished(url: str) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, url, cwd=Path(__file__).parents[2]
    )
    assert await child.wait() == 9

    store = SqlThreadStore(url)
    await store.open()
    (left,) = await store.answers(state="unfinished", limit=9, offset=0)
    await store.close()

    assert (left.question, left.text) == ("What is it?", None)


async def test_what_a_living_process_makes_is_left_alone(store: SqlThreadStore, url: str) -> None:
    async with store.track_answer(entry_of("t1", "one")):
        other = SqlThreadStore(url)
        await other.open()
        await other.close()
        assert await states(store) == ["processing"]


async def test_an_answer_that_is_given_up_leaves_nothing(store: SqlThreadStore) -> None:
    with pytest.raises(asyncio.CancelledError):
        async with store.track_answer(entry_of("t1", "one")):
            raise asyncio.CancelledError

    assert await states(store) == []


async def test_a_flagged_answer_stays_flagged_and_says_why(store: SqlThreadStore) -> None:
    answer, (asked, said) = turn_of("t1", "one")
    answer = replace(answer, withheld=(claim_of("Fog is dry.", verdict="unsupported"),))

    await store.append(answer, (asked, replace(said, record={"unsupported": ["Fog is dry."]})))
    await store.mark_delivered(answer.id)
    (entry,) = await store.answers(state="flagged", limit=9, offset=0)

    assert (entry.id, entry.text, entry.unsupported) == (answer.id, answer.text, ("Fog is dry.",))
    assert await store.answers(state="delivered", limit=9, offset=0) == []


async def test_deleting_a_thread_deletes_its_answers(store: SqlThreadStore) -> None:
    await store.append(*turn_of("t1", "one"))
    await store.append(*turn_of("t2", "one"))

    await store.delete("t1")

    assert [e.thread_id for e in await store.answers(state=None, limit=9, offset=0)] == ["t2"]
