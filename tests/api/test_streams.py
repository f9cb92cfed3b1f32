"""Readers who come and go while their answer is made, over real sockets."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from citewell.api.app import create_app
from citewell.domain import Claim
from citewell.errors import AnswerInterrupted, StoreUnavailable, UnknownStream
from citewell.events import Event, Failed, Started, Withheld
from citewell.options import StreamOptions
from citewell.storage.stream_log import Batch, StreamLog
from citewell.streaming.hub import MAX_UNREAD_EVENTS, StreamHub
from citewell.wiring import Services
from tests.api.live_server import ASKED, Gated, numbers, read_some, served, with_streams
from tests.api.serving import access, limits, with_settings
from tests.api.sse import parse_sse

SOON = 0.05


@pytest.fixture
def gate() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=60) as client:
        yield client


def _gated(services: Services, gate: asyncio.Event, **options: float) -> tuple[Gated, object]:
    gated = Gated(services.answerer, gate.wait)
    return gated, create_app(replace(with_streams(services, **options), answerer=gated))


async def test_a_stream_that_was_cut_goes_on_and_shows_each_event_once(
    tiny: Services, client: httpx.AsyncClient, gate: asyncio.Event
) -> None:
    gated, app = _gated(tiny, gate)
    async with served(app) as address:
        before = await read_some(client, f"{address}/chat/stream", 2)
        gate.set()
        last, _, start = before[-1][0], *before[0][1:]
        after = await client.post(
            f"{address}/chat/stream", json=ASKED, headers={"last-event-id": last}
        )
        events = [*before, *parse_sse(after.text)]
        again = await client.get(f"{address}/streams/{events[0][0].partition(':')[0]}")
        done = events[-1][2]
        thread = (await client.get(f"{address}/threads/{done['session_id']}")).json()

    assert numbers(events) == list(range(1, len(events) + 1))
    assert [name for _, name, _ in events[:2]] == ["start", "retrieved"]
    assert [name for _, name, _ in events][-1] == "done"
    told = "".join(data["text"] for _, name, data in events if name == "sentence")
    assert told == done["response"]
    assert parse_sse(again.text) == events
    assert start["answer_id"] == done["answer_id"]
    assert (gated.begun, thread["message_count"]) == (1, 2)


async def test_an_answer_in_the_making_says_so_to_its_owner_alone(
    tiny: Services, client: httpx.AsyncClient, gate: asyncio.Event
) -> None:
    _, app = _gated(with_settings(tiny, **access(mode="open"), **limits(per_ip="")), gate)
    me, other = {"X-Citewell-Reader": "m" * 22}, {"X-Citewell-Reader": "o" * 22}
    async with served(app) as address:
        async with client.stream("POST", f"{address}/chat/stream", json=ASKED, headers=me) as reply:
            texts = reply.aiter_text()
            identity = (await anext(texts)).partition("id: ")[2].partition(":")[0]
            receipt = f"{address}/answers/{identity}"
            mine = await client.get(receipt, headers=me)
            others = await client.get(receipt, headers=other)
            replayed = await client.post(f"{receipt}/replay", headers=me)
            gate.set()
            _ = [text async for text in texts]
        finished = await client.get(receipt, headers=me)

    assert (mine.status_code, mine.json()["state"]) == (202, "processing")
    assert (mine.json()["answer_id"], mine.json()["question"]) == (identity, ASKED["message"])
    assert (others.status_code, replayed.status_code) == (404, 404)
    assert (finished.status_code, finished.json()["answer_id"]) == (200, identity)


async def test_a_reader_of_all_of_a_stream_is_told_not_to_come_again(
    tiny: Services, client: httpx.AsyncClient
) -> None:
    async with served(create_app(tiny)) as address:
        events = parse_sse((await client.post(f"{address}/chat/stream", json=ASKED)).text)
        identity, last = events[0][0].partition(":")[0], {"last-event-id": events[-1][0]}
        by_get = await client.get(f"{address}/streams/{identity}", headers=last)
        by_post = await client.post(f"{address}/chat/stream", json=ASKED, headers=last)
        in_body = await client.post(
            f"{address}/chat/run", json=ASKED | {"stream": True}, headers=last
        )

    assert (by_get.status_code, by_post.status_code, in_body.status_code) == (204, 204, 204)


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("6f0e4a52-5f5c-4a0c-9f60-7f3b2f8b5a11:2", 404),
        ("nonsense", 404),
        ("6f0e4a52-5f5c-4a0c-9f60-7f3b2f8b5a11:x", 404),
        ("6f0e4a52-5f5c-4a0c-9f60-7f3b2f8b5a11:\u00b2".encode(), 404),
        ("x" * 101, 422),
    ],
)
async def test_an_event_that_nobody_sent_cannot_be_gone_on_behind(
    tiny: Services, client: httpx.AsyncClient, last: str | bytes, status: int
) -> None:
    async with served(create_app(tiny)) as address:
        reply = await client.post(
            f"{address}/chat/stream", json=ASKED, headers={"last-event-id": last}
        )

    assert reply.status_code == status
    assert reply.json()["suggested_action"]


async def test_an_event_of_another_stream_is_refused(
    tiny: Services, client: httpx.AsyncClient
) -> None:
    asked, other = "6f0e4a52-5f5c-4a0c-9f60-7f3b2f8b5a11", "0b6ed0c4-41f7-4a38-8ad5-3d0b7d1b8a10"
    async with served(create_app(tiny)) as address:
        reply = await client.get(
            f"{address}/streams/{asked}", headers={"last-event-id": f"{other}:1"}
        )

    assert (reply.status_code, reply.json()["code"]) == (404, "UnknownStream")


async def test_the_work_for_a_reader_who_does_not_come_back_is_stopped(
    tiny: Services, client: httpx.AsyncClient, gate: asyncio.Event
) -> None:
    gated, app = _gated(tiny, gate, grace_seconds=0)
    async with served(app) as address:
        ((identity, *_), _) = await read_some(client, f"{address}/chat/stream", 2)
        await gated.closed.wait()
        stream = identity.partition(":")[0]
        events = parse_sse((await client.get(f"{address}/streams/{stream}")).text)
        logged = (await client.get(f"{address}/answers?limit=100")).json()

    assert [name for _, name, _ in events] == ["start", "retrieved", "error"]
    assert events[-1][2]["code"] == "AnswerInterrupted"
    assert stream not in {entry["answer_id"] for entry in logged}


async def test_an_answer_that_takes_too_long_ends_with_an_error(
    tiny: Services, client: httpx.AsyncClient, gate: asyncio.Event
) -> None:
    gated, app = _gated(tiny, gate, max_seconds=1)
    async with served(app) as address:
        streamed = parse_sse((await client.post(f"{address}/chat/stream", json=ASKED)).text)
        whole = await client.post(f"{address}/chat/run", json=ASKED)

    assert streamed[-1][1] == "error"
    assert streamed[-1][2]["code"] == whole.json()["code"] == "AnswerTimedOut"
    assert streamed[-1][2]["status"] == whole.status_code == 504
    assert gated.closed.is_set()


async def test_a_whole_answer_is_not_made_for_a_reader_who_left(
    tiny: Services, client: httpx.AsyncClient, gate: asyncio.Event
) -> None:
    gated, app = _gated(tiny, gate)
    async with served(app) as address:
        asking = asyncio.create_task(client.post(f"{address}/chat/run", json=ASKED))
        while not gated.begun:
            await client.get(f"{address}/health")
        asking.cancel()
        await asyncio.wait([asking])
        await gated.closed.wait()

    assert not gate.is_set()


async def test_deleting_a_conversation_deletes_its_streams(
    tiny: Services, client: httpx.AsyncClient
) -> None:
    async with served(create_app(tiny)) as address:
        events = parse_sse((await client.post(f"{address}/chat/stream", json=ASKED)).text)
        done = events[-1][2]
        there = await client.get(f"{address}/streams/{done['answer_id']}")
        await client.delete(f"{address}/threads/{done['session_id']}")
        gone = await client.get(f"{address}/streams/{done['answer_id']}")

    assert (there.status_code, gone.status_code) == (200, 404)


async def test_streams_are_sent_though_they_cannot_be_kept(
    tiny: Services, client: httpx.AsyncClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "streams.db").mkdir()  # no file can be there
    settings = tiny.settings.model_copy(update={"data_dir": tmp_path})
    async with served(create_app(replace(tiny, settings=settings))) as address:
        events = parse_sse((await client.post(f"{address}/chat/stream", json=ASKED)).text)
        again = await client.get(f"{address}/streams/{events[0][0].partition(':')[0]}")

    assert events[-1][1] == "done"
    assert parse_sse(again.text) == events
    assert "events of streams are not stored" in caplog.text


# ---- what cannot be seen through a socket

IDENTITY = "6f0e4a52-5f5c-4a0c-9f60-7f3b2f8b5a11"
SAID = Withheld(
    Claim(text="The sea is dry.", start=0, end=0, verdict="unsupported", probability=0.0)
)


def _write(event: Event) -> tuple[str, str]:
    return type(event).__name__, str(event.error) if isinstance(event, Failed) else "{}"


async def _says(gate: asyncio.Event, count: int = 1) -> AsyncGenerator[Event, None]:
    yield Started("thread", IDENTITY)
    await gate.wait()
    for _ in range(count):
        yield SAID


async def test_the_pipeline_waits_for_a_reader_who_is_far_behind(
    url: str, gate: asyncio.Event
) -> None:
    made = 0

    async def talks() -> AsyncGenerator[Event, None]:
        nonlocal made
        yield Started("thread", IDENTITY)
        while made < 3 * MAX_UNREAD_EVENTS:
            made += 1
            yield SAID

    async with StreamHub(StreamLog(url), StreamOptions()) as streams:
        _, frames = await streams.start(talks(), _write)
        read = [await anext(frames)]
        for _ in range(10 * MAX_UNREAD_EVENTS):
            await asyncio.sleep(0)
        ahead = made
        read += [frame async for frame in frames]

    assert ahead <= MAX_UNREAD_EVENTS + 1
    assert [frame.number for frame in read if frame] == list(range(1, 3 * MAX_UNREAD_EVENTS + 2))


async def test_nobody_reads_the_stream_of_another(url: str, gate: asyncio.Event) -> None:
    async with StreamHub(StreamLog(url), StreamOptions()) as streams:
        _, frames = await streams.start(_says(gate), _write, owner="ada")
        with pytest.raises(UnknownStream):
            await streams.resume(IDENTITY, 0, owner="bob")
        gate.set()
        assert len([frame async for frame in frames]) == 2


async def test_a_reader_at_another_process_keeps_the_work_going(
    url: str, gate: asyncio.Event
) -> None:
    options = StreamOptions(grace_seconds=1.5)  # five notes of a reader take longer
    journal = StreamLog(url)
    async with (
        StreamHub(StreamLog(url), options) as here,
        StreamHub(journal, options) as there,
    ):
        _, frames = await here.start(_says(gate), _write)
        await anext(frames)
        followed = await there.resume(IDENTITY, 0)
        assert followed is not None
        first = await anext(followed)
        rest = asyncio.create_task(_all(followed))
        await frames.aclose()
        while (kept := await journal.find(IDENTITY)) and kept.reads < 5:
            assert not kept.ended
        gate.set()
        events = [first, *await rest]

    assert [frame.event for frame in events if frame] == ["Started", "Withheld"]


async def test_a_quiet_stream_of_another_process_is_kept_alive_and_its_end_is_told(
    url: str, gate: asyncio.Event
) -> None:
    options = StreamOptions(keep_alive_seconds=SOON, lost_seconds=60)
    journal = StreamLog(url)
    async with (
        StreamHub(StreamLog(url), options) as here,
        StreamHub(journal, options) as there,
    ):
        _, frames = await here.start(_says(gate), _write)
        await anext(frames)
        followed = await there.resume(IDENTITY, 1)
        assert followed is not None
        assert await anext(followed) is None
        gate.set()
        events = [frame async for frame in followed if frame]

    assert [frame.event for frame in events] == ["Withheld"]


async def test_what_need_not_be_kept_is_forgotten(url: str, gate: asyncio.Event) -> None:
    gate.set()
    async with StreamHub(StreamLog(url), StreamOptions(keep_seconds=0)) as streams:
        _, frames = await streams.start(_says(gate), _write)
        assert len([frame async for frame in frames]) == 2
    journal = StreamLog(url)
    await journal.purge(after_end=0, after_start=0)
    try:
        assert await journal.find(IDENTITY) is None
        assert await journal.read(IDENTITY, 0) == []
    finally:
        await journal.close()


async def test_more_streams_than_a_statement_takes_values_are_forgotten(url: str) -> None:
    count = 40_000
    journal = StreamLog(url)
    await journal.open()
    try:
        await journal.write(Batch(started=[(f"stream-{n}", "") for n in range(count)]))
        await journal.purge(after_end=0, after_start=-60)
        left = [await journal.find(f"stream-{n}") for n in (0, count - 1)]
    finally:
        await journal.close()

    assert left == [None, None]


async def test_what_follows_a_gap_is_not_told_as_if_nothing_were_missing(
    url: str, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, failed = StreamLog(url), asyncio.Event()
    write = StreamLog.write

    async def fails_once(self: StreamLog, batch: Batch) -> None:
        if any(frame.event == "Withheld" for _, frame in batch.frames) and not failed.is_set():
            failed.set()
            raise StoreUnavailable("down")
        await write(self, batch)

    async def talks() -> AsyncGenerator[Event, None]:
        yield Started("thread", IDENTITY)
        await gate.wait()
        yield SAID
        await failed.wait()
        yield SAID

    monkeypatch.setattr(StreamLog, "write", fails_once)
    options = StreamOptions(lost_seconds=1)
    async with StreamHub(StreamLog(url), options) as here, StreamHub(journal, options) as there:
        _, frames = await here.start(talks(), _write)
        followed = await there.resume(IDENTITY, 0)
        assert followed is not None
        seen = [await anext(followed)]
        gate.set()
        with pytest.raises(AnswerInterrupted):
            seen += await _all(followed)
        own = await _all(frames)

    assert [frame.number for frame in seen if frame] == [1]
    assert [frame.number for frame in own if frame] == [1, 2, 3]


async def _all(frames: AsyncGenerator[object, None]) -> list[object]:
    return [frame async for frame in frames]
