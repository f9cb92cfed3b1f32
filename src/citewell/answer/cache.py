"""The answer cache: a repeated question gets the cached answer under a new id.

Concurrent identical questions share one run of the pipeline (single-flight). Questions in an
existing conversation can depend on it, and are never cached.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic, perf_counter, time
from typing import Any
from unicodedata import normalize
from uuid import uuid4

from citewell.answer.prompts import VERSION
from citewell.answer.record import answer_record, best_effort, log_answer, store_answer
from citewell.answer.run import AnswerRun
from citewell.answer.shared_cache import CachedAnswer, SharedAnswerCache
from citewell.broadcast import Broadcast
from citewell.domain import Answer, Hit, Question, Timings
from citewell.errors import CitewellError, StoreUnavailable
from citewell.events import Done, Event, Retrieved, Started
from citewell.options import CacheOptions
from citewell.ports import Answerer, Library, ThreadStore
from citewell.telemetry import CACHE

Clock = Callable[[], float]
IDENTITY_FIELDS = frozenset(
    {
        "book",
        "thread_id",
        "owner",
        "key",
        "contract",
        "contract_data",
        "metadata",
        "received_at",
        "sent_at",
        "opens_by_id",
    }
)
"""Fields of a question that do not affect the answer."""
SEARCH_RECORD_FIELDS = (
    "searched",
    "also",
    "told",
    "hits",
    "top_k",
    "threshold",
    "least_answerability",
)
"""Fields of the record that describe the search, shared by all copies of the answer."""
_CAPITAL = re.compile(r"[A-Z][a-z]+\b")


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Everything an answer depends on."""

    book: str
    revision: str
    model: str
    instructions: str
    question: Question
    """Normalized, without `IDENTITY_FIELDS`."""


def normalize_question(text: str) -> str:
    """Normalize white space, final punctuation, and the initial capital of a question.

    Other capitals are significant: `-r` and `-R` differ.
    """
    text = " ".join(normalize("NFC", text).split())
    text = text.rstrip("?!. ") or text
    return text[0].lower() + text[1:] if _CAPITAL.match(text) else text


