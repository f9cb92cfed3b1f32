"""Generate an answer: models write, each sentence is verified before it is released.

If one model fails, the next one in the chain is tried.
"""

import asyncio
import logging
from contextlib import aclosing, closing
from functools import partial
from time import perf_counter

from citewell.answer.agent import AgentContext, CallOptions, run_agent
from citewell.answer.claim_check import ClaimChecker
from citewell.answer.extractive import EMBEDDED_NAME, EmbeddedModel, QuoteSplitter
from citewell.answer.llm import LlmHelper
from citewell.answer.models import AnswerModel, ModelChain
from citewell.answer.prompts import CHECK_CLAIMS
from citewell.answer.remote_model import Budget, RemoteModel
from citewell.answer.replies import QUOTES_NOTE, TRUNCATED_NOTE
from citewell.answer.run import AnswerRun
from citewell.answer.session import ThreadSession
from citewell.answer.verification import VerifiedPieces, Verifiers
from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Claim
from citewell.errors import ModelError, ModelMisbehaved, ModelUnavailable
from citewell.events import Sentence, Withheld
from citewell.options import AnswerOptions
from citewell.ports import Judge
from citewell.telemetry import MODEL_COST_DOLLARS, MODELS, TOKENS
from citewell.verify.claims import PieceSplitter

LOG = logging.getLogger("citewell.answer")
MIN_PROVEN_SHARE = 0.5
"""Share of a language model's claims below which the book is quoted as well."""


class AnswerGenerator:
    """Tries the models of a chain until one writes something the book supports."""

    def __init__(self, chain: ModelChain, judge: Judge, options: AnswerOptions) -> None:
        """Generate with `chain`, and verify with `judge`."""
        self._chain = chain
        ask_model = partial(LlmHelper(chain).ask, CHECK_CLAIMS)
        checker = ClaimChecker(ask_model) if chain.limits.check_claims else None
        self._verifiers = Verifiers(judge, options, checker, DeepLinker())
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
            if run.has_proven_claim and model.options and run.proven_share < MIN_PROVEN_SHARE:
                async for event in self._add_quotes(run, context, budget):
                    yield event
            if run.has_proven_claim or run.declined or context.refusal:
                break
        run.refusal = context.refusal
        if failure:
            raise failure

    async def _add_quotes(
        self, run: AnswerRun, context: AgentContext, budget: Budget
    ) -> VerifiedPieces:
        """Yield quotes after an answer of which little could be proven."""
        embedded = next((one for one in self._chain.models if not one.options), None)
        if embedded is None:
            return
        run.add_notice("shortened")
        run.disclaimer = ""
        note = Claim(text=QUOTES_NOTE, start=0, end=0, verdict="not_a_claim", probability=1.0)
        run.pending_headings = [(f"\n\n{QUOTES_NOTE}\n\n", note)]
        async for event in self._generate_verified(run, embedded, context, budget, None):
            yield event
        run.pending_headings.clear()

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
        verifier = self._verifiers.open(run, by_llm=bool(model.options))
        with closing(verifier):
            async with aclosing(deltas):
                async for delta in deltas:
                    run.is_empty = run.is_empty and not delta.strip()
                    # In a thread: parsing long text must not block other answers.
                    pieces = await asyncio.to_thread(list, splitter.feed(delta))
                    async for event in verifier.add(pieces):
                        yield event
            if isinstance(sdk_model, RemoteModel) and sdk_model.stream_error:
                raise sdk_model.stream_error
            if run.is_empty and model.options and not context.refusal:
                raise ModelMisbehaved(f"The model {model.name!r} returned no text.")
            async for event in verifier.add(list(splitter.finish())):
                yield event
            async for event in verifier.finish():
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
