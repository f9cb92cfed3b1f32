"""The pipeline: one question in, events out. The one file to read first."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from uuid import uuid4

from quire.answer.agent import Evidence
from quire.answer.asking import Asking
from quire.answer.contents import NAME as CONTENTS
from quire.answer.contents import Statement, answer_from_contents
from quire.answer.gate import at_risk, confidence_in, fitting, pass_gate
from quire.answer.instructions import REWRITE, SUMMARISE
from quire.answer.keeping import keep, logged, unless_down
from quire.answer.memory import EARLIER_MESSAGES, ThreadSession, ToldSession, told_before
from quire.answer.models import Writers
from quire.answer.options import AnswerOptions
from quire.answer.records import answer_record, cited_in
from quire.answer.refusal import disclaimer
from quire.answer.selected import read_selection
from quire.answer.smalltalk import NAME as TALK
from quire.answer.smalltalk import answer_to_talk
from quire.answer.topics import Topics
from quire.answer.unable import unable
from quire.answer.work import Work
from quire.answer.writing import Writing
from quire.conversation import rules_of
from quire.domain import Answer, Confidence, Hit, Question
from quire.errors import StoreUnavailable
from quire.events import Done, Event, Retrieved, Sentence, Started, Withheld
from quire.ports import Judge, Library, ThreadStore
from quire.retrieve.followup import search_in_conversation
from quire.retrieve.language import notice_of
from quire.retrieve.leaning import ALONE, Leaning
from quire.retrieve.outline import first_chunk
from quire.retrieve.rewrite import Exchange, standalone_question
from quire.retrieve.search import Searcher, SearchResult
from quire.retrieve.selection import asks_about_whole, weigh_selection
from quire.retrieve.structure import structure_question
from quire.retrieve.understand import Understood, understand
from quire.telemetry.spans import span
from quire.verify.confidence import LEAST_AVERAGE
from quire.verify.harmless import refused
from quire.verify.headings import check_titles
from quire.verify.orders import is_order

MAX_LISTED = 20
"""How many passages an answer may be made from, with those that a model finds by itself."""
HISTORY = 6
"""How many earlier messages a follow-up may refer to, unless its contract says otherwise."""


class Pipeline:
    """Search, answer, check, remember."""

    def __init__(
        self,
        library: Library,
        searcher: Searcher,
        judge: Judge,
        threads: ThreadStore,
        writers: Writers,
        options: AnswerOptions,
    ) -> None:
        """Join the stages."""
        self._library = library
        self._searcher = searcher
        self._threads = threads
        self._writers = writers
        self._writing = Writing(writers, judge, options)
        self._options = options
        asking = Asking(writers)
        self._rewrite = asking.on(REWRITE) if writers.limits.rewrite else None
        self.topics = Topics(threads, asking.on(SUMMARISE)) if writers.limits.summarise else None

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question, saying what happens as it does."""
        thread_id = question.thread_id or str(uuid4())
        # In a thread, as all that reads a book: it may lie on a server.
        index = await asyncio.to_thread(self._library.open, question.book)
        question = at_risk(question, self._searcher.calibration, self._options.target_risk)
        work = Work(question, index, thread_id, str(uuid4()), self._writers.name)
        # Logged before the reader hears of it: however this process ends, its answers are known.
        async with logged(self._threads, work):
            yield Started(thread_id, work.answer_id)
            async with self._threads.turn(thread_id):
                told, confidence = await self._prepare(work)
                if confidence.level == "low" and not work.whole:
                    work.disclaimer = disclaimer(confidence, selected=work.selected is not None)
                answering = bool(work.evidence) and not work.refusal
                found = _retrieved(work, confidence, answering=answering)
                work.context_given = answering and bool(found.hits)
                yield found

                for statement in told:
                    yield self._quote_titles(work, statement)
                if answering and not told:
                    async with aclosing(self._write(work)) as events:
                        async for event in events:
                            yield event

                answer = await asyncio.to_thread(work.conclude)
                await self._remember(answer, work)
        yield Done(replace(answer, notices=work.notices))
        with suppress(StoreUnavailable):  # the reader has the answer; only the log will not say so
            await self._threads.deliver(answer.id)
        if self.topics and work.kept:
            self.topics.follow(answer.thread_id, work.question.owner)

    async def _write(self, work: Work) -> AsyncGenerator[Event, None]:
        """Yield what a model writes; passages that it finds by itself are told before it."""
        listed = len(work.evidence)
        written = self._writing.write(work, self._shown(work), self._memory(work))
        async with aclosing(written) as pieces:
            async for event in pieces:
                if len(work.evidence) > listed:
                    listed = len(work.evidence)
                    yield _retrieved(work, work.confidence(), answering=True)
                yield event

    async def _prepare(self, work: Work) -> tuple[list[Statement], Confidence]:
        """Gather what the answer rests on, or all that is to be said where that is known."""
        question = work.question
        if question.selected_text is not None:
            return [], await self._select(work, question.selected_text)
        history = await self._history(work)
        asked = await asyncio.to_thread(understand, question.text, work.index)
        told = await asyncio.to_thread(self._told, work, asked, history)
        if told:
            return told, work.confidence()
        if asked.foreign:
            work.standalone, work.refusal = question.text, notice_of(asked.foreign)
        if work.refusal:
            return [], confidence_in((), question, 0.0)
        return [], await self._retrieve(work, asked, history)

    async def _history(self, work: Work) -> list[Exchange]:
        asked = work.question
        if asked.earlier:
            return told_before(asked.earlier[-HISTORY:])
        if asked.thread_id is None or not work.kept:
            return []
        last = rules_of(asked.contract).window or HISTORY
        thread = await unless_down(
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
                cited=cited_in(message.record),
                answer=message.content,
                told="\n".join(message.record.get("answering", ())),
            )
            for message in answered or said
        ]

    def _told(self, work: Work, asked: Understood, history: Sequence[Exchange]) -> list[Statement]:
        """Answer small talk, and what is asked about the contents, without a search."""
        index = work.index
        if asked.talk:
            work.standalone, work.model = asked.text, TALK
            return answer_to_talk(asked.talk, index.title, index.contents)
        if asks := unable(asked.text, index.contents):
            work.standalone, work.refusal = asked.text, asks.text
            self._open(work, asks.passages)
            return []
        for text in dict.fromkeys((asked.text, standalone_question(asked.text, history))):
            wanted = structure_question(text, f"{index.title} {index.book}", index.contents)
            if wanted:
                work.standalone, work.model = text, CONTENTS
                return self._opened(work, answer_from_contents(wanted, index.contents))
        return []

    def _opened(self, work: Work, told: list[Statement]) -> list[Statement]:
        """Open the passages whose headings are named, up to as many as were asked for."""
        self._open(work, [first_chunk(one) for said in told for one in said.headings])
        return told

    def _open(self, work: Work, named: Sequence[str]) -> None:
        ids = list(dict.fromkeys(named))[: work.question.top_k]
        work.evidence += self._searcher.measure(work.index, work.standalone, ids)

    def _quote_titles(self, work: Work, statement: Statement) -> Sentence | Withheld:
        hits = {hit.chunk.id: hit for hit in work.evidence}
        named = [(one, hits.get(first_chunk(one))) for one in statement.headings]
        quoted = [(one, hit) for one, hit in named if hit]
        claim = check_titles(statement.text, quoted)
        if any(is_order(one.title) for one in statement.headings):
            return work.withhold(refused(claim))
        if not quoted:
            # A title beyond the passages that may be listed is named without a proof.
            return work.say(statement.text, statement.lead if statement.headings else "")
        if not claim.citations:
            return work.withhold(refused(claim))
        claim = work.numbered(claim)
        marks = "".join(dict.fromkeys(f"[{citation.number}]" for citation in claim.citations))
        return work.release(f"{statement.lead}{claim.text} {marks}", claim)

    async def _retrieve(
        self, work: Work, asked: Understood, history: Sequence[Exchange]
    ) -> Confidence:
        begun = perf_counter()
        with span("retrieve", book=work.index.book, revision=work.index.revision):
            found = await search_in_conversation(
                partial(self._search, work),
                asked.text,
                history,
                vocabulary=work.index.vocabulary,
                least=work.question.least_answerability,
                ask=self._rewrite,
            )
        work.standalone, work.leaning = found.standalone, found.leaning
        return _gated(work, found.result, self._options.context_tokens, since=begun)

    async def _select(self, work: Work, text: str) -> Confidence:
        """Take the reader's selection as all there is: no search, and nothing said before."""
        begun = perf_counter()
        work.standalone = work.question.text
        work.selected = await read_selection(text, work.index, self._searcher.embedder)
        work.whole = asks_about_whole(work.standalone)
        found = await weigh_selection(
            self._searcher, work.index, work.selected.chunk, work.standalone
        )
        return _gated(work, found, self._options.context_tokens, since=begun)

    async def _search(self, work: Work, question: str, leaning: Leaning = ALONE) -> SearchResult:
        return await self._searcher.search(
            work.index,
            question,
            filters=work.question.filters,
            top_k=work.question.top_k,
            leaning=leaning,
            near=work.question.near,
        )

    def _shown(self, work: Work) -> Evidence:
        """Give what a model is shown, with a search of its own that passes the same gate."""

        async def search(query: str) -> Sequence[Hit]:
            found = await self._search(work, query)
            # What is less relevant than any level asks for would undo the level of the answer.
            least = max(work.question.threshold, LEAST_AVERAGE)
            good = [hit for hit in found.hits if hit.similarity >= least]
            room = MAX_LISTED - len(work.evidence)
            return fitting(good, self._options.context_tokens, beside=work.evidence)[:room]

        async def measure(ids: Sequence[str]) -> Sequence[Hit]:
            chosen = ids[: MAX_LISTED - len(work.evidence)]
            return await asyncio.to_thread(
                self._searcher.measure, work.index, work.standalone, chosen
            )

        return Evidence(
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

    def _memory(self, work: Work) -> ThreadSession | None:
        asked = work.question
        if work.selected:
            return None
        if asked.earlier:
            return ToldSession(self._threads, work.thread_id, asked.earlier, last=HISTORY)
        if asked.thread_id is None:
            return None
        window = rules_of(asked.contract).window
        return ThreadSession(
            self._threads,
            work.thread_id,
            owner=asked.owner,
            last=window or HISTORY,
            before=0 if window else EARLIER_MESSAGES,
        )

    async def _remember(self, answer: Answer, work: Work) -> None:
        if not work.kept:
            return  # half a conversation would be worse than none
        question = work.question
        record = answer_record(answer, question, work.nearest, work.leaning, work.answering)
        received = question.received_at or work.began_at
        keeping = keep(self._threads, answer, question, record, received_at=received)
        await unless_down(work, keeping)


def _gated(work: Work, found: SearchResult, tokens: int, *, since: float) -> Confidence:
    work.nearest, work.answerability = found.hits, found.answerability
    work.evidence, confidence = pass_gate(found, work.question, tokens)
    work.retrieve_ms = 1000 * (perf_counter() - since)
    return confidence


def _retrieved(work: Work, confidence: Confidence, *, answering: bool) -> Retrieved:
    return Retrieved(
        work.standalone,
        work.hits(answered=answering),
        confidence,
        question=work.question.text,
        answering=answering,
    )
