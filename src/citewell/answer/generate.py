"""Generate an answer: models write, each sentence is verified before it is released.

If one model fails, the next one in the chain is tried.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from time import perf_counter

from citewell.answer.agent import AgentContext, CallOptions, run_agent
from citewell.answer.extractive import EMBEDDED_NAME, EmbeddedModel, QuoteSplitter
from citewell.answer.llm import AskModel, LlmHelper
from citewell.answer.models import AnswerModel, ModelChain
from citewell.answer.prompts import NOT_IN_BOOK, PROMPTS, SECOND_OPINION
from citewell.answer.remote_model import Budget, RemoteModel
from citewell.answer.replies import TRUNCATED_NOTE, warning
from citewell.answer.run import AnswerRun
from citewell.answer.session import ThreadSession
from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Claim, Verdict
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
VerifiedPieces = AsyncGenerator[Sentence | Withheld, None]


class AnswerGenerator:
    """Tries the models of a chain until one writes something the book supports."""

    def __init__(self, chain: ModelChain, judge: Judge, options: AnswerOptions) -> None:
        """Generate with `chain`, and verify with `judge`."""
        self._chain = chain
        ask_model = (
            partial(LlmHelper(chain).ask, SECOND_OPINION) if chain.limits.second_opinion else None
        )
        self._verifier = ClaimVerifier(judge, options, ask_model)
        self._max_turns = options.max_turns

    async def generate(
        self, run: AnswerRun, context: AgentContext, session: ThreadSession | None
    ) -> VerifiedPieces:
        """Yield the verified pieces of the first model that writes something proven.

        A model that fails after its first proven claim leaves the answer incomplete, since two
        authors must not be mixed. If it fails before that, the next model starts over.

        Raises:
            ModelError: no model could be used.
        """
        budget = self._chain.budget()
        failure: ModelError | None = None
        for model in self._chain.models:
            if not model.breaker.allow_request():
                failure = failure or ModelUnavailable(
                    f"The model {model.name!r} is suspended after failures."
                )
                continue
            try:
                attempt = self._try_model(run, model, context, budget, session)
                async with aclosing(attempt) as events:
                    async for event in events:
                        yield event
            except ModelError as error:
                failure = _record_failure(model, error)
                if run.has_proven_claim:
                    run.add_notice("incomplete")
                    yield run.release_own_text(TRUNCATED_NOTE)
                    return
                continue
            failure = None
            if run.has_proven_claim or run.declined or context.refusal:
                break
        run.refusal = context.refusal
        if failure:
            raise failure

    async def _try_model(
        self,
        run: AnswerRun,
        model: AnswerModel,
        context: AgentContext,
        budget: Budget,
        session: ThreadSession | None,
    ) -> VerifiedPieces:
        """Run one model, buffering its events until it has a proven claim."""
        start, used_before = perf_counter() - run.verify_ms / 1000, (budget.read, budget.written)
        if model.options:
            self._chain.spending.check()
        run.start_attempt(model.name)
        if model.name != self._chain.first:
            run.add_notice("embedded_answer" if model.name == EMBEDDED_NAME else "fallback_model")
        buffered: list[Sentence | Withheld] = []
        try:
            verified = self._generate_verified(run, model, context, budget, session)
            async with aclosing(verified) as events:
                async for event in events:
                    buffered.append(event)
                    if run.has_proven_claim:
                        for ready in buffered:
                            yield ready
                        buffered.clear()
            model.breaker.record_success()
            MODELS.labels(model.name, "proven" if run.has_proven_claim else "unproven").inc()
        finally:
            run.answer_ms += 1000 * (perf_counter() - start) - run.verify_ms
            self._record_usage(run, model, budget, used_before)
        for event in buffered:
            if isinstance(event, Withheld):
                yield event

    async def _generate_verified(
        self,
        run: AnswerRun,
        model: AnswerModel,
        context: AgentContext,
        budget: Budget,
        session: ThreadSession | None,
    ) -> VerifiedPieces:
        """Stream the model's text, and yield each complete piece once it is verified."""
        if run.disclaimer:
            yield run.release_own_text(run.disclaimer)
        if session:
            await session.clear_session()
        settings = model.settings(budget) if model.options else None
        sdk_model = model.open(run.index.statistics, budget)
        if isinstance(sdk_model, EmbeddedModel):
            sdk_model.previous_answers = run.conversation_context.previous_answers
            sdk_model.about_whole_passage = run.about_whole_selection
        deltas = run_agent(
            context,
            model=sdk_model,
            call_options=CallOptions(model.tools, self._max_turns, settings),
            # The embedded model gets `previous_answers` instead of the history.
            session=session if model.options else None,
        )
        splitter = (
            QuoteSplitter(sdk_model, context.hits)
            if isinstance(sdk_model, EmbeddedModel)
            else PieceSplitter()
        )
        async with aclosing(deltas):
            async for delta in deltas:
                run.is_empty = run.is_empty and not delta.strip()
                # In a thread: parsing long text must not block other answers.
                pieces = await asyncio.to_thread(list, splitter.feed(delta))
                async for event in self._verifier.verify(run, pieces):
                    yield event
        if isinstance(sdk_model, RemoteModel) and sdk_model.stream_error:
            raise sdk_model.stream_error
        if run.is_empty and model.options and not context.refusal:
            raise ModelMisbehaved(f"The model {model.name!r} returned no text.")
        async for event in self._verifier.verify(run, list(splitter.finish())):
            yield event

    def _record_usage(
        self, run: AnswerRun, model: AnswerModel, budget: Budget, used_before: tuple[int, int]
    ) -> None:
        read, written = budget.read - used_before[0], budget.written - used_before[1]
        if not model.options or not read + written:
            return
        dollars = model.price(read, written)
        self._chain.spending.add(read + written, dollars)
        TOKENS.labels("input").inc(read)
        TOKENS.labels("output").inc(written)
        run.tokens_used = budget.reported or None
        run.tokens_written = min(budget.written, budget.reported)
        if dollars is not None:
            MODEL_COST_DOLLARS.labels(model.name).inc(dollars)
            run.dollars = (run.dollars or 0.0) + dollars


