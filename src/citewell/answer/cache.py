"""Answers, remembered: who asks what was asked before gets the same words, and a record of his own.

What is asked by several readers at once is answered once; all of them see it being made. A question
in a conversation that has begun may lean on it, and is always answered anew.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from time import monotonic, perf_counter, time
from typing import Any
from unicodedata import normalize
from uuid import uuid4

from citewell.answer.prompts import VERSION
from citewell.answer.record import answer_record, best_effort, keep, log_answer
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
        "noted",
        "metadata",
        "received_at",
        "sent_at",
        "opens_by_id",
    }
)
"""What a question says about who asks it where, and not about what is asked."""
SEARCH_RECORD_FIELDS = (
    "searched",
    "also",
    "told",
    "hits",
    "top_k",
    "threshold",
    "least_answerability",
)
"""What is stored of the search, and is the same for all who share the answer."""
_CAPITAL = re.compile(r"[A-Z][a-z]+\b")


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Everything an answer depends on."""

    book: str
    revision: str
    model: str
    instructions: str
    question: Question
    """In its normal form, and without the conversation that it stands in."""


def normal_form(text: str) -> str:
    """Return a question without what does not change its meaning.

    Capitals count, but for the one that begins the sentence: `-r` and `-R` are two things.
    """
    text = " ".join(normalize("NFC", text).split())
    text = text.rstrip("?!. ") or text
    return text[0].lower() + text[1:] if _CAPITAL.match(text) else text


class InFlightAnswer:
    """One answer on its way, or arrived."""

    def __init__(self) -> None:
        """Begin with nothing said and nobody waiting."""
        self.said: Broadcast[Event] = Broadcast()
        self.error: BaseException | None = None
        self.task: asyncio.Task[None] | None = None
        self.made_at = 0.0
        self.record: dict[str, Any] = {}
        """What was stored with the answer."""
        self.abandoned = False
        self.made_elsewhere: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether another process made it, or makes it."""
        self._followers = 0

    async def is_made_elsewhere(self) -> bool:
        """Wait until it is known who makes it; who leaves before that stops the looking."""
        self._followers += 1
        try:
            return await asyncio.shield(self.made_elsewhere)
        finally:
            self._followers -= 1
            if not self.made_elsewhere.done():
                await self._stop_unless_followed()

    async def _stop_unless_followed(self) -> None:
        if not self._followers and self.task and not self.said.ended:
            self.abandoned = True
            self.task.cancel()
            await asyncio.wait([self.task])

    async def follow(self) -> AsyncGenerator[Event, None]:
        """Yield the events as they come; the last one to leave stops the work."""
        self._followers += 1
        try:
            heard = 0
            while await self.said.wait_beyond(heard):
                heard += 1
                yield self.said.items[heard - 1]
            if self.error:
                raise self.error
        finally:
            self._followers -= 1
            await self._stop_unless_followed()


class CachedAnswerer:
    """Answers from memory what it can, and by the pipeline the rest."""

    def __init__(  # noqa: PLR0913 - all but three have a name
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
        """Remember what `inner` answers; `model` is the name of who writes.

        What is `shared`, all processes remember together.
        """
        self._inner = inner
        self._library = library
        self._threads = threads
        self._model = model
        self._options = options
        self._shared = shared
        self._clock = clock
        self._in_flight: OrderedDict[CacheKey, InFlightAnswer] = OrderedDict()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question, saying what happens as it does."""
        key = await self._key(question)
        flight = self._find(key) if key else None
        result = "skipped" if key is None else "miss"
        if flight:
            result = "hit" if flight.said.ended else "shared"
        CACHE.labels("answers", result).inc()
        if key is None:
            events = self._inner.answer(question)
        elif flight is None:
            flight = self._start(key, question)
            events = (
                self._replay_events(flight, question)
                if await flight.is_made_elsewhere()
                else flight.follow()
            )
        else:
            events = self._replay_events(flight, question)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _key(self, question: Question) -> CacheKey | None:
        """Name everything the answer depends on; `None` if that is more than can be named."""
        try:
            index = await asyncio.to_thread(self._library.open, question.book)
            if question.selected_text is None and question.thread_id:
                thread = await self._threads.load(question.thread_id, last=1, owner=question.owner)
                if thread and thread.messages:
                    return None
        except CitewellError:
            return None  # what can be said without it, the pipeline knows
        return CacheKey(index.book, index.revision, self._model, VERSION, _strip_identity(question))

    def _find(self, key: CacheKey) -> InFlightAnswer | None:
        flight = self._in_flight.get(key)
        if flight is None or flight.abandoned:
            return None
        old = self._clock() - flight.made_at > self._options.ttl_seconds
        if flight.said.ended and old:
            del self._in_flight[key]
            return None
        self._in_flight.move_to_end(key)
        return flight

    def _start(self, key: CacheKey, question: Question) -> InFlightAnswer:
        flight = InFlightAnswer()
        self._in_flight[key] = flight
        while len(self._in_flight) > self._options.answers:
            self._in_flight.popitem(last=False)
        flight.task = asyncio.create_task(self._fetch_or_make(key, flight, question))
        return flight

    async def _fetch_or_make(
        self, key: CacheKey, flight: InFlightAnswer, question: Question
    ) -> None:
        """Bring the answer from elsewhere, or make it; only what is worth it is remembered."""
        worth = False
        try:
            made = await self._shared.get_or_claim(key) if self._shared else None
            flight.made_elsewhere.set_result(made is not None)
            if made:
                worth = True
                flight.record = made.record
                flight.made_at = self._clock() - (time() - made.made_at)
                for event in made.events:
                    flight.said.publish(event)
            else:
                async with self._shared.hold_lease(key) if self._shared else nullcontext():
                    worth = await self._make(key, flight, question)
        except BaseException as error:  # noqa: BLE001 - raised where the events are followed
            flight.error = error
            if not flight.made_elsewhere.done():
                flight.made_elsewhere.set_result(False)
        if (not worth or flight.error) and self._in_flight.get(key) is flight:
            del self._in_flight[key]
        flight.said.end()

    async def _make(self, key: CacheKey, flight: InFlightAnswer, question: Question) -> bool:
        """Run the pipeline to its end, and tell whether the answer is worth remembering."""
        worth = False
        async with aclosing(self._inner.answer(question)) as events:
            async for event in events:
                if isinstance(event, Done):
                    answer = event.answer
                    worth = _is_cacheable(answer) and answer.revision == key.revision
                    flight.record = await self._answer_record(answer, question)
                    flight.made_at = self._clock()
                flight.said.publish(_strip_vectors(event))
        if worth and self._shared:
            await self._shared.keep(key, CachedAnswer(tuple(flight.said.items), flight.record))
        return worth

    async def _answer_record(self, answer: Answer, question: Question) -> dict[str, Any]:
        with suppress(StoreUnavailable):
            message = await self._threads.answer(answer.id, owner=question.owner)
            if message:
                return dict(message.record)
        return answer_record(answer, question, answer.hits)

    async def _replay_events(
        self, flight: InFlightAnswer, question: Question
    ) -> AsyncGenerator[Event, None]:
        """Yield an answer that was made, or is being made, for another reader."""
        thread_id = question.thread_id or str(uuid4())
        index = await asyncio.to_thread(self._library.open, question.book)
        work = AnswerRun(question, index, thread_id, str(uuid4()), self._model)
        answer: Answer | None = None
        async with aclosing(flight.follow()) as events, AsyncExitStack() as held:
            await anext(events)  # the other reader's `Started`, or a failure before it
            await held.enter_async_context(log_answer(self._threads, work))
            yield Started(thread_id, work.answer_id)
            await held.enter_async_context(self._threads.turn(thread_id))
            async for event in events:
                if isinstance(event, Done):
                    answer = self._personalize(event.answer, flight, work)
                elif isinstance(event, Retrieved):
                    yield replace(event, question=question.text)
                else:
                    yield event
            assert answer is not None, "the pipeline ended without `Done`"
            await self._remember(answer, work, flight.record)
        yield Done(_add_notices(answer, work))
        with suppress(StoreUnavailable):  # the reader has the answer; only the log will not say so
            await self._threads.mark_delivered(answer.id)

    def _personalize(self, answer: Answer, flight: InFlightAnswer, work: AnswerRun) -> Answer:
        return replace(
            answer,
            id=work.answer_id,
            thread_id=work.thread_id,
            question=work.question.text,
            created_at=datetime.now(UTC),
            timings=Timings(total_ms=round(1000 * (perf_counter() - work.begun), 2)),
            cache_age=round(self._clock() - flight.made_at, 3),
        )

    async def _remember(self, answer: Answer, work: AnswerRun, record: Mapping[str, Any]) -> None:
        if not work.kept:
            return
        asked = work.question
        received = asked.received_at or work.began_at
        own = _personalize_record(answer, asked, record)
        await best_effort(work, keep(self._threads, answer, asked, own, received_at=received))