class InFlightAnswer:
    """An answer in progress, or complete."""

    def __init__(self) -> None:
        """Start without events."""
        self.events: Broadcast[Event] = Broadcast()
        self.error: BaseException | None = None
        self.task: asyncio.Task[None] | None = None
        self.created_at = 0.0
        self.record: dict[str, Any] = {}
        """The stored record of the answer."""
        self.cancelled = False
        self.is_shared: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether the answer comes from the shared cache."""
        self._followers = 0

    async def wait_if_shared(self) -> bool:
        """Wait until it is known whether the answer comes from the shared cache."""
        self._followers += 1
        try:
            return await asyncio.shield(self.is_shared)
        finally:
            self._followers -= 1
            if not self.is_shared.done():
                await self._stop_unless_followed()

    async def _stop_unless_followed(self) -> None:
        if not self._followers and self.task and not self.events.ended:
            self.cancelled = True
            self.task.cancel()
            await asyncio.wait([self.task])

    async def follow(self) -> AsyncGenerator[Event, None]:
        """Yield the events as they arrive; the last follower to leave cancels the work."""
        self._followers += 1
        try:
            count = 0
            while await self.events.wait_for_item(count):
                count += 1
                yield self.events.items[count - 1]
            if self.error:
                raise self.error
        finally:
            self._followers -= 1
            await self._stop_unless_followed()


class CachedAnswerer:
    """Caches the answers of another answerer."""

    def __init__(  # noqa: PLR0913 - mostly keyword-only
        self,
        inner: Answerer,
        library: Library,
        threads: ThreadStore,
        *,
        model: str,
        options: CacheOptions,
        shared: SharedAnswerCache | None = None,
        clock: Clock = monotonic,
    ) -> None:
        """Cache answers of `inner`; `shared` is the cache common to all processes."""
        self._inner = inner
        self._library = library
        self._threads = threads
        self._model = model
        self._options = options
        self._shared = shared
        self._clock = clock
        self._in_flight: OrderedDict[CacheKey, InFlightAnswer] = OrderedDict()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question as a stream of events."""
        key = await self._key(question)
        flight = self._find(key) if key else None
        result = "skipped" if key is None else "miss"
        if flight:
            result = "hit" if flight.events.ended else "shared"
        CACHE.labels("answers", result).inc()
        if key is None:
            events = self._inner.answer(question)
        elif flight is None:
            flight = self._start_flight(key, question)
            events = (
                self._replay_events(flight, question)
                if await flight.wait_if_shared()
                else flight.follow()
            )
        else:
            events = self._replay_events(flight, question)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _key(self, question: Question) -> CacheKey | None:
        """Return the cache key; `None` if the answer depends on a conversation."""
        try:
            index = await asyncio.to_thread(self._library.open, question.book)
            if question.selected_text is None and question.thread_id:
                thread = await self._threads.load(question.thread_id, last=1, owner=question.owner)
                if thread and thread.messages:
                    return None
        except CitewellError:
            return None  # the pipeline meets the same error, and handles it
        return CacheKey(index.book, index.revision, self._model, VERSION, _strip_identity(question))

    def _find(self, key: CacheKey) -> InFlightAnswer | None:
        flight = self._in_flight.get(key)
        if flight is None or flight.cancelled:
            return None
        is_expired = self._clock() - flight.created_at > self._options.ttl_seconds
        if flight.events.ended and is_expired:
            del self._in_flight[key]
            return None
        self._in_flight.move_to_end(key)
        return flight

    def _start_flight(self, key: CacheKey, question: Question) -> InFlightAnswer:
        flight = InFlightAnswer()
        self._in_flight[key] = flight
        while len(self._in_flight) > self._options.answers:
            self._in_flight.popitem(last=False)
        flight.task = asyncio.create_task(self._fetch_or_run(key, flight, question))
        return flight

    async def _fetch_or_run(
        self, key: CacheKey, flight: InFlightAnswer, question: Question
    ) -> None:
        """Take the answer from the shared cache, or run the pipeline."""
        cacheable = False
        try:
            cached = await self._shared.get_or_acquire_lease(key) if self._shared else None
            flight.is_shared.set_result(cached is not None)
            if cached:
                cacheable = True
                flight.record = cached.record
                flight.created_at = self._clock() - (time() - cached.made_at)
                for event in cached.events:
                    flight.events.publish(event)
            else:
                async with self._shared.hold_lease(key) if self._shared else nullcontext():
                    cacheable = await self._run_pipeline(key, flight, question)
        except BaseException as error:  # noqa: BLE001 - raised in `follow`
            flight.error = error
            if not flight.is_shared.done():
                flight.is_shared.set_result(False)
        if (not cacheable or flight.error) and self._in_flight.get(key) is flight:
            del self._in_flight[key]
        flight.events.end()

    async def _run_pipeline(
        self, key: CacheKey, flight: InFlightAnswer, question: Question
    ) -> bool:
        """Run the pipeline, and return whether the answer can be cached."""
        cacheable = False
        async with aclosing(self._inner.answer(question)) as events:
            async for event in events:
                if isinstance(event, Done):
                    answer = event.answer
                    cacheable = _is_cacheable(answer) and answer.revision == key.revision
                    flight.record = await self._answer_record(answer, question)
                    flight.created_at = self._clock()
                flight.events.publish(_strip_vectors(event))
        if cacheable and self._shared:
            await self._shared.put(key, CachedAnswer(tuple(flight.events.items), flight.record))
        return cacheable

    async def _answer_record(self, answer: Answer, question: Question) -> dict[str, Any]:
        with suppress(StoreUnavailable):
            message = await self._threads.answer(answer.id, owner=question.owner)
            if message:
                return dict(message.record)
        return answer_record(answer, question, answer.hits)

    async def _replay_events(
        self, flight: InFlightAnswer, question: Question
    ) -> AsyncGenerator[Event, None]:
        """Yield an answer made for another reader, with ids of its own."""
        thread_id = question.thread_id or str(uuid4())
        index = await asyncio.to_thread(self._library.open, question.book)
        run = AnswerRun(question, index, thread_id, str(uuid4()), self._model)
        answer: Answer | None = None
        async with aclosing(flight.follow()) as events, AsyncExitStack() as stack:
            await anext(events)  # skip the original `Started`
            await stack.enter_async_context(log_answer(self._threads, run))
            yield Started(thread_id, run.answer_id)
            await stack.enter_async_context(self._threads.turn(thread_id))
            async for event in events:
                if isinstance(event, Done):
                    answer = self._personalize(event.answer, flight, run)
                elif isinstance(event, Retrieved):
                    yield replace(event, question=question.text)
                else:
                    yield event
            assert answer is not None, "the pipeline ended without `Done`"
            await self._store(answer, run, flight.record)
        yield Done(_add_notices(answer, run))
        with suppress(StoreUnavailable):  # the reader has the answer; only its log entry is stale
            await self._threads.mark_delivered(answer.id)

    def _personalize(self, answer: Answer, flight: InFlightAnswer, run: AnswerRun) -> Answer:
        return replace(
            answer,
            id=run.answer_id,
            thread_id=run.thread_id,
            question=run.question.text,
            created_at=datetime.now(UTC),
            timings=Timings(total_ms=round(1000 * (perf_counter() - run.start_time), 2)),
            cache_age=round(self._clock() - flight.created_at, 3),
        )

    async def _store(self, answer: Answer, run: AnswerRun, record: Mapping[str, Any]) -> None:
        if not run.store_available:
            return
        question = run.question
        received_at = question.received_at or run.started_at
        record = _personalize_record(answer, question, record)
        await best_effort(
            run, store_answer(self._threads, answer, question, record, received_at=received_at)
        )


def _is_cacheable(answer: Answer) -> bool:
    """Return whether an answer was made without degradation."""
    return answer.state != "flagged" and not answer.notices


def _add_notices(answer: Answer, run: AnswerRun) -> Answer:
    kept = (notice for notice in answer.notices if notice != "not_kept")
    return replace(answer, notices=tuple(dict.fromkeys((*kept, *run.notices))))


def _strip_identity(question: Question) -> Question:
    empty = Question(text="")
    defaults = {name: getattr(empty, name) for name in IDENTITY_FIELDS}
    return replace(question, text=normalize_question(question.text), **defaults)


def _personalize_record(
    answer: Answer, question: Question, record: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the record for this reader, with the search fields of the original."""
    own_record = answer_record(answer, question, answer.hits)
    shared_fields = {name: record[name] for name in SEARCH_RECORD_FIELDS if name in record}
    return own_record | shared_fields | {"cache_age": answer.cache_age}


def _strip_vectors(event: Event) -> Event:
    """Remove the vectors of hits, which are large and no longer needed."""
    if isinstance(event, Retrieved):
        return replace(event, hits=_without_vectors(event.hits))
    if isinstance(event, Done):
        return Done(replace(event.answer, hits=_without_vectors(event.answer.hits)))
    return event


def _without_vectors(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    return tuple(replace(hit, vector=()) for hit in hits)
