"""Answers that are remembered, and the readers who share one."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from agents.testing import ScriptedModel, assistant_message
from asgi_lifespan import LifespanManager

from citewell.answer.cache import CachedAnswerer, normalize_question
from citewell.api.app import create_app
from citewell.domain import Answer, Filters, Question
from citewell.errors import ModelUnavailable
from citewell.events import Done, Event
from citewell.ingest.pipeline import ingest
from citewell.models.embedding_cache import CachedEmbedder
from citewell.options import CacheOptions
from citewell.ports import Answerer, Vectors
from citewell.telemetry import REGISTRY
from citewell.wiring import Services, with_answer_cache
from tests.servers import HashEmbedder, build_services, write_tiny_book

ASKED = "What is a Fresnel lens made of?"


class CountingEmbedder(HashEmbedder):
    """Counts the questions that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return super().embed_query(text)


class Counting:
    """A pipeline that counts, and that waits for its gate."""

    def __init__(self, inner: Answerer) -> None:
        self._inner = inner
        self.made = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached = asyncio.Event()
        self.error: Exception | None = None
        self.closed = 0

    async def answer(self, question: Question) -> AsyncIterator[Event]:
        self.made += 1
        try:
            async for event in self._inner.answer(question):
                yield event
                self.reached.set()
                await self.gate.wait()
                if self.error:
                    raise self.error
        finally:
            self.closed += 1


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    book = write_tiny_book(tmp_path / "book")
    ingest(book, folder / "books", HashEmbedder(), book="tiny")
    return folder


@pytest.fixture
async def services(data: Path) -> AsyncIterator[Services]:
    async with build_services(data) as services:
        yield services


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def inner(services: Services) -> Counting:
    return Counting(services.answerer)


@pytest.fixture
def cached(services: Services, inner: Counting, clock: Clock) -> CachedAnswerer:
    return _cached(services, inner, clock)


def _cached(services: Services, inner: Counting, clock: Clock, **options: float) -> CachedAnswerer:
    return CachedAnswerer(
        inner,
        services.library,
        services.threads,
        model="embedded",
        options=CacheOptions(**options),
        clock=clock,
    )


async def ask(answerer: Answerer, question: Question | str) -> Answer:
    asked = question if isinstance(question, Question) else Question(text=question)
    async for event in answerer.answer(asked):
        if isinstance(event, Done):
            answer = event.answer
    return answer


async def test_what_was_asked_before_is_answered_from_memory_with_a_record_of_its_own(
    cached: CachedAnswerer, inner: Counting, services: Services, clock: Clock
) -> None:
    first = await ask(cached, ASKED)
    clock.now += 7
    again = await ask(cached, "  what is a Fresnel  lens made of ")

    assert (inner.made, first.cache_age, again.cache_age) == (1, None, 7.0)
    assert (again.text, again.claims, again.confidence) == (
        first.text, first.claims, first.confidence,
    )  # fmt: skip
    assert again.id != first.id
    assert again.thread_id != first.thread_id
    receipt, before = await services.receipts.read(again.id), await services.receipts.read(first.id)
    assert receipt.question == "  what is a Fresnel  lens made of "
    assert receipt.thread_id == again.thread_id
    assert (receipt.passages, receipt.claims) == (before.passages, before.claims)
    thread = await services.threads.load(again.thread_id)
    assert thread is not None
    asked, said = thread.messages
    assert (asked.role, said.id, said.state) == ("user", again.id, "delivered")
    assert first.id not in str(said.record)
    assert first.thread_id not in str(said.record)
    assert not (await services.receipts.replay(again.id)).differs