def _is_cacheable(answer: Answer) -> bool:
    """Return whether an answer is as good as one that is made anew."""
    return answer.state != "flagged" and not answer.notices


def _add_notices(answer: Answer, work: AnswerRun) -> Answer:
    """Return what was down when it was made, and whether it is kept for this reader."""
    theirs = (one for one in answer.notices if one != "not_kept")
    return replace(answer, notices=tuple(dict.fromkeys((*theirs, *work.notices))))


def _strip_identity(question: Question) -> Question:
    blank = Question(text="")
    aside = {
        one.name: getattr(blank, one.name) for one in fields(blank) if one.name in IDENTITY_FIELDS
    }
    return replace(question, text=normal_form(question.text), **aside)


def _personalize_record(
    answer: Answer, question: Question, record: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is stored with the answer, with nothing of the other reader."""
    own = answer_record(answer, question, answer.hits)
    found = {name: record[name] for name in SEARCH_RECORD_FIELDS if name in record}
    return own | found | {"cache_age": answer.cache_age}


def _strip_vectors(event: Event) -> Event:
    """Leave out the vectors of passages: nobody reads them any more, and they are most of it."""
    if isinstance(event, Retrieved):
        return replace(event, hits=_without_vectors(event.hits))
    if isinstance(event, Done):
        return Done(replace(event.answer, hits=_without_vectors(event.answer.hits)))
    return event


def _without_vectors(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    return tuple(replace(hit, vector=()) for hit in hits)
