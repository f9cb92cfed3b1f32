"""Replies of workflows whose book or model is unavailable."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from uuid import uuid4

from citewell.answer.record import answer_record, store_answer
from citewell.conversation import AnswerEntry
from citewell.domain import NO_MODEL_NAME, Answer, Claim, Hit, Question
from citewell.errors import EmbedderUnavailable, ModelError, SearchIndexError
from citewell.events import Done, Event, Retrieved, Sentence, Started
from citewell.ports import Answerer, ThreadStore
from citewell.verify.confidence import score_confidence

NO_CONTEXT_MODEL_NAME = "no book"
"""Stands in for the model name."""
RAG_DISABLED = (
    "Book context is unavailable: this assistant is set up without the book, so it cannot answer "
    "from it. Ask one that has the book, or look the question up in the book itself."
)
RAG_UNAVAILABLE = (
    "Book context is unavailable: the book cannot be searched right now, so nothing can be "
    "answered from it. Please ask again in a few minutes; this conversation keeps your question."
)
MODEL_UNAVAILABLE = (
    "The language model cannot be used right now, so nothing was answered. Please ask again in a "
    "few minutes; this conversation keeps your question."
)


class NoContextAnswerer:
    """Turns an unavailable book or model into a reply instead of an error."""

    def __init__(self, answerer: Answerer, threads: ThreadStore, *, rag: bool) -> None:
        """Delegate to `answerer`, unless `rag` is off."""
        self._answerer = answerer
        self._threads = threads
        self._rag = rag

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer, or reply that the book or the model is unavailable."""
        last, started, hits = None, None, None
        text, model = (RAG_UNAVAILABLE if self._rag else RAG_DISABLED), NO_CONTEXT_MODEL_NAME
        if self._rag:
            try:
                async with aclosing(self._answerer.answer(question)) as events:
                    async for event in events:
                        last = event
                        started = event if isinstance(event, Started) else started
                        hits = event.hits if isinstance(event, Retrieved) else hits
                        yield event
            except (SearchIndexError, EmbedderUnavailable, ModelError) as error:
                # A partial answer cannot be retracted.
                if isinstance(last, Sentence):
                    raise
                if isinstance(error, ModelError):
                    text, model = MODEL_UNAVAILABLE, NO_MODEL_NAME
            else:
                return
        if started is None:
            started = Started(question.thread_id or str(uuid4()), str(uuid4()))
            yield started
        answer = _reply(question, started, text, model, hits or ())
        async with aclosing(self._reply_and_store(question, answer, hits is None)) as events:
            async for event in events:
                yield event

    async def _reply_and_store(
        self, question: Question, answer: Answer, announce: bool
    ) -> AsyncGenerator[Event, None]:
        received_at = question.received_at or datetime.now(UTC)
        if announce:
            yield Retrieved(question.text, (), answer.confidence, question=question.text)
        for claim in answer.claims:
            yield Sentence(claim.text, claim)
        async with (
            self._threads.turn(answer.thread_id),
            self._threads.track_answer(_entry(answer, question)),
        ):
            record = answer_record(answer, question, None)
            await store_answer(self._threads, answer, question, record, received_at=received_at)
        yield Done(answer)
        await self._threads.mark_delivered(answer.id)


def _reply(
    question: Question, started: Started, text: str, model: str, hits: tuple[Hit, ...]
) -> Answer:
    claim = Claim(text=text, start=0, end=len(text), verdict="not_a_claim", probability=1.0)
    return Answer(
        id=started.answer_id,
        thread_id=started.thread_id,
        book=question.book or "",
        revision="",
        question=question.text,
        standalone_question=question.text,
        status="no_context",
        text=text,
        claims=(claim,),
        withheld=(),
        hits=hits,
        confidence=score_confidence((), top_k=question.top_k, answerability=0.0),
        model=model,
        created_at=datetime.now(UTC),
        passages_given=len(hits) if model == NO_MODEL_NAME else 0,
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
