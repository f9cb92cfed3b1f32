"""The pipeline: one question in, events out. The one file to read first."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4

from quire.answer.agent import Evidence, draft
from quire.answer.contents import NAME as CONTENTS
from quire.answer.contents import Statement, answer_from_contents
from quire.answer.instructions import NOT_IN_BOOK, VERSION
from quire.answer.models import ModelFor
from quire.answer.options import AnswerOptions
from quire.answer.records import answer_record, cited_in
from quire.answer.refusal import DISCLAIMER, UNPROVEN, refusal_text
from quire.answer.smalltalk import NAME as TALK
from quire.answer.smalltalk import answer_to_talk
from quire.domain import (
    PROVEN,
    Answer,
    AnswerEntry,
    Claim,
    Confidence,
    Hit,
    Message,
    Question,
    Timings,
)
from quire.errors import StoreUnavailable
from quire.events import Done, Event, Retrieved, Sentence, Started, Withheld
from quire.ports import Index, Judge, Library, ThreadStore
from quire.retrieve.followup import search_in_conversation
from quire.retrieve.language import notice_of
from quire.retrieve.outline import first_chunk
from quire.retrieve.rewrite import Exchange, standalone_question
from quire.retrieve.search import Searcher, SearchResult, opened_hits
from quire.retrieve.structure import structure_question
from quire.retrieve.understand import Understood, understand
from quire.verify.claims import Piece, PieceReader
from quire.verify.confidence import certain, score_confidence
from quire.verify.grounding import check_piece
from quire.verify.headings import check_titles
from quire.verify.links import SentenceLinks

HISTORY = 6
"""How many earlier messages a follow-up may refer to."""


@dataclass(slots=True)
class _Work:
    """What one answer gathers on its way."""

    question: Question
    index: Index
    thread_id: str
    answer_id: str
    standalone: str = ""
    refusal: str = ""
    nearest: tuple[Hit, ...] = ()
    evidence: list[Hit] = field(default_factory=list)
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    withheld: list[Claim] = field(default_factory=list)
    leading: list[tuple[str, Claim]] = field(default_factory=list)
    """Headings and the like, kept until something follows that is shown."""
    model: str = ""
    retrieve_ms: float = 0.0
    answer_ms: float = 0.0
    verify_ms: float = 0.0

    @property
    def is_proven(self) -> bool:
        """Whether the answer says anything that the book says."""
        return any(claim.citations and claim.verdict in PROVEN for claim in self.claims)

    @property
    def last(self) -> Claim | None:
        """The statement shown last, which the next one may refer to."""
        return next((c for c in reversed(self.claims) if c.verdict != "not_a_claim"), None)


class Pipeline:
    """Search, answer, check, remember."""

    def __init__(
        self,
        library: Library,
        searcher: Searcher,
        judge: Judge,
        threads: ThreadStore,
        model: tuple[str, ModelFor],
        options: AnswerOptions,
    ) -> None:
        """Join the stages; `model` is its name and what makes it."""
        self._library = library
        self._searcher = searcher
        self._judge = judge
        self._threads = threads
        self._model_name, self._model_for = model
        self._options = options
        self._links = SentenceLinks()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question, saying what happens as it does."""
        begun = perf_counter()
        thread_id = question.thread_id or str(uuid4())
        work = _Work(question, self._library.open(question.book), thread_id, str(uuid4()))
        work.model = self._model_name
        yield Started(thread_id, work.answer_id)

        async with self._threads.turn(thread_id), self._threads.answering(_begun(work)):
            history = await self._history(thread_id)
            asked = understand(question.text, work.index)
            told = self._told(work, asked, history)
            if told:
                confidence = certain(len(work.evidence))
            elif asked.foreign:
                work.standalone, work.refusal = question.text, notice_of(asked.foreign)
                confidence = score_confidence((), top_k=question.top_k, answerability=0.0)
            else:
                confidence = await self._retrieve(work, asked, history)
            shown = tuple(work.evidence) if confidence.should_answer else work.nearest
            yield Retrieved(work.standalone, shown, confidence)

            for statement in told:
                yield self._quote_titles(work, statement)
            if confidence.should_answer and not told:
                async with aclosing(self._proven(work, confidence)) as pieces:
                    async for event in pieces:
                        yield event

            answer = self._conclude(work, confidence, begun)
            await self._remember(answer)
        yield Done(answer)
        with suppress(StoreUnavailable):  # the reader has the answer; only the log will not say so
            await self._threads.deliver(answer.id)

    async def _history(self, thread_id: str) -> list[Exchange]:
        thread = await self._threads.load(thread_id, last=HISTORY)
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
            )
            for message in answered or said
        ]

    def _told(self, work: _Work, asked: Understood, history: Sequence[Exchange]) -> list[Statement]:
        """Answer small talk, and what is asked about the contents, without a search."""
        index = work.index
        if asked.talk:
            work.standalone, work.model = asked.text, TALK
            return self._opened(work, answer_to_talk(asked.talk, index.title, index.contents))
        for text in dict.fromkeys((asked.text, standalone_question(asked.text, history))):
            wanted = structure_question(text, f"{index.title} {index.book}", index.contents)
            if wanted:
                work.standalone, work.model = text, CONTENTS
                return self._opened(work, answer_from_contents(wanted, index.contents))
        return []

    def _opened(self, work: _Work, told: list[Statement]) -> list[Statement]:
        """Open the passages whose headings are named."""
        named = (first_chunk(one) for said in told for one in said.headings)
        work.evidence += opened_hits(work.index.read(list(dict.fromkeys(named))))
        return told

    def _quote_titles(self, work: _Work, statement: Statement) -> Sentence | Withheld:
        if not statement.headings:
            return self._release(work, statement.text, _said_by_us(statement.text))
        hits = {hit.chunk.id: hit for hit in work.evidence}
        quoted = [(one, hits[first_chunk(one)]) for one in statement.headings]
        claim = check_titles(statement.text, quoted)
        if not claim.citations:
            work.withheld.append(claim)
            return Withheld(claim)
        marks = "".join(dict.fromkeys(f"[{citation.number}]" for citation in claim.citations))
        return self._release(work, f"{statement.lead}{claim.text} {marks}", claim)

    async def _retrieve(
        self, work: _Work, asked: Understood, history: Sequence[Exchange]
    ) -> Confidence:
        begun = perf_counter()
        question = work.question
        work.standalone, found = await search_in_conversation(
            partial(self._search, work),
            asked.text,
            history,
            vocabulary=work.index.vocabulary,
            threshold=question.threshold,
        )
        work.nearest = found.hits
        work.evidence = [hit for hit in found.hits if hit.similarity >= question.threshold]
        confidence = score_confidence(
            work.evidence,
            # A filter may leave fewer passages than were asked for; no more can be wanted then.
            top_k=min(question.top_k, len(found.hits)),
            answerability=found.answerability,
        )
        work.retrieve_ms = 1000 * (perf_counter() - begun)
        return confidence

    async def _search(self, work: _Work, question: str, also: Sequence[str] = ()) -> SearchResult:
        return await self._searcher.search(
            work.index,
            question,
            filters=work.question.filters,
            top_k=work.question.top_k,
            also=also,
        )

    async def _proven(
        self, work: _Work, confidence: Confidence
    ) -> AsyncGenerator[Sentence | Withheld, None]:
        """Hold the answer back until it has a proven claim: without one it becomes a refusal."""
        held: list[Sentence | Withheld] = []
        async with aclosing(self._checked(work, confidence)) as pieces:
            async for event in pieces:
                held.append(event)
                if work.is_proven:
                    for one in held:
                        yield one
                    held.clear()
        for one in held:
            if isinstance(one, Withheld):
                yield one

    async def _checked(
        self, work: _Work, confidence: Confidence
    ) -> AsyncGenerator[Sentence | Withheld, None]:
        """Let the agent write, and give each piece only after its check."""
        begun = perf_counter()
        if confidence.level == "low":
            yield self._release(work, DISCLAIMER, _said_by_us(DISCLAIMER))

        async def search(query: str) -> Sequence[Hit]:
            found = await self._search(work, query)
            return [hit for hit in found.hits if hit.similarity >= work.question.threshold]

        shown = Evidence(work.evidence, search, work.index)
        model = self._model_for(work.index.statistics)
        reader = PieceReader()
        async with aclosing(
            draft(work.standalone, shown, model=model, max_turns=self._options.max_turns)
        ) as deltas:
            async for delta in deltas:
                for event in self._check(work, reader.feed(delta)):
                    yield event
        for event in self._check(work, reader.finish()):
            yield event
        work.answer_ms = 1000 * (perf_counter() - begun) - work.verify_ms

    def _check(self, work: _Work, pieces: Iterable[Piece]) -> Iterator[Sentence | Withheld]:
        """Judge pieces; give those that may be shown, and say which may not."""
        for piece in pieces:
            if NOT_IN_BOOK in piece.text:
                continue
            begun = perf_counter()
            link = partial(self._links.link, work.index)
            claim, text = check_piece(piece, work.evidence, self._judge, link, work.last)
            work.verify_ms += 1000 * (perf_counter() - begun)
            if claim.verdict == "not_a_claim" and (piece.leads_on or work.leading):
                work.leading.append((text, claim))
            elif self._shows(claim):
                for lead in work.leading:
                    yield self._release(work, *lead)
                work.leading.clear()
                yield self._release(work, text + self._warning(piece, claim), claim)
            else:
                work.withheld.append(claim)
                yield Withheld(claim)

    def _shows(self, claim: Claim) -> bool:
        shown = claim.verdict in ("supported", "not_a_claim")
        partly = claim.verdict == "partly" and self._options.show_partly
        return shown or partly or self._options.unsupported != "withhold"

    def _warning(self, piece: Piece, claim: Claim) -> str:
        if self._options.unsupported != "mark" or claim.verdict not in UNPROVEN:
            return ""
        return ("\n\n" if piece.is_block else " ") + UNPROVEN[claim.verdict]

    def _release(self, work: _Work, text: str, claim: Claim) -> Sentence:
        if work.text and not text[0].isspace():
            text = f" {text}"
        elif not work.text:
            text = text.lstrip()
        start = len(work.text) + text.find(claim.text)
        claim = replace(claim, start=start, end=start + len(claim.text))
        work.text += text
        work.claims.append(claim)
        return Sentence(text, claim)

    def _conclude(self, work: _Work, confidence: Confidence, begun: float) -> Answer:
        """Make the answer; one that kept no proven claim is a refusal."""
        talked = work.model == TALK
        answered = work.is_proven or talked
        if not answered:
            confidence = replace(confidence, level="insufficient", should_answer=False)
        hits = tuple(work.evidence) if answered else work.nearest
        return Answer(
            id=work.answer_id,
            thread_id=work.thread_id,
            book=work.index.book,
            revision=work.index.revision,
            question=work.question.text,
            standalone_question=work.standalone,
            status="small_talk" if talked else "answered" if answered else "not_in_book",
            text=work.text
            if answered
            else work.refusal or refusal_text(work.standalone, work.nearest),
            claims=tuple(work.claims) if answered else (),
            withheld=tuple(work.withheld),
            hits=hits,
            confidence=confidence,
            model=work.model,
            created_at=datetime.now(UTC),
            timings=Timings(
                retrieve_ms=round(work.retrieve_ms, 2),
                answer_ms=round(work.answer_ms, 2),
                verify_ms=round(work.verify_ms, 2),
                total_ms=round(1000 * (perf_counter() - begun), 2),
            ),
        )

    async def _remember(self, answer: Answer) -> None:
        record: dict[str, Any] = answer_record(answer) | {"instructions": VERSION}
        asked = Message(
            id=str(uuid4()),
            role="user",
            content=answer.question,
            created_at=answer.created_at,
        )
        said = Message(
            id=answer.id,
            role="assistant",
            content=answer.text,
            created_at=answer.created_at,
            confidence=answer.confidence.average_similarity,
            record=record,
        )
        await self._threads.append(answer, (asked, said))


def _begun(work: _Work) -> AnswerEntry:
    return AnswerEntry(
        id=work.answer_id,
        thread_id=work.thread_id,
        book=work.index.book,
        question=work.question.text,
        state="processing",
        created_at=datetime.now(UTC),
    )


def _said_by_us(text: str) -> Claim:
    return Claim(text=text, start=0, end=0, verdict="not_a_claim", probability=1.0)