async def test_a_hundred_readers_who_ask_the_same_cost_one_answer(data: Path) -> None:
    embedder = CountingEmbedder()
    calls = 0

    def model(_: object) -> ScriptedModel:
        nonlocal calls
        calls += 1
        return ScriptedModel([[assistant_message("A Fresnel lens is a lens made of glass. [1]")]])

    services = build_services(data, embedder=embedder, model=model)
    searcher = services.searcher
    searcher.embedder = CachedEmbedder(embedder, 10)
    app = create_app(with_answer_cache(services, "scripted"))
    async with LifespanManager(app):
        embedder.asked.clear()  # the check at start-up
        before = _look_ups("answers", "miss")
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            replies = await asyncio.gather(
                *(client.post("/chat/run", json={"message": ASKED}) for _ in range(100))
            )
            bodies = [reply.json() for reply in replies]
            receipts = [await client.get(f"/answers/{body['answer_id']}") for body in bodies]

    assert (calls, len(embedder.asked)) == (1, 1)
    assert {body["response"] for body in bodies} == {bodies[0]["response"]}
    assert len({body["answer_id"] for body in bodies}) == 100
    assert len({body["session_id"] for body in bodies}) == 100
    assert {reply.status_code for reply in receipts} == {200}
    assert _look_ups("answers", "miss") == before + 1


async def test_readers_see_an_answer_being_made_for_another(
    cached: CachedAnswerer, inner: Counting
) -> None:
    inner.gate.clear()
    leader, follower = (cached.answer(Question(text=ASKED)) for _ in range(2))
    started = await anext(leader)
    reading = asyncio.create_task(anext(follower))  # nothing but a start is there yet
    own = await reading
    inner.gate.set()
    rest = [event async for event in follower]
    await leader.aclose()

    assert type(own) is type(started)
    assert own != started
    assert inner.made == 1
    assert rest[-1].answer.id == own.answer_id


async def test_an_answer_goes_on_for_the_others_when_the_first_reader_leaves(
    cached: CachedAnswerer, inner: Counting
) -> None:
    inner.gate.clear()
    leader, follower = (cached.answer(Question(text=ASKED)) for _ in range(2))
    await anext(leader)
    await anext(follower)
    await leader.aclose()
    inner.gate.set()

    assert isinstance([event async for event in follower][-1], Done)
    assert inner.made == 1


async def test_an_answer_that_everybody_left_is_given_up_and_made_anew(
    cached: CachedAnswerer, inner: Counting
) -> None:
    inner.gate.clear()
    only = cached.answer(Question(text=ASKED))
    await anext(only)
    await only.aclose()

    assert inner.closed == 1
    inner.gate.set()
    assert (await ask(cached, ASKED)).cache_age is None
    assert inner.made == 2


async def test_readers_who_share_an_answer_do_not_share_a_conversation(
    cached: CachedAnswerer, inner: Counting, services: Services
) -> None:
    ada, bob = [
        await ask(
            cached, Question(text=ASKED, owner=owner, contract="agent", contract_data={"by": owner})
        )
        for owner in ("ada", "bob")
    ]

    assert inner.made == 1
    threads = services.threads
    assert await threads.load(bob.thread_id, owner="ada") is None
    assert await threads.answer(bob.id, owner="ada") is None
    theirs = await threads.load(bob.thread_id, owner="bob")
    assert theirs is not None
    assert (theirs.owner, theirs.contract) == ("bob", "agent")
    assert theirs.messages[1].record["noted"] == {"by": "bob"}
    assert ada.thread_id not in str(theirs)
    assert ada.id not in str(theirs)
    assert await threads.answer(ada.id, owner="ada") is not None


async def test_an_answer_given_while_something_was_down_is_not_repeated(
    services: Services, clock: Clock
) -> None:
    class Down:
        def __init__(self) -> None:
            self.made = 0

        async def answer(self, question: Question) -> AsyncIterator[Event]:
            self.made += 1
            async for event in services.answerer.answer(question):
                done = isinstance(event, Done)
                yield Done(replace(event.answer, notices=("embedded_answer",))) if done else event

    inner = Down()
    cached = _cached(services, inner, clock)

    assert (await ask(cached, ASKED)).notices == ("embedded_answer",)
    assert (await ask(cached, ASKED)).cache_age is None
    assert inner.made == 2


async def test_a_failure_is_told_to_all_who_wait_and_not_remembered(
    cached: CachedAnswerer, inner: Counting
) -> None:
    inner.gate.clear()
    inner.error = ModelUnavailable("The model is away.")
    readers = [asyncio.create_task(ask(cached, ASKED)) for _ in range(3)]
    await inner.reached.wait()
    inner.gate.set()
    failed = await asyncio.gather(*readers, return_exceptions=True)
    inner.error = None

    assert [type(one) for one in failed] == [ModelUnavailable] * 3
    assert inner.made == 1
    assert (await ask(cached, ASKED)).cache_age is None


