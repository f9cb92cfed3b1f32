"""The pipeline: one question in, events out. The one file to read first."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from uuid import uuid4

from citewell.answer.agent import AgentContext
from citewell.answer.context import (
    apply_answerability_gate,
    apply_target_risk,
    fit_to_budget,
    read_selection,
    score_passages,
)
from citewell.answer.generate import AnswerGenerator
from citewell.answer.llm import LlmHelper, TopicSummarizer
from citewell.answer.memory import (
    EARLIER_MESSAGES,
    ClientHistorySession,
    ThreadSession,
    exchanges_from_history,
)
from citewell.answer.models import ModelChain
from citewell.answer.prompts import REWRITE, SUMMARISE
from citewell.answer.record import answer_record, best_effort, cited_chunk_ids, keep, log_answer
from citewell.answer.replies import SMALL_TALK_MODEL_NAME as TALK
from citewell.answer.replies import TOC_MODEL_NAME as CONTENTS
from citewell.answer.replies import (
    Statement,
    answer_from_toc,
    disclaimer,
    reply_to_small_talk,
    unsupported_reply,
)
from citewell.answer.run import AnswerRun
from citewell.conversation import retention_policy_for
from citewell.domain import Answer, Confidence, Hit, Question
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
from citewell.verify.confidence import LEAST_AVERAGE
from citewell.verify.grounding import check_titles
from citewell.verify.safety import is_injected_instruction, reject_claim

MAX_PASSAGES = 20
"""How many passages an answer may be made from, with those that a model finds by itself."""
HISTORY_MESSAGES = 6
"""How many earlier messages a follow-up may refer to, unless its contract says otherwise."""


class Pipeline:
    """Search, answer, check, remember."""

    def __init__(
        self,
        library: Library,
        searcher: Searcher,
        judge: Judge,
        threads: ThreadStore,
        writers: ModelChain,
        options: AnswerOptions,
    ) -> None:
        """Join the stages."""
        self._library = library
        self._searcher = searcher
        self._threads = threads
        self._writers = writers
        self._writing = AnswerGenerator(writers, judge, options)
        self._options = options
        asking = LlmHelper(writers)
        self._rewrite = asking.on(REWRITE) if writers.limits.rewrite else None
        self.topics = (
            TopicSummarizer(threads, asking.on(SUMMARISE)) if writers.limits.summarise else None
        )

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question, saying what happens as it does."""
        thread_id = question.thread_id or str(uuid4())
        # In a thread, as all that reads a book: it may lie on a server.
        index = await asyncio.to_thread(self._library.open, question.book)
        question = apply_target_risk(
            question, self._searcher.calibration, self._options.target_risk
        )
        work = AnswerRun(question, index, thread_id, str(uuid4()), self._writers.name)
        # Logged before the reader hears of it: however this process ends, its answers are known.
        async with log_answer(self._threads, work):
            yield Started(thread_id, work.answer_id)
            async with self._threads.turn(thread_id):
                told, confidence = await self._prepare(work)
                if confidence.level == "low" and not work.whole:
                    work.disclaimer = disclaimer(confidence, selected=work.selected is not None)
                answering = bool(work.evidence) and not work.refusal
                found = _retrieved_event(work, confidence, answering=answering)
                work.context_given = answering and bool(found.hits)
                yield found

                for statement in told:
                    yield self._quote_titles(work, statement)
                if answering and not told:
                    async with aclosing(self._write(work)) as events:
                        async for event in events:
                            yield event

                answer = await asyncio.to_thread(work.build_answer)
                await self._remember(answer, work)
        yield Done(replace(answer, notices=work.notices))
        with suppress(StoreUnavailable):  # the reader has the answer; only the log will not say so
            await self._threads.mark_delivered(answer.id)
        if self.topics and work.kept:
            self.topics.schedule(answer.thread_id, work.question.owner)

    async def _write(self, work: AnswerRun) -> AsyncGenerator[Event, None]:
        """Yield what a model writes; passages that it finds by itself are told before it."""
        listed = len(work.evidence)
        written = self._writing.write(work, self._agent_context(work), self._session(work))
        async with aclosing(written) as pieces:
            async for event in pieces:
                if len(work.evidence) > listed:
                    listed = len(work.evidence)
                    yield _retrieved_event(work, work.confidence(), answering=True)
                yield event

    async def _prepare(self, work: AnswerRun) -> tuple[list[Statement], Confidence]:
        """Gather what the answer rests on, or all that is to be said where that is known."""
        question = work.question
        if question.selected_text is not None:
            return [], await self._use_selection(work, question.selected_text)
        history = await self._history(work)
        asked = await asyncio.to_thread(analyze_question, question.text, work.index)
        told = await asyncio.to_thread(self._answer_without_search, work, asked, history)
        if told:
            return told, work.confidence()
        if asked.foreign:
            work.standalone, work.refusal = question.text, language_notice(asked.foreign)
        if work.refusal:
            return [], score_passages((), question, 0.0)
        return [], await self._retrieve(work, asked, history)

    async def _history(self, work: AnswerRun) -> list[Exchange]:
        asked = work.question
        if asked.earlier:
            return exchanges_from_history(asked.earlier[-HISTORY_MESSAGES:])
        if asked.thread_id is None or not work.kept:
            return []
        last = retention_policy_for(asked.contract).window or HISTORY_MESSAGES
        thread = await best_effort(
            work, self._threads.load(work.thread_id, last=last, owner=asked.owner)
        )
        said = [message for message in (thread.messages if thread else ()) if message.record]
        said = [message for message in said if message.record["status"] != "small_talk"]
        # A follow-up is about what was answered, not about what was not in the book.
        answered = [message for message in said if message.record["status"] == "answered"]
        return [
            Exchange(
                message.record["standalone_question"],
                headings=tuple(message.record["headings"]),
                cited=cited_chunk_ids(message.record),
                answer=message.content,
                told="\n".join(message.record.get("answering", ())),
            )
            for message in answered or said
        ]

    def _answer_without_search(
        self, work: AnswerRun, asked: AnalyzedQuestion, history: Sequence[Exchange]
    ) -> list[Statement]:
        """Answer small talk, and what is asked about the contents, without a search."""
        index = work.index
        if asked.talk:
            work.standalone, work.model = asked.text, TALK
            return reply_to_small_talk(asked.talk, index.title, index.contents)
        if asks := unsupported_reply(asked.text, index.contents):
            work.standalone, work.refusal = asked.text, asks.text
            self._open(work, asks.passages)
            return []
        for text in dict.fromkeys((asked.text, standalone_question(asked.text, history))):
            wanted = parse_toc_question(text, f"{index.title} {index.book}", index.contents)
            if wanted:
                work.standalone, work.model = text, CONTENTS
                return self._open_passages(work, answer_from_toc(wanted, index.contents))
        return []

    def _open_passages(self, work: AnswerRun, told: list[Statement]) -> list[Statement]:
        """Open the passages whose headings are named, up to as many as were asked for."""
        self._open(work, [first_chunk(one) for said in told for one in said.headings])
        return told

    def _open(self, work: AnswerRun, named: Sequence[str]) -> None:
        ids = list(dict.fromkeys(named))[: work.question.top_k]
        work.evidence += self._searcher.score_chunks(work.index, work.standalone, ids)

    def _quote_titles(self, work: AnswerRun, statement: Statement) -> Sentence | Withheld:
        hits = {hit.chunk.id: hit for hit in work.evidence}
        named = [(one, hits.get(first_chunk(one))) for one in statement.headings]
        quoted = [(one, hit) for one, hit in named if hit]
        claim = check_titles(statement.text, quoted)
        if any(is_injected_instruction(one.title) for one in statement.headings):
            return work.withhold(reject_claim(claim))
        if not quoted:
            # A title beyond the passages that may be listed is named without a proof.
            return work.say(statement.text, statement.lead if statement.headings else "")
        if not claim.citations:
            return work.withhold(reject_claim(claim))
        claim = work.number_citations(claim)
        marks = "".join(dict.fromkeys(f"[{citation.number}]" for citation in claim.citations))
        return work.release(f"{statement.lead}{claim.text} {marks}", claim)

    async def _retrieve(
        self, work: AnswerRun, asked: AnalyzedQuestion, history: Sequence[Exchange]
    ) -> Confidence:
        begun = perf_counter()
        with span("retrieve", book=work.index.book, revision=work.index.revision):
            found = await search_with_history(
                partial(self._search, work),
                asked.text,
                history,
                vocabulary=work.index.vocabulary,
                least=work.question.least_answerability,
                ask=self._rewrite,
            )
        work.standalone, work.conversation_context = found.standalone, found.conversation_context
        return _apply_gate(work, found.result, self._options.context_tokens, since=begun)

    async def _use_selection(self, work: AnswerRun, text: str) -> Confidence:
        """Take the reader's selection as all there is: no search, and nothing said before."""
        begun = perf_counter()
        work.standalone = work.question.text
        work.selected = await read_selection(text, work.index, self._searcher.embedder)
        work.whole = asks_about_whole(work.standalone)
        found = await score_selection(
            self._searcher, work.index, work.selected.chunk, work.standalone
        )
        return _apply_gate(work, found, self._options.context_tokens, since=begun)

    async def _search(
        self, work: AnswerRun, question: str, leaning: ConversationContext = STANDALONE
    ) -> SearchResult:
        return await self._searcher.search(
            work.index,
            question,
            filters=work.question.filters,
            top_k=work.question.top_k,
            conversation_context=leaning,
            near=work.question.near,
        )

    def _agent_context(self, work: AnswerRun) -> AgentContext:
        """Return what a model is shown, with a search of its own that passes the same gate."""

        async def search(query: str) -> Sequence[Hit]:
            found = await self._search(work, query)
            # What is less relevant than any level asks for would undo the level of the answer.
            least = max(work.question.threshold, LEAST_AVERAGE)
            good = [hit for hit in found.hits if hit.similarity >= least]
            room = MAX_PASSAGES - len(work.evidence)
            return fit_to_budget(good, self._options.context_tokens, beside=work.evidence)[:room]

        async def measure(ids: Sequence[str]) -> Sequence[Hit]:
            chosen = ids[: MAX_PASSAGES - len(work.evidence)]
            return await asyncio.to_thread(
                self._searcher.score_chunks, work.index, work.standalone, chosen
            )

        return AgentContext(
            work.evidence,
            search,
            measure,
            work.index,
            question=work.standalone,
            instructions=self._options.instructions,
            selected=work.selected is not None,
            room=self._options.context_tokens,
            reader=work.question.reader_context,
        )

    def _session(self, work: AnswerRun) -> ThreadSession | None:
        asked = work.question
        if work.selected:
            return None
        if asked.earlier:
            return ClientHistorySession(
                self._threads, work.thread_id, asked.earlier, last=HISTORY_MESSAGES
            )
        if asked.thread_id is None:
            return None
        window = retention_policy_for(asked.contract).window
        return ThreadSession(
            self._threads,
            work.thread_id,
            owner=asked.owner,
            last=window or HISTORY_MESSAGES,
            before=0 if window else EARLIER_MESSAGES,
        )

    async def _remember(self, answer: Answer, work: AnswerRun) -> None:
        if not work.kept:
            return  # half a conversation would be worse than none
        question = work.question
        record = answer_record(
            answer, question, work.nearest, work.conversation_context, work.answering
        )
        received = question.received_at or work.began_at
        keeping = keep(self._threads, answer, question, record, received_at=received)
        await best_effort(work, keeping)


def _apply_gate(work: AnswerRun, found: SearchResult, tokens: int, *, since: float) -> Confidence:
    work.nearest, work.answerability = found.hits, found.answerability
    work.evidence, confidence = apply_answerability_gate(found, work.question, tokens)
    work.retrieve_ms = 1000 * (perf_counter() - since)
    return confidence


def _retrieved_event(work: AnswerRun, confidence: Confidence, *, answering: bool) -> Retrieved:
    return Retrieved(
        work.standalone,
        work.hits(answered=answering),
        confidence,
        question=work.question.text,
        answering=answering,
    )
