"""What models write, released once it is proven; where one fails, the next of the list writes."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import perf_counter

from quire.answer.agent import Calling, Evidence, draft
from quire.answer.asking import Asking
from quire.answer.budget import Budget
from quire.answer.checking import Checking
from quire.answer.embedded import NAME as EMBEDDED
from quire.answer.embedded import EmbeddedModel, QuoteReader
from quire.answer.instructions import SECOND_OPINION
from quire.answer.memory import ThreadSession
from quire.answer.models import Writer, Writers
from quire.answer.options import AnswerOptions
from quire.answer.outside import OutsideModel
from quire.answer.refusal import BROKEN_OFF
from quire.answer.work import Work
from quire.errors import ModelError, ModelMisbehaved, ModelUnavailable
from quire.events import Sentence, Withheld
from quire.ports import Judge
from quire.telemetry.metrics import DOLLARS, MODELS, TOKENS
from quire.verify.claims import PieceReader

LOG = logging.getLogger("quire.answer")
Written = AsyncGenerator[Sentence | Withheld, None]


class Writing:
    """Lets the models of the list write in turn."""

    def __init__(self, writers: Writers, judge: Judge, options: AnswerOptions) -> None:
        """Let `writers` write, and show what `judge` and the options let through."""
        self._writers = writers
        again = Asking(writers).on(SECOND_OPINION) if writers.limits.second_opinion else None
        self._checking = Checking(judge, options, again)
        self._max_turns = options.max_turns

    async def write(self, work: Work, shown: Evidence, session: ThreadSession | None) -> Written:
        """Give the pieces that may be shown, by the first model that says something proven.

        One that breaks off after that leaves the answer incomplete: two writers in one answer would
        be worse. Before it, nothing has been shown, and the next one begins anew.

        Raises:
            ModelError: no model could be used.
        """
        budget = self._writers.budget()
        failure: ModelError | None = None
        for writer in self._writers.each:
            if not writer.breaker.lets_through():
                failure = failure or ModelUnavailable(f"The model {writer.name!r} is left alone.")
                continue
            try:
                attempt = self._attempt(work, writer, shown, budget, session)
                async with aclosing(attempt) as pieces:
                    async for event in pieces:
                        yield event
            except ModelError as error:
                failure = _failed(writer, error)
                if work.is_proven:
                    work.note("incomplete")
                    yield work.say(BROKEN_OFF)
                    return
                continue
            failure = None
            if work.is_proven or work.declined or shown.refusal:
                break
        work.refusal = shown.refusal
        if failure:
            raise failure

    async def _attempt(
        self,
        work: Work,
        writer: Writer,
        shown: Evidence,
        budget: Budget,
        session: ThreadSession | None,
    ) -> Written:
        """Let one model write; hold it back until it has a proven claim."""
        begun, before = perf_counter() - work.verify_ms / 1000, (budget.read, budget.written)
        if writer.options:
            self._writers.spending.check()
        self._begin(work, writer)
        held: list[Sentence | Withheld] = []
        try:
            checked = self._checked(work, writer, shown, budget, session)
            async with aclosing(checked) as pieces:
                async for event in pieces:
                    held.append(event)
                    if work.is_proven:
                        for one in held:
                            yield one
                        held.clear()
            writer.breaker.succeeded()
            MODELS.labels(writer.name, "proven" if work.is_proven else "unproven").inc()
        finally:
            work.answer_ms += 1000 * (perf_counter() - begun) - work.verify_ms
            self._count(work, writer, budget, before)
        for one in held:
            if isinstance(one, Withheld):
                yield one

    def _begin(self, work: Work, writer: Writer) -> None:
        work.begin(writer.name)
        if writer.name != self._writers.first:
            work.note("embedded_answer" if writer.name == EMBEDDED else "fallback_model")

    async def _checked(
        self,
        work: Work,
        writer: Writer,
        shown: Evidence,
        budget: Budget,
        session: ThreadSession | None,
    ) -> Written:
        """Give each piece only after its check; one that is not finished is not checked."""
        if work.disclaimer:
            yield work.say(work.disclaimer)
        if session:
            await session.clear_session()
        settings = writer.settings(budget) if writer.options else None
        calling = Calling(writer.tools, self._max_turns, settings)
        model = writer.open(work.index.statistics, budget)
        if isinstance(model, EmbeddedModel):
            model.told, model.whole = work.leaning.told, work.whole
        drafted = draft(
            shown,
            model=model,
            calling=calling,
            # What quotes needs to know only what was told.
            session=session if writer.options else None,
        )
        reader = (
            QuoteReader(model, shown.hits) if isinstance(model, EmbeddedModel) else PieceReader()
        )
        async with aclosing(drafted) as deltas:
            async for delta in deltas:
                work.wordless = work.wordless and not delta.strip()
                # Aside, as all work on text: however much there is, others are answered meanwhile.
                pieces = await asyncio.to_thread(list, reader.feed(delta))
                async for event in self._checking.check(work, pieces):
                    yield event
        if isinstance(model, OutsideModel) and model.broken:
            raise model.broken
        if work.wordless and writer.options and not shown.refusal:
            raise ModelMisbehaved(f"The model {writer.name!r} said nothing.")
        async for event in self._checking.check(work, list(reader.finish())):
            yield event

    def _count(self, work: Work, writer: Writer, budget: Budget, before: tuple[int, int]) -> None:
        """Note what an attempt took, whatever became of it."""
        read, written = budget.read - before[0], budget.written - before[1]
        if not writer.options or not read + written:
            return
        dollars = writer.price(read, written)
        self._writers.spending.add(read + written, dollars)
        TOKENS.labels("input").inc(read)
        TOKENS.labels("output").inc(written)
        work.tokens_used = budget.reported or None
        work.tokens_written = min(budget.written, budget.reported)
        if dollars is not None:
            DOLLARS.labels(writer.name).inc(dollars)
            work.dollars = (work.dollars or 0.0) + dollars


def _failed(writer: Writer, error: ModelError) -> ModelError:
    writer.breaker.failed()
    MODELS.labels(writer.name, type(error).__name__).inc()
    LOG.warning("the model %s failed: %s", writer.name, error)
    return error