async def test_a_follow_up_is_always_answered_anew(cached: CachedAnswerer, inner: Counting) -> None:
    first = await ask(cached, ASKED)
    again = await ask(cached, Question(text=ASKED, thread_id=first.thread_id))

    assert again.cache_age is None
    assert inner.made == 2


async def test_a_changed_book_never_serves_an_old_answer(
    cached: CachedAnswerer, inner: Counting, data: Path, tmp_path: Path
) -> None:
    first = await ask(cached, ASKED)
    page = tmp_path / "book/docs/lamps/01-lens.md"
    page.write_text(page.read_text("utf-8").replace("rings of glass", "rings of quartz"), "utf-8")
    ingest(tmp_path / "book", data / "books", HashEmbedder(), book="tiny")
    second = await ask(cached, ASKED)

    assert "glass" in first.text
    assert "quartz" in second.text
    assert second.cache_age is None
    assert first.revision != second.revision


@pytest.mark.parametrize(
    "other",
    [
        {"top_k": 3},
        {"threshold": 0.1},
        {"filters": Filters(chapter=("The lens",))},
        {"selected_text": "A Fresnel lens is made of concentric rings of glass."},
        {"text": "What is a fresnel lens made of?"},
    ],
)
async def test_another_question_is_not_answered_from_memory(
    cached: CachedAnswerer, inner: Counting, other: dict[str, object]
) -> None:
    await ask(cached, ASKED)
    await ask(cached, replace(Question(text=ASKED), **other))

    assert inner.made == 2


async def test_answers_grow_old_and_few_are_kept(
    services: Services, inner: Counting, clock: Clock
) -> None:
    cached = _cached(services, inner, clock, ttl_seconds=60, answers=2)
    await ask(cached, ASKED)
    clock.now += 60
    assert (await ask(cached, ASKED)).cache_age == 60
    clock.now += 1
    assert (await ask(cached, ASKED)).cache_age is None

    for other in ("What does the keeper wind?", "What is sounded in fog?"):
        await ask(cached, other)
    assert (await ask(cached, ASKED)).cache_age is None


async def test_what_the_book_does_not_support_is_not_repeated(data: Path, clock: Clock) -> None:
    def lies(_: object) -> ScriptedModel:
        said = "A Fresnel lens is a lens made of concentric rings of glass. [1] It is blue. [1]"
        return ScriptedModel([[assistant_message(said)]])

    async with build_services(data, model=lies) as services:
        inner = Counting(services.answerer)
        cached = _cached(services, inner, clock)
        assert (await ask(cached, ASKED)).state == "flagged"
        await ask(cached, ASKED)

    assert inner.made == 2


def test_a_question_is_embedded_again_after_a_failure() -> None:
    class Failing(HashEmbedder):
        failures = 1

        def embed_query(self, text: str) -> Vectors:
            if self.failures:
                self.failures -= 1
                raise ModelUnavailable("away")
            return super().embed_query(text)

    embedder = CachedEmbedder(Failing(), 1)
    with pytest.raises(ModelUnavailable):
        embedder.embed_query("lens")
    vector = embedder.embed_query("lens")
    assert vector is embedder.embed_query("lens")
    assert embedder.embed_query("keeper") is not vector
    assert embedder.embed_query("lens") is not vector
    assert (embedder.width, embedder.count_tokens(["one two"])) == (64, [2])
    assert embedder.embed_passages(["lens"]).shape == (1, 64)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What is  AMCL?", "what is AMCL", True),
        ("What does -R do?", "What does -r do?", False),
        ("US law", "us law", False),
        ("the cafe\u0301?", "the café", True),
        ("?", "", False),
    ],
)
def test_the_normal_form_keeps_what_counts(one: str, other: str, same: bool) -> None:
    assert (normalize_question(one) == normalize_question(other)) is same


def _look_ups(cache: str, result: str) -> float:
    labels = {"cache": cache, "result": result}
    return REGISTRY.get_sample_value("citewell_cache_total", labels) or 0.0