def _record_failure(model: AnswerModel, error: ModelError) -> ModelError:
    model.breaker.record_failure()
    MODELS.labels(model.name, type(error).__name__).inc()
    LOG.warning("the model %s failed: %s", model.name, error)
    return error


class ClaimVerifier:
    """Verifies pieces of an answer, and releases or withholds each."""

    def __init__(
        self, judge: Judge, options: AnswerOptions, ask_model: AskModel | None = None
    ) -> None:
        """Verify with `judge`; `ask_model` gives a second opinion before a claim is withheld."""
        self._judge = judge
        self._options = options
        self._ask_model = ask_model
        self._links = DeepLinker()

    async def verify(self, run: AnswerRun, pieces: Iterable[Piece]) -> VerifiedPieces:
        """Yield an event for each piece that is released or withheld."""
        for raw_piece in pieces:
            if NOT_IN_BOOK in raw_piece.text:
                run.declined = True
                continue
            piece = (
                raw_piece
                if raw_piece.quoted_spans
                else await asyncio.to_thread(without_links, raw_piece)
            )
            if not piece.text.strip():
                continue  # only an image or an address
            repeatable = piece.kind != "sentence" or piece.quoted_spans
            if not repeatable and run.is_repetition(piece.text):
                continue  # small models loop
            claim = await self._judge_piece(run, piece)
            # Exact quotes need no check: no model wrote them that could have been injected.
            if not piece.quoted_spans and await asyncio.to_thread(
                self._follows_injection, run, claim
            ):
                yield run.withhold(await asyncio.to_thread(self._redact, reject_claim(claim)))
            elif (
                claim.verdict == "not_a_claim"
                and not piece.is_own_text
                and (piece.needs_continuation or run.pending_headings)
            ):
                run.pending_headings.append((with_citation_marks(piece, claim), claim))
            elif self._may_show(claim):
                for heading in run.pending_headings:
                    yield run.release(*heading)
                run.pending_headings.clear()
                claim = run.number_citations(claim)
                run.answering_sentences += [claim.text] if piece.is_answer else []
                text = with_citation_marks(piece, claim) + self._warning(run, piece, claim)
                yield run.release(text, claim)
            else:
                yield run.withhold(await asyncio.to_thread(self._redact, claim))

    def _follows_injection(self, run: AnswerRun, claim: Claim) -> bool:
        """Return whether the claim follows instructions injected through a passage."""
        if follows_injection(claim, run.evidence):
            return True
        # The embedded model follows no instructions; “explain this” has no topic to stray from.
        if run.model == EMBEDDED_NAME or run.about_whole_selection:
            return False
        return is_off_topic(claim, run.evidence, run.standalone_question)

    def _redact(self, claim: Claim) -> Claim:
        """Remove prompts from a withheld claim: readers can see it."""
        prompts = (*PROMPTS, self._options.instructions)
        return replace(claim, text=redact_secrets(claim.text, prompts))

    async def _judge_piece(self, run: AnswerRun, piece: Piece) -> Claim:
        start = perf_counter()
        with span("verify") as verify_span:
            # In a thread: it may read a page of the book or run a model.
            claim = await asyncio.to_thread(self._check_piece, run, piece, self._judge)
            if (
                self._ask_model
                and claim.verdict in ("unsupported", "partly")
                and not piece.is_block
            ):
                passages = [hit.chunk.text for hit in run.evidence]
                verdict = await second_opinion(piece.text, passages, self._ask_model)
                if verdict:
                    judge = _FixedJudge(verdict)
                    claim = await asyncio.to_thread(self._check_piece, run, piece, judge)
            verify_span.set_attribute("verdict", claim.verdict)
        run.verify_ms += 1000 * (perf_counter() - start)
        return claim

    def _check_piece(self, run: AnswerRun, piece: Piece, judge: Judge) -> Claim:
        link = partial(self._links.link, run.index)
        released = [*run.claims, *(claim for _, claim in run.pending_headings)]
        selected = run.selected_passage
        if selected is None:
            return check_piece(piece, run.evidence, judge, link, run.last_claim, released)
        claim = check_piece(piece, run.evidence, judge, lambda *_: "", run.last_claim, released)
        return selected.cite(claim, link)

    def _may_show(self, claim: Claim) -> bool:
        proven = claim.verdict in ("supported", "not_a_claim")
        partly = claim.verdict == "partly" and self._options.show_partly
        return proven or partly or self._options.unsupported != "withhold"

    def _warning(self, run: AnswerRun, piece: Piece, claim: Claim) -> str:
        text = warning(claim.verdict, selected=run.selected_passage is not None)
        if self._options.unsupported != "mark" or not text:
            return ""
        return ("\n\n" if piece.is_block else " ") + text


class _FixedJudge:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        del claim, passages, cited
        return self._verdict
