"""Answers that several processes remember together, on a real Redis."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citewell.answer import shared_cache as module
from citewell.answer.cache import CachedAnswerer
from citewell.answer.shared_cache import CachedAnswer, SharedAnswerCache
from citewell.domain import Answer, Question
from citewell.errors import BadSettings, ModelUnavailable
from citewell.events import Done, Event
from citewell.options import CacheOptions
from citewell.wiring import Services
from tests.answer.test_cache import Counting
from tests.redis_server import RedisServer
from tests.servers import build_services

ASKED = "What is a Fresnel lens made of?"


class Process:
    """What one process of the service has: a pipeline, a memory, and a way to Redis."""

    def __init__(self, services: Services, redis: RedisServer, scope: str = "") -> None:
        self.shared = SharedAnswerCache(redis.url, timeout=1, ttl=60).with_scope(scope)
        self.pipeline = Counting(services.answerer)
        self._cached = CachedAnswerer(
            self.pipeline,
            services.library,
            services.threads,
            model="embedded",
            options=CacheOptions(),
            shared=self.shared,
        )

    async def ask(self, text: str = ASKED) -> Answer:
        events = [event async for event in self._cached.answer(Question(text=text))]
        assert isinstance(events[-1], Done)
        return events[-1].answer


@pytest.fixture
async def services(tiny_data: Path, tmp_path: Path) -> AsyncIterator[Services]:
    async with build_services(tiny_data) as services:
        yield services


@pytest.fixture
async def two(
    services: Services, redis_server: RedisServer
) -> AsyncIterator[tuple[Process, Process]]:
    here, there = Process(services, redis_server), Process(services, redis_server)
    yield here, there
    await here.shared.close()
    await there.shared.close()


async def test_what_one_process_answered_another_gives_again(
    two: tuple[Process, Process], services: Services
) -> None:
    here, there = two
    first, second = await here.ask(), await there.ask()

    assert (here.pipeline.made, there.pipeline.made) == (1, 0)
    assert (second.text, second.claims, second.revision) == (
        first.text,
        first.claims,
        first.revision,
    )
    assert [hit.chunk for hit in second.hits] == [hit.chunk for hit in first.hits]
    assert second.id != first.id
    assert second.thread_id != first.thread_id
    assert second.cache_age is not None
    kept = await services.threads.answer(second.id)
    assert kept
    assert kept.content == first.text


async def test_what_is_asked_at_two_processes_at_once_is_made_once(
    two: tuple[Process, Process],
) -> None:
    here, there = two
    here.pipeline.gate.clear()
    first = asyncio.create_task(here.ask())
    await here.pipeline.reached.wait()
    others = [asyncio.create_task(there.ask()) for _ in range(3)]
    here.pipeline.gate.set()
    answers = await asyncio.gather(first, *others)

    assert (here.pipeline.made, there.pipeline.made) == (1, 0)
    assert len({answer.text for answer in answers}) == 1
    assert len({answer.id for answer in answers}) == 4


async def test_who_waits_for_a_process_that_fails_makes_the_answer_himself(
    two: tuple[Process, Process],
) -> None:
    here, there = two
    here.pipeline.gate.clear()
    here.pipeline.error = ModelUnavailable("down")
    failing = asyncio.create_task(here.ask())
    await here.pipeline.reached.wait()
    waiting = asyncio.create_task(there.ask())
    here.pipeline.gate.set()

    with pytest.raises(ModelUnavailable):
        await failing
    assert (await waiting).text
    assert there.pipeline.made == 1


async def test_who_waits_for_a_process_that_was_killed_makes_the_answer_himself(
    two: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEASE", 0.3)
    here, there = two
    key = await there._cached._key(Question(text=ASKED))
    # Claimed, and no sign of life afterwards.
    assert await here.shared.get_or_acquire_lease(key) is None

    assert (await there.ask()).text
    assert there.pipeline.made == 1


async def test_who_leaves_while_he_waits_leaves_nothing_behind(
    two: tuple[Process, Process],
) -> None:
    here, there = two
    here.pipeline.gate.clear()
    first = asyncio.create_task(here.ask())
    await here.pipeline.reached.wait()
    left = asyncio.create_task(there.ask())
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    here.pipeline.gate.set()

    assert (await there.ask()).text == (await first).text
    assert there.pipeline.made == 0


async def test_processes_that_are_set_up_in_another_way_share_nothing(
    services: Services, redis_server: RedisServer
) -> None:
    here = Process(services, redis_server, "withhold")
    there = Process(services, redis_server, "mark")
    await here.ask()
    await there.ask()

    assert (here.pipeline.made, there.pipeline.made) == (1, 1)
    await here.shared.close()
    await there.shared.close()


async def test_without_redis_each_process_remembers_for_itself(
    two: tuple[Process, Process], redis_server: RedisServer
) -> None:
    redis_server.stop()
    here, there = two
    for process in two:
        await process.ask()
        await process.ask()

    assert (here.pipeline.made, there.pipeline.made) == (1, 1)


async def test_what_cannot_be_read_was_never_there(two: tuple[Process, Process]) -> None:
    here, there = two
    key = await here._cached._key(Question(text=ASKED))
    made: tuple[Event, ...] = ()
    await here.shared.put(key, CachedAnswer(made, {}, made_at=1.0))
    assert await there.shared.find(key) == CachedAnswer((), {}, made_at=1.0)
    await there.shared._redis.set(
        there.shared._redis_key("answer", key), b'{"events": [["No", 1]]}'
    )

    assert await here.shared.find(key) is None


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(BadSettings, match="CITEWELL_REDIS_URL cannot be used"):
        SharedAnswerCache("nonsense", timeout=1, ttl=1)
