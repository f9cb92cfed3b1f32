"""What time does to conversations, with a clock that the tests turn."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from citewell.conversation import ANY_OWNER, Thread, ThreadRef
from citewell.errors import StoreUnavailable
from citewell.options import ThreadOptions
from citewell.storage.sweeper import SweepResult, run_sweeper, sweep
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import entry_of, turn_of
from tests.verify.samples import NOON

OPTIONS = ThreadOptions()
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Clock:
    """Shows noon until it is turned."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(url: str, clock: Clock) -> AsyncIterator[SqlThreadStore]:
    """One thread of each contract, all last written to at noon."""
    store = SqlThreadStore(url, clock=clock)
    await store.open()
    for contract in ("chat", "agent", "assistant", "workflow", "query"):
        await store.append(*turn_of(contract, "one"), contract=contract)
    yield store
    await store.close()


async def states(store: SqlThreadStore) -> dict[str, str]:
    return {thread.id: thread.state for thread in await store.list(limit=9, offset=0)}


async def loaded(store: SqlThreadStore, thread_id: str) -> Thread:
    thread = await store.load(thread_id)
    assert thread is not None
    return thread


async def test_within_half_an_hour_all_are_active(store: SqlThreadStore, clock: Clock) -> None:
    clock.now += 30 * MINUTE

    assert await sweep(store, OPTIONS) == SweepResult(deactivated=0, purged=0, unfinished=0)
    assert set((await states(store)).values()) == {"active"}


