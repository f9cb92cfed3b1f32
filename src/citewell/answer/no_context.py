"""A workflow that goes on without the book: it says that it has none, and never more than that."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from uuid import uuid4

from citewell.answer.record import answer_record, keep
from citewell.conversation import AnswerEntry
from citewell.domain import Answer, Claim, Question
from citewell.errors import EmbedderUnavailable, SearchIndexError
from citewell.events import Done, Event, Retrieved, Sentence, Started
from citewell.ports import Answerer, ThreadStore
from citewell.verify.confidence import score_confidence

NO_CONTEXT_MODEL_NAME = "no book"
"""Who wrote such a reply, where answers have the name of their model."""
RAG_DISABLED = (
    "Book context is unavailable: this assistant is set up without the book, so it cannot answer "
    "from it. Ask one that has the book, or look the question up in the book itself."
)
RAG_UNAVAILABLE = (
    "Book context is unavailable: the book cannot be searched right now, so nothing can be "
    "answered from it. Please ask again in a few minutes; this conversation keeps your question."
)


class NoContextAnswerer:
    """Answers from the book where it can; without it, says so in a reply instead of an error."""

    def __init__(self, answerer: Answerer, threads: ThreadStore, *, rag: bool) -> None:
        """Pass questions on to `answerer`, unless `rag` says that the book is not to be used."""
        self._answerer = answerer
        self._threads = threads
        self._rag = rag

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer, or say that book context is unavailable."""
        begun: Event | None = None
        if self._rag:
            try:
                async with aclosing(self._answerer.answer(question)) as events:
                    async for event in events:
                        begun = event
                        yield event
            except (SearchIndexError, EmbedderUnavailable):
                # What has been shown of an answer cannot be taken back.
                if begun is not None and not isinstance(begun, Started):
                    raise
            else:
                return
        started = begun if isinstance(begun, Started) else None
        async with aclosing(self._answer_without_book(question, started)) as told:
            async for event in told:
                yield event

    async def _answer_without_book(
        self, question: Question, started: Started | None
    ) -> AsyncGenerator[Event, None]:
        received = question.received_at or datetime.now(UTC)
        if started is None:
            started = Started(question.thread_id or str(uuid4()), str(uuid4()))
            yield started
        answer = _reply(question, started, RAG_UNAVAILABLE if self._rag else RAG_DISABLED)
        yield Retrieved(question.text, (), answer.confidence, question=question.text)
        for claim in answer.claims:
            yield Sentence(claim.text, claim)
        async with (
            self._threads.turn(answer.thread_id),
            self._threads.track_answer(_entry(answer, question)),
        ):
            record = answer_record(answer, question, None)
            await keep(self._threads, answer, question, record, received_at=received)
        yield Done(answer)
        await self._threads.mark_delivered(answer.id)


def _reply(question: Question, started: Started, text: str) -> Answer:
    said = Claim(text=text, start=0, end=len(text), verdict="not_a_claim", probability=1.0)
    return Answer(
        id=started.answer_id,
        thread_id=started.thread_id,
        book=question.book or "",
        revision="",
        question=question.text,
        standalone_question=question.text,
        status="no_context",
        text=text,
        claims=(said,),
        withheld=(),
        hits=(),
        confidence=score_confidence((), top_k=question.top_k, answerability=0.0),
        model=NO_CONTEXT_MODEL_NAME,
        created_at=datetime.now(UTC),
    )


def _entry(answer: Answer, question: Question) -> AnswerEntry:
    return AnswerEntry(
        id=answer.id,
        thread_id=answer.thread_id,
        book=answer.book,
        question=answer.question,
        state="processing",
        created_at=answer.created_at,
        owner=question.owner,
        contract=question.contract,
    )
