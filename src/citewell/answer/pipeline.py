"""The pipeline: one question in, a stream of events out. Start reading here."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from uuid import uuid4

from citewell.answer.agent import AgentContext
from citewell.answer.context import (
    SECTIONS_READ,
    apply_answerability_gate,
    apply_target_risk,
    fit_to_budget,
    locate_selection,
    score_passages,
)
from citewell.answer.extractive import EMBEDDED_NAME
from citewell.answer.generate import AnswerGenerator
from citewell.answer.llm import LlmHelper, TopicSummarizer
from citewell.answer.models import ModelChain
from citewell.answer.prompts import REWRITE, SUMMARISE
from citewell.answer.record import (
    answer_record,
    best_effort,
    cited_chunk_ids,
    log_answer,
    store_answer,
)
from citewell.answer.replies import (
    SMALL_TALK_MODEL_NAME,
    Statement,
    answer_from_toc,
    disclaimer,
    reply_to_small_talk,
    unsupported_reply,
)
from citewell.answer.run import AnswerRun
from citewell.answer.session import (
    EARLIER_MESSAGES,
    ClientHistorySession,
    ThreadSession,
    exchanges_from_history,
)
from citewell.conversation import retention_policy_for
from citewell.domain import TOC_MODEL_NAME, Answer, Confidence, Hit, Question
from citewell.errors import StoreUnavailable
from citewell.events import Done, Event, Retrieved, Sentence, Started, Withheld
from citewell.options import AnswerOptions
from citewell.ports import Judge, Library, ThreadStore
from citewell.questions.analyze import AnalyzedQuestion, analyze_question, language_notice
from citewell.questions.followup import (
    STANDALONE,
    ConversationContext,
    Exchange,
    standalone_question,
)
from citewell.questions.toc import first_chunk
from citewell.questions.toc_questions import parse_toc_question
from citewell.retrieve.followup_search import search_with_history
from citewell.retrieve.search import Searcher, SearchResult
from citewell.retrieve.selection import asks_about_whole, score_selection
from citewell.telemetry import span
from citewell.verify.confidence import MIN_AVERAGE_SIMILARITY
from citewell.verify.grounding import check_titles
from citewell.verify.safety import is_injected_instruction, reject_claim

MAX_PASSAGES = 20
"""Maximum passages per answer, including those the model retrieves with its tools."""
SELECTION_SLOTS = 2
"""Selections that are read at the same time; other questions do not wait for them."""
MAX_OPENED = 3 * MAX_PASSAGES
"""Maximum passages for an answer from the table of contents, which cites one for each line."""
HISTORY_MESSAGES = 6
"""Earlier messages a follow-up can refer to, unless its contract sets another window."""


class Pipeline:
    """Answers questions about a book, from the book alone.

    The stages, in order:

    1. Session: load the conversation history.
    2. Analyze the question: small talk, language, spelling, questions about the table of contents.
    3. Retrieve: make the question standalone, run the hybrid search, rerank the passages.
    4. Gate: refuse if the passages are unlikely to hold the answer.
    5. Generate, verify, cite: release each sentence only once the passages support it.
    6. Store the question and the answer in the conversation.
    """

    def __init__(
        self,
        library: Library,
        searcher: Searcher,
        judge: Judge,
        threads: ThreadStore,
        models: ModelChain,
        options: AnswerOptions,
    ) -> None:
        """Connect the stages."""
        self._library = library
        self._searcher = searcher
        self._threads = threads
        self._models = models
        self._generator = AnswerGenerator(models, judge, options)
        self._options = options
        # A selection is embedded when it is asked about, on all cores: not many at a time.
        self._selection_slots = asyncio.Semaphore(SELECTION_SLOTS)
        helper = LlmHelper(models)
        self._rewrite = partial(helper.ask, REWRITE) if models.limits.rewrite else None
        self.topics = (
            TopicSummarizer(threads, partial(helper.ask, SUMMARISE))
            if models.limits.summarise
            else None
        )

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question as a stream of events."""
        thread_id = question.thread_id or str(uuid4())
        # Off the event loop, like every read of a book: the index may be on a server.
        index = await asyncio.to_thread(self._library.open, question.book)
        question = apply_target_risk(
            question, self._searcher.calibration, self._options.target_risk
        )
        run = AnswerRun(question, index, thread_id, str(uuid4()), self._models.name)
        # Logged before the first event, so that the answer is on record even if the process dies.
        async with log_answer(self._threads, run):
            yield Started(thread_id, run.answer_id)
            async with self._threads.turn(thread_id):
                statements, confidence = await self._prepare(run)
                if confidence.level == "low" and not run.about_whole_selection:
                    run.disclaimer = disclaimer(
                        confidence, selected=run.selected_passage is not None
                    )
                answering = bool(run.evidence) and not run.refusal
                retrieved = _retrieved_event(run, confidence, will_answer=answering)
                run.context_given = answering and bool(retrieved.hits)
                # Contracts limit the passages of one event.
                for end in range(MAX_PASSAGES, len(retrieved.hits), MAX_PASSAGES):
                    yield replace(retrieved, hits=retrieved.hits[:end])
                yield retrieved

                for statement in statements:
                    yield self._cite_titles(run, statement)
                if answering and not statements:
                    async with aclosing(self._generate(run)) as events:
                        async for event in events:
                            yield event

                answer = await asyncio.to_thread(run.build_answer)
                await self._store(answer, run)
        yield Done(replace(answer, notices=run.notices))
        with suppress(StoreUnavailable):  # the reader has the answer; only its log entry is stale
            await self._threads.mark_delivered(answer.id)
        if self.topics and run.store_available:
            self.topics.schedule(answer.thread_id, run.question.owner)

    async def _prepare(self, run: AnswerRun) -> tuple[list[Statement], Confidence]:
        """Collect the evidence, or return the statements that answer without any."""
        question = run.question
        if question.selected_text is not None:
            return [], await self._use_selection(run, question.selected_text)
        history = await self._load_history(run)
        analyzed = await asyncio.to_thread(analyze_question, question.text, run.index)
        statements = await asyncio.to_thread(self._answer_without_search, run, analyzed, history)
        if statements:
            return statements, run.confidence()
        if analyzed.foreign_language:
            run.standalone_question = question.text
            run.refusal = language_notice(analyzed.foreign_language)
        if run.refusal:
            return [], score_passages((), question, 0.0)
        return [], await self._retrieve(run, analyzed, history)

    async def _load_history(self, run: AnswerRun) -> list[Exchange]:
        question = run.question
        if question.history:
            return exchanges_from_history(question.history[-HISTORY_MESSAGES:])
        if question.thread_id is None or not run.store_available:
            return []
        last = retention_policy_for(question.contract).window or HISTORY_MESSAGES
        thread = await best_effort(
            run, self._threads.load(run.thread_id, last=last, owner=question.owner)
        )
        answers = [message for message in (thread.messages if thread else ()) if message.record]
        answers = [message for message in answers if message.record["status"] != "small_talk"]
        # A follow-up refers to what was answered, rarely to what was refused.
        answered = [message for message in answers if message.record["status"] == "answered"]
        return [
            Exchange(
                message.record["standalone_question"],
                headings=tuple(message.record["headings"]),
                cited_chunk_ids=cited_chunk_ids(message.record),
                answer=message.content,
                answering_sentences="\n".join(message.record.get("answering", ())),
            )
            for message in answered or answers
        ]

    def _answer_without_search(
        self, run: AnswerRun, analyzed: AnalyzedQuestion, history: Sequence[Exchange]
    ) -> list[Statement]:
        """Answer small talk and questions about the table of contents."""
        index = run.index
        if analyzed.small_talk_kind:
            run.standalone_question, run.model = analyzed.text, SMALL_TALK_MODEL_NAME
            return reply_to_small_talk(analyzed.small_talk_kind, index.title, index.contents)
        if reply := unsupported_reply(analyzed.text, index.contents):
            run.standalone_question, run.refusal = analyzed.text, reply.text
            self._add_evidence(run, reply.chunk_ids, limit=run.question.top_k)
            return []
        for text in dict.fromkeys((analyzed.text, standalone_question(analyzed.text, history))):
            toc_question = parse_toc_question(text, f"{index.title} {index.book}", index.contents)
            if toc_question:
                run.standalone_question, run.model = text, TOC_MODEL_NAME
                statements = answer_from_toc(toc_question, index.contents)
                headings = [heading for one in statements for heading in one.headings]
                chunk_ids = [first_chunk(heading) for heading in headings]
                self._add_evidence(run, chunk_ids, limit=MAX_OPENED)
                return statements
        return []

    def _add_evidence(self, run: AnswerRun, chunk_ids: Sequence[str], *, limit: int) -> None:
        """Add passages by id, at most `limit` of them."""
        ids = list(dict.fromkeys(chunk_ids))[:limit]
        run.evidence += self._searcher.score_chunks(run.index, run.standalone_question, ids)

    def _cite_titles(self, run: AnswerRun, statement: Statement) -> Sentence | Withheld:
        hits = {hit.chunk.id: hit for hit in run.evidence}
        headings = [(one, hits.get(first_chunk(one))) for one in statement.headings]
        quoted = [(heading, hit) for heading, hit in headings if hit]
        claim = check_titles(statement.text, quoted)
        if any(is_injected_instruction(one.title) for one in statement.headings):
            return run.withhold(reject_claim(claim))
        if not quoted:
            # Titles beyond the first passages have none to cite.
            return run.release_own_text(statement.text, statement.lead if headings else "")
        if not claim.citations:
            return run.withhold(reject_claim(claim))
        claim = run.number_citations(claim)
        marks = "".join(dict.fromkeys(f"[{citation.number}]" for citation in claim.citations))
        return run.release(f"{statement.lead}{claim.text} {marks}", claim)

    async def _retrieve(
        self, run: AnswerRun, analyzed: AnalyzedQuestion, history: Sequence[Exchange]
    ) -> Confidence:
        """Search and rerank for the question in its conversation, then apply the gate."""
        start = perf_counter()
        with span("retrieve", book=run.index.book, revision=run.index.revision):
            search = await search_with_history(
                partial(self._search, run),
                analyzed.text,
                history,
                vocabulary=run.index.vocabulary,
                min_answerability=run.question.min_answerability,
                ask_model=self._rewrite,
            )
        run.standalone_question = search.standalone_question
        run.conversation_context = search.conversation_context
        return _apply_gate(run, search.result, self._options.context_tokens, start)

    async def _use_selection(self, run: AnswerRun, text: str) -> Confidence:
        """Make the reader's selection the only evidence, without search or history."""
        start = perf_counter()
        run.standalone_question = run.question.text
        run.about_whole_selection = asks_about_whole(run.standalone_question)
        quotes_beginning = run.about_whole_selection and self._models.first == EMBEDDED_NAME
        async with self._selection_slots:
            run.selected_passage = await locate_selection(
                text,
                run.index,
                self._searcher.embedder,
                "" if run.about_whole_selection else run.standalone_question,
                sections=1 if quotes_beginning else SECTIONS_READ,
            )
            result = await score_selection(
                self._searcher, run.index, run.selected_passage.chunk, run.standalone_question
            )
        return _apply_gate(run, result, self._options.context_tokens, start)

    async def _search(
        self,
        run: AnswerRun,
        question: str,
        conversation_context: ConversationContext = STANDALONE,
    ) -> SearchResult:
        return await self._searcher.search(
            run.index,
            question,
            filters=run.question.filters,
            top_k=run.question.top_k,
            conversation_context=conversation_context,
            current_chapter=run.question.current_chapter,
        )

    async def _generate(self, run: AnswerRun) -> AsyncGenerator[Event, None]:
        """Yield the verified answer; announce passages the model retrieves before it uses them."""
        announced = len(run.evidence)
        generated = self._generator.generate(run, self._agent_context(run), self._session(run))
        async with aclosing(generated) as events:
            async for event in events:
                if len(run.evidence) > announced:
                    announced = len(run.evidence)
                    yield _retrieved_event(run, run.confidence(), will_answer=True)
                yield event

    def _agent_context(self, run: AnswerRun) -> AgentContext:
        """Return what the agent works with; its own searches pass the same gate."""

        async def search(query: str) -> Sequence[Hit]:
            result = await self._search(run, query)
            # Less relevant passages would lower the confidence level of the answer.
            threshold = max(run.question.threshold, MIN_AVERAGE_SIMILARITY)
            relevant = [hit for hit in result.hits if hit.similarity >= threshold]
            fitting = fit_to_budget(
                relevant, self._options.context_tokens, already_shown=run.evidence
            )
            return fitting[: MAX_PASSAGES - len(run.evidence)]

        async def score_chunks(ids: Sequence[str]) -> Sequence[Hit]:
            return await asyncio.to_thread(
                self._searcher.score_chunks,
                run.index,
                run.standalone_question,
                ids[: MAX_PASSAGES - len(run.evidence)],
            )

        return AgentContext(
            run.evidence,
            search,
            score_chunks,
            run.index,
            question=run.standalone_question,
            instructions=self._options.instructions,
            selection_only=run.selected_passage is not None,
            token_budget=self._options.context_tokens,
            reader_context=run.question.reader_context,
        )

    def _session(self, run: AnswerRun) -> ThreadSession | None:
        question = run.question
        if run.selected_passage:
            return None
        if question.history:
            return ClientHistorySession(
                self._threads, run.thread_id, question.history, last=HISTORY_MESSAGES
            )
        if question.thread_id is None:
            return None
        window = retention_policy_for(question.contract).window
        return ThreadSession(
            self._threads,
            run.thread_id,
            owner=question.owner,
            last=window or HISTORY_MESSAGES,
            before=0 if window else EARLIER_MESSAGES,
        )

    async def _store(self, answer: Answer, run: AnswerRun) -> None:
        if not run.store_available:
            return  # a conversation with gaps would be worse than none
        question = run.question
        record = answer_record(
            answer, question, run.search_hits, run.conversation_context, run.answering_sentences
        )
        received_at = question.received_at or run.started_at
        await best_effort(
            run, store_answer(self._threads, answer, question, record, received_at=received_at)
        )


def _apply_gate(run: AnswerRun, result: SearchResult, tokens: int, start: float) -> Confidence:
    run.search_hits, run.answerability = result.hits, result.answerability
    run.evidence, confidence = apply_answerability_gate(result, run.question, tokens)
    run.retrieve_ms = 1000 * (perf_counter() - start)
    return confidence


def _retrieved_event(run: AnswerRun, confidence: Confidence, *, will_answer: bool) -> Retrieved:
    return Retrieved(
        run.standalone_question,
        run.hits(answered=will_answer),
        confidence,
        question=run.question.text,
        will_answer=will_answer,
    )