async def test_an_assistants_session_ends_after_half_an_hour(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += 31 * MINUTE
    await sweep(store, OPTIONS)

    assert (await states(store))["assistant"] == "ended"
    assert (await states(store))["chat"] == "active"


async def test_after_an_hour_others_are_archived_or_idle(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += HOUR + MINUTE

    assert (await sweep(store, OPTIONS)).deactivated == 5
    assert await states(store) == {
        "chat": "archived",
        "agent": "idle",
        "assistant": "ended",
        "workflow": "archived",
        "query": "archived",
    }
    assert [t.id for t in await store.list(limit=9, offset=0, state="idle")] == ["agent"]


async def test_an_archived_thread_can_be_read_and_goes_on(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += 2 * HOUR
    await sweep(store, OPTIONS)
    assert len((await loaded(store, "chat")).messages) == 2

    assert await store.resume("chat") == ThreadRef("chat", None)
    await store.append(*turn_of("chat", "two", created_at=clock.now))
    await sweep(store, OPTIONS)

    thread = await loaded(store, "chat")
    assert (thread.state, thread.message_count) == ("active", 4)


async def test_after_half_an_hour_an_assistant_begins_another_session(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += 30 * MINUTE
    assert await store.resume("assistant", contract="assistant") == ThreadRef("assistant", None)

    clock.now += MINUTE
    other = (await store.resume("assistant", contract="assistant")).thread_id

    assert other != "assistant"
    assert await store.load(other) is None
    assert (await loaded(store, "assistant")).state == "ended"


@pytest.mark.parametrize("swept", [True, False])
async def test_after_a_day_an_agents_session_is_gone_with_all_that_was_said(
    store: SqlThreadStore, clock: Clock, swept: bool
) -> None:
    clock.now += DAY
    assert await store.load("agent") is not None

    clock.now += MINUTE
    if swept:
        assert (await sweep(store, OPTIONS)).purged == 2  # that of the assistant, too

    assert await store.load("agent") is None
    assert await store.answer("a-agent-one") is None
    assert "agent" not in await states(store)
    assert await store.resume("agent", contract="agent") == ThreadRef("agent", None)
    await store.append(*turn_of("agent", "two", created_at=clock.now), contract="agent")
    assert (await loaded(store, "agent")).message_count == 2
    assert "a-agent-one" not in {
        entry.id for entry in await store.answers(state=None, limit=9, offset=0, owner=ANY_OWNER)
    }


async def test_an_assistants_session_that_ended_is_deleted_after_a_day(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += DAY + MINUTE

    assert await store.load("assistant") is None
    await sweep(store, OPTIONS)

    clock.now = NOON
    assert await store.load("assistant") is None


async def test_a_querys_session_is_deleted_after_thirty_days(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += 30 * DAY
    await sweep(store, OPTIONS)
    assert await store.load("query") is not None

    clock.now += MINUTE
    await sweep(store, OPTIONS)

    clock.now = NOON
    assert await store.load("query") is None


async def test_every_time_of_a_life_can_be_set(url: str, clock: Clock) -> None:
    options = ThreadOptions(
        sweep_seconds=0.5,
        archive_after_seconds=1,
        agent_inactive_after_seconds=2,
        agent_gone_after_seconds=3,
        assistant_ends_after_seconds=1,
        assistant_gone_after_seconds=4,
        query_gone_after_seconds=5,
    )
    store = SqlThreadStore(url, clock=clock, policies=options.retention_policies)
    await store.open()
    for contract in ("chat", "agent", "assistant", "workflow", "query"):
        await store.append(*turn_of(contract, "one"), contract=contract)
    seen = []
    for _ in range(6):
        clock.now += timedelta(seconds=1, milliseconds=1)
        await sweep(store, options)
        seen.append(await states(store))
    await store.close()

    rests = {"chat": "archived", "workflow": "archived"}
    assert seen[0] == {**rests, "query": "archived", "agent": "active", "assistant": "ended"}
    assert seen[1] == {**seen[0], "agent": "idle"}
    assert seen[2] == {**rests, "query": "archived", "assistant": "ended"}
    assert seen[3] == {**rests, "query": "archived"}
    assert seen[4] == seen[5] == rests


async def test_what_rests_is_kept_for_good_unless_the_operator_says_how_long(
    store: SqlThreadStore, clock: Clock
) -> None:
    clock.now += 7 * DAY + MINUTE
    await sweep(store, OPTIONS)
    await store.append(*turn_of("chat", "two", created_at=clock.now))
    assert set(await states(store)) == {"chat", "workflow", "query"}

    swept = await sweep(store, ThreadOptions(purge_after_days=7))

    assert swept.purged == 2
    assert await states(store) == {"chat": "active"}
    left = await store.answers(state=None, limit=9, offset=0)
    assert {entry.thread_id for entry in left} == {"chat"}


async def test_more_threads_than_one_batch_are_purged(
    store: SqlThreadStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.storage.maintenance.BATCH_SIZE", 2)
    clock.now += 7 * DAY
    await sweep(store, OPTIONS)

    assert (await sweep(store, ThreadOptions(purge_after_days=1))).purged == 3
    assert await states(store) == {}


async def test_the_sweep_writes_down_what_was_delivered(store: SqlThreadStore, url: str) -> None:
    await store.mark_delivered("a-chat-one")
    await sweep(store, OPTIONS)

    other = SqlThreadStore(url)
    found = await other.answer("a-chat-one")
    await other.close()

    assert found is not None
    assert found.state == "delivered"


async def test_a_process_that_dies_beside_us_is_noticed(store: SqlThreadStore, url: str) -> None:
    other = SqlThreadStore(url)
    left = other.track_answer(entry_of("t9", "one"))
    await left.__aenter__()
    assert (await sweep(store, OPTIONS)).unfinished == 0

    await other.lease.release()  # as the system does for a process that is killed

    assert (await sweep(store, OPTIONS)).unfinished == 1
    (entry,) = await store.answers(state="unfinished", limit=9, offset=0)
    assert entry.id == "a-t9-one"
    await left.__aexit__(None, None, None)
    await other.close()


async def test_the_task_goes_on_after_the_store_was_away(
    store: SqlThreadStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.now += HOUR + MINUTE
    rounds: asyncio.Queue[float] = asyncio.Queue()
    go_on = asyncio.Event()
    noted = store.flush_delivered

    async def away() -> None:
        store.flush_delivered = noted  # type: ignore[method-assign]
        raise StoreUnavailable("gone for a moment")

    async def pause(seconds: float) -> None:
        rounds.put_nowait(seconds)
        await go_on.wait()
        go_on.clear()

    store.flush_delivered = away  # type: ignore[method-assign]
    async with asyncio.timeout(30), run_sweeper(store, OPTIONS, pause):
        assert await rounds.get() == 60
        assert set((await states(store)).values()) == {"active"}
        go_on.set()
        await rounds.get()

    assert "gone for a moment" in caplog.text
    assert (await states(store))["chat"] == "archived"
