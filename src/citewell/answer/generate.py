"""What models write, released once it is proven; where one fails, the next of the list writes."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from time import perf_counter

from citewell.answer.agent import AgentContext, CallOptions, run_agent
from citewell.answer.extractive import EMBEDDED_NAME as EMBEDDED
from citewell.answer.extractive import EmbeddedModel, QuoteSplitter
from citewell.answer.llm import AskModel, LlmHelper
from citewell.answer.memory import ThreadSession
from citewell.answer.models import AnswerModel, ModelChain
from citewell.answer.prompts import NOT_IN_BOOK, PROMPTS, SECOND_OPINION
from citewell.answer.remote_model import Budget, RemoteModel
from citewell.answer.replies import TRUNCATED_NOTE, warning
from citewell.answer.run import AnswerRun
from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Chunk, Claim, Verdict
from citewell.errors import ModelError, ModelMisbehaved, ModelUnavailable
from citewell.events import Sentence, Withheld
from citewell.options import AnswerOptions
from citewell.ports import Judge
from citewell.telemetry import MODEL_COST_DOLLARS, MODELS, TOKENS, span
from citewell.verify.claims import Piece, PieceSplitter
from citewell.verify.grounding import check_piece, with_citation_marks
from citewell.verify.judge import second_opinion
from citewell.verify.safety import (
    follows_injection,
    is_off_topic,
    redact_secrets,
    reject_claim,
    without_links,
)

LOG = logging.getLogger("citewell.answer")
CheckedPieces = AsyncGenerator[Sentence | Withheld, None]


class AnswerGenerator:
    """Lets the models of the list write in turn."""

    def __init__(self, writers: ModelChain, judge: Judge, options: AnswerOptions) -> None:
        """Let `writers` write, and show what `judge` and the options let through."""
        self._writers = writers
        again = LlmHelper(writers).on(SECOND_OPINION) if writers.limits.second_opinion else None
        self._checking = ClaimVerifier(judge, options, again)
        self._max_turns = options.max_turns

    async def write(
        self, work: AnswerRun, shown: AgentContext, session: ThreadSession | None
    ) -> CheckedPieces:
        """Yield the pieces that may be shown, by the first model that says something proven.

        One that breaks off after that leaves the answer incomplete: two writers in one answer would
        be worse. Before it, nothing has been shown, and the next one begins anew.

        Raises:
            ModelError: no model could be used.
        """
        budget = self._writers.budget()
        failure: ModelError | None = None
        for writer in self._writers.each:
            if not writer.breaker.allow_request():
                failure = failure or ModelUnavailable(f"The model {writer.name!r} is left alone.")
                continue
            try:
                attempt = self._try_model(work, writer, shown, budget, session)
                async with aclosing(attempt) as pieces:
                    async for event in pieces:
                        yield event
            except ModelError as error:
                failure = _to_model_error(writer, error)
                if work.has_proven_claim:
                    work.add_notice("incomplete")
                    yield work.say(TRUNCATED_NOTE)
                    return
                continue
            failure = None
            if work.has_proven_claim or work.declined or shown.refusal:
                break
        work.refusal = shown.refusal
        if failure:
            raise failure

    async def _try_model(
        self,
        work: AnswerRun,
        writer: AnswerModel,
        shown: AgentContext,
        budget: Budget,
        session: ThreadSession | None,
    ) -> CheckedPieces:
        """Let one model write; hold it back until it has a proven claim."""
        begun, before = perf_counter() - work.verify_ms / 1000, (budget.read, budget.written)
        if writer.options:
            self._writers.spending.check()
        self._start_attempt(work, writer)
        held: list[Sentence | Withheld] = []
        try:
            checked = self._checked(work, writer, shown, budget, session)
            async with aclosing(checked) as pieces:
                async for event in pieces:
                    held.append(event)
                    if work.has_proven_claim:
                        for one in held:
                            yield one
                        held.clear()
            writer.breaker.record_success()
            MODELS.labels(writer.name, "proven" if work.has_proven_claim else "unproven").inc()
        finally:
            work.answer_ms += 1000 * (perf_counter() - begun) - work.verify_ms
            self._count(work, writer, budget, before)
        for one in held:
            if isinstance(one, Withheld):
                yield one

    def _start_attempt(self, work: AnswerRun, writer: AnswerModel) -> None:
        work.begin(writer.name)
        if writer.name != self._writers.first:
            work.add_notice("embedded_answer" if writer.name == EMBEDDED else "fallback_model")

    async def _checked(
        self,
        work: AnswerRun,
        writer: AnswerModel,
        shown: AgentContext,
        budget: Budget,
        session: ThreadSession | None,
    ) -> CheckedPieces:
        """Yield each piece only after its check; one that is not finished is not checked."""
        if work.disclaimer:
            yield work.say(work.disclaimer)
        if session:
            await session.clear_session()
        settings = writer.settings(budget) if writer.options else None
        call_options = CallOptions(writer.tools, self._max_turns, settings)
        model = writer.open(work.index.statistics, budget)
        if isinstance(model, EmbeddedModel):
            model.told, model.whole = work.conversation_context.told, work.whole
        drafted = run_agent(
            shown,
            model=model,
            call_options=call_options,
            # What quotes needs to know only what was told.
            session=session if writer.options else None,
        )
        reader = (
            QuoteSplitter(model, shown.hits)
            if isinstance(model, EmbeddedModel)
            else PieceSplitter()
        )
        async with aclosing(drafted) as deltas:
            async for delta in deltas:
                work.is_silent = work.is_silent and not delta.strip()
                # Aside, as all work on text: however much there is, others are answered meanwhile.
                pieces = await asyncio.to_thread(list, reader.feed(delta))
                async for event in self._checking.check(work, pieces):
                    yield event
        if isinstance(model, RemoteModel) and model.stream_error:
            raise model.stream_error
        if work.is_silent and writer.options and not shown.refusal:
            raise ModelMisbehaved(f"The model {writer.name!r} said nothing.")
        async for event in self._checking.check(work, list(reader.finish())):
            yield event

    def _count(
        self, work: AnswerRun, writer: AnswerModel, budget: Budget, before: tuple[int, int]
    ) -> None:
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
            MODEL_COST_DOLLARS.labels(writer.name).inc(dollars)
            work.dollars = (work.dollars or 0.0) + dollars


def _to_model_error(writer: AnswerModel, error: ModelError) -> ModelError:
    writer.breaker.record_failure()
    MODELS.labels(writer.name, type(error).__name__).inc()
    LOG.warning("the model %s failed: %s", writer.name, error)
    return error


class ClaimVerifier:
    """Judges pieces, and shows what the operator lets through."""

    def __init__(self, judge: Judge, options: AnswerOptions, ask: AskModel | None = None) -> None:
        """Let `judge` decide what is supported, and the options what is shown.

        `ask` has a language model look again at what would be withheld.
        """
        self._judge = judge
        self._options = options
        self._ask = ask
        self._links = DeepLinker()

    async def check(
        self, work: AnswerRun, pieces: Iterable[Piece]
    ) -> AsyncGenerator[Sentence | Withheld, None]:
        """Judge pieces; give those that may be shown, and say which may not."""
        for written in pieces:
            if NOT_IN_BOOK in written.text:
                work.declined = True
                continue
            piece = written if written.quoted else await asyncio.to_thread(without_links, written)
            if not piece.text.strip():
                continue  # a picture, or an address and nothing else
            if (
                piece.kind == "sentence"
                and not piece.quoted
                and work.was_withheld_before(piece.text)
            ):
                continue  # small models go round in circles
            claim = await self._judge_piece(work, piece)
            # What was quoted by offset was not written by a model that could be led astray.
            if not piece.quoted and await asyncio.to_thread(self._follows_injection, work, claim):
                yield work.withhold(await asyncio.to_thread(self._told, reject_claim(claim)))
                continue
            if (
                claim.verdict == "not_a_claim"
                and not piece.ours
                and (piece.needs_continuation or work.pending_headings)
            ):
                work.pending_headings.append((with_citation_marks(piece, claim), claim))
            elif self._may_show(claim):
                for lead in work.pending_headings:
                    yield work.release(*lead)
                work.pending_headings.clear()
                claim = work.number_citations(claim)
                work.answering += [claim.text] if piece.answers else []
                yield work.release(
                    with_citation_marks(piece, claim) + self._warning(work, piece, claim), claim
                )
            else:
                yield work.withhold(await asyncio.to_thread(self._told, claim))

    def _follows_injection(self, work: AnswerRun, claim: Claim) -> bool:
        """Return whether a text that was read speaks through the model, instead of the book."""
        if follows_injection(claim, work.evidence):
            return True
        # The embedded model obeys nobody: it quotes what answers.
        if work.model == EMBEDDED or work.whole:  # “explain this” says nothing to be beside of
            return False
        return is_off_topic(claim, work.evidence, work.standalone)

    def _told(self, claim: Claim) -> Claim:
        """Return a claim as readers are told that it was withheld."""
        return replace(
            claim, text=redact_secrets(claim.text, (*PROMPTS, self._options.instructions))
        )

    async def _judge_piece(self, work: AnswerRun, piece: Piece) -> Claim:
        begun = perf_counter()
        with span("verify") as timed:
            # Aside, while other answers go on: a page may have to be read, or a model run.
            claim = await asyncio.to_thread(self._checked, work, piece, self._judge)
            if self._ask and claim.verdict in ("unsupported", "partly") and not piece.is_block:
                passages = [hit.chunk.text for hit in work.evidence]
                opinion = await second_opinion(piece.text, passages, self._ask)
                if opinion:
                    again = _FixedJudge(opinion)
                    claim = await asyncio.to_thread(self._checked, work, piece, again)
            timed.set_attribute("verdict", claim.verdict)
        work.verify_ms += 1000 * (perf_counter() - begun)
        return claim

    def _checked(self, work: AnswerRun, piece: Piece, judge: Judge) -> Claim:
        link = partial(self._links.link, work.index)
        shown = [*work.claims, *(claim for _, claim in work.pending_headings)]
        selected = work.selected
        claim, _ = check_piece(
            piece, work.evidence, judge, _no_link if selected else link, work.last, shown
        )
        return selected.cite(claim, link) if selected else claim

    def _may_show(self, claim: Claim) -> bool:
        shown = claim.verdict in ("supported", "not_a_claim")
        partly = claim.verdict == "partly" and self._options.show_partly
        return shown or partly or self._options.unsupported != "withhold"

    def _warning(self, work: AnswerRun, piece: Piece, claim: Claim) -> str:
        said = warning(claim.verdict, selected=work.selected is not None)
        if self._options.unsupported != "mark" or not said:
            return ""
        return ("\n\n" if piece.is_block else " ") + said


class _FixedJudge:
    """A judge that has made up its mind."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        del claim, passages, cited
        return self._verdict


def _no_link(chunk: Chunk, start: int, end: int) -> str:
    del chunk, start, end  # a selection has no address of its own
    return ""
