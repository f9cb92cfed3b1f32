"""The stored record of an answer: what the reader saw, and where it came from."""

import logging
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4

from citewell.answer.prompts import VERSION
from citewell.answer.replies import SMALL_TALK_MODEL_NAME
from citewell.answer.run import AnswerRun
from citewell.conversation import Message, ThreadStart
from citewell.domain import (
    DEFAULT_MIN_ANSWERABILITY,
    TOC_MODEL_NAME,
    Answer,
    AnswerState,
    AnswerStatus,
    Citation,
    Claim,
    Confidence,
    ContextMode,
    Filters,
    Hit,
    Notice,
    Prefix,
    Question,
    Selection,
    Timings,
)
from citewell.errors import StoreUnavailable
from citewell.ports import ThreadStore
from citewell.questions.followup import STANDALONE, ConversationContext

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageRecord:
    """A retrieved passage, without its text."""

    chunk_id: str
    content_hash: str
    chapter: str
    section: str
    url: str
    source_file: str = ""
    rank: int = 0
    """Position among the search results, from 1."""
    similarity: float
    cosine: float
    searched: bool = True
    """Whether the pipeline's search found it, rather than the model's tools."""
    used: bool = True
    """Whether the answer could cite it: it passed the threshold, or the model opened it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The full record of one answer."""

    id: str
    thread_id: str
    created_at: datetime
    question: str
    standalone_question: str
    book: str
    revision: str
    mode: ContextMode
    selection: Selection | None
    filters: Filters
    current_chapter: str
    """The chapter that the reader had open, if known."""
    context_chunk_ids: tuple[str, ...]
    """Ids of passages cited earlier in the conversation, reranked together with the hits."""
    previous_answers: str
    """Text of the previous answers, if the question followed up on them."""
    top_k: int
    threshold: float
    min_answerability: float
    """Minimum answerability."""
    searched: bool
    """Whether the book was searched; small talk and table-of-contents answers need no search."""
    status: AnswerStatus
    state: AnswerState | None
    """State in the log of answers."""
    text: str
    claims: tuple[Claim, ...]
    withheld: tuple[Claim, ...]
    passages: tuple[PassageRecord, ...]
    confidence: Confidence
    missing_terms: tuple[str, ...]
    model: str
    instructions: str
    timings: Timings
    cache_age: float | None = None
    """Age in seconds, if it was served from the cache."""
    notices: tuple[Notice, ...] = ()
    tokens_used: int | None = None
    dollars: float | None = None

    @property
    def conversation_context(self) -> ConversationContext:
        """The conversation context of its search."""
        return (
            ConversationContext(self.context_chunk_ids, self.previous_answers, self.question)
            if self.context_chunk_ids or self.previous_answers
            else STANDALONE
        )

    def as_question(self) -> Question:
        """Return the question with the parameters of its search."""
        return Question(
            text=self.standalone_question,
            book=self.book,
            top_k=self.top_k,
            threshold=self.threshold,
            min_answerability=self.min_answerability,
            filters=self.filters,
            current_chapter=self.current_chapter,
            selected_text=self.selection.text if self.selection else None,
        )


def answer_record(
    answer: Answer,
    question: Question,
    search_hits: Sequence[Hit] | None,
    conversation_context: ConversationContext = STANDALONE,
    answering_sentences: Sequence[str] = (),
) -> dict[str, Any]:
    """Return everything about an answer but its text, ready for JSON.

    `search_hits` are all hits, including those below the threshold; `None` without a search.
    `answering_sentences` are the claims selected as the answer, without those for context.
    """
    selection = answer.selection
    return {
        "thread_id": answer.thread_id,
        "question": answer.question,
        "standalone_question": answer.standalone_question,
        "contract": question.contract,
        "noted": dict(question.contract_data),
        "mode": question.mode,
        "selection": asdict(selection) if selection else None,
        "filters": dump_filters(question.filters),
        "near": question.current_chapter,
        "also": list(conversation_context.cited_chunk_ids),
        "told": conversation_context.previous_answers,
        "answering": list(answering_sentences),
        "top_k": question.top_k,
        "threshold": question.threshold,
        "least_answerability": question.min_answerability,
        "headings": _headings(answer),
        "searched": search_hits is not None,
        "status": answer.status,
        "context_given": answer.context_given,
        "lacks": list(answer.missing_terms),
        "book": answer.book,
        "revision": answer.revision,
        "model": answer.model,
        "instructions": VERSION,
        "confidence": asdict(answer.confidence),
        "claims": [asdict(claim) for claim in answer.claims],
        "withheld": [asdict(claim) for claim in answer.withheld],
        "unsupported": [claim.text for claim in answer.unsupported],
        "hits": [asdict(passage) for passage in _passages(answer, question, search_hits or ())],
        "timings": asdict(answer.timings),
        "tokens_used": answer.tokens_used,
        "dollars": answer.dollars,
        "notices": list(answer.notices),
    }


def cited_chunk_ids(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the chunks that a stored answer cites."""
    ids = (
        citation.get("found_in") or citation["chunk_id"]
        for claim in record.get("claims", ())
        for citation in claim["citations"]
        if citation.get("of") != "own_text"
    )
    return tuple(dict.fromkeys(ids))


def receipt_from_message(message: Message) -> Receipt:
    """Parse the record of an answer; fields that older versions did not write get defaults."""
    record = message.record
    selection = record.get("selection")
    return Receipt(
        id=message.id,
        thread_id=record.get("thread_id", ""),
        created_at=message.created_at,
        question=record.get("question", record["standalone_question"]),
        standalone_question=record["standalone_question"],
        book=record["book"],
        revision=record["revision"],
        mode=record.get("mode", "retrieval_pipeline"),
        selection=_read(Selection, selection) if selection else None,
        filters=parse_filters(record.get("filters", {})),
        current_chapter=record.get("near", ""),
        context_chunk_ids=tuple(record.get("also", ())),
        previous_answers=record.get("told", ""),
        top_k=record.get("top_k", Question(text="").top_k),
        threshold=record.get("threshold", Question(text="").threshold),
        min_answerability=record.get("least_answerability", DEFAULT_MIN_ANSWERABILITY),
        searched=record.get(
            "searched", record["model"] not in (TOC_MODEL_NAME, SMALL_TALK_MODEL_NAME)
        ),
        status=record["status"],
        state=message.state,
        text=message.content,
        claims=tuple(_claim(claim) for claim in record["claims"]),
        withheld=tuple(_claim(claim) for claim in record["withheld"]),
        passages=tuple(
            _read(PassageRecord, {"rank": place, **hit})
            for place, hit in enumerate(record["hits"], start=1)
        ),
        confidence=_read(Confidence, record["confidence"]),
        missing_terms=tuple(record.get("lacks", ())),
        model=record["model"],
        instructions=record.get("instructions", ""),
        timings=_read(Timings, record["timings"]),
        cache_age=record.get("cache_age"),
        notices=tuple(record.get("notices", ())),
        tokens_used=record.get("tokens_used"),
        dollars=record.get("dollars"),
    )


def dump_filters(filters: Filters) -> dict[str, list[Any]]:
    """Return the filters in the format of requests."""
    return {
        name: [{"prefix": one.text} if isinstance(one, Prefix) else one for one in values]
        for name, values in filters.by_field.items()
        if values
    }


def parse_filters(data: Mapping[str, Sequence[Any]]) -> Filters:
    """Parse filters in the format of requests and settings."""
    return Filters(
        **{
            name: tuple(
                Prefix(one["prefix"]) if isinstance(one, Mapping) else one for one in values
            )
            for name, values in data.items()
        }
    )


def _headings(answer: Answer) -> list[str]:
    """Return the cited headings, for follow-ups; text that is not from the book has none."""
    cited = (citation for citation in answer.citations if citation.of != "own_text")
    return list(dict.fromkeys(citation.section for citation in cited))


def _passages(
    answer: Answer, question: Question, search_hits: Sequence[Hit]
) -> list[PassageRecord]:
    """Return the passages in citation order, and unused search hits after them."""
    search_ids = {hit.chunk.id for hit in search_hits}
    answered = answer.status == "answered"
    records = [
        _passage(
            hit,
            searched=hit.chunk.id in search_ids,
            used=answered or (bool(answer.withheld) and hit.similarity >= question.threshold),
        )
        for hit in answer.hits
    ]
    known = {record.chunk_id for record in records}
    return records + [
        _passage(hit, searched=True, used=False) for hit in search_hits if hit.chunk.id not in known
    ]


def _passage(hit: Hit, *, searched: bool, used: bool) -> PassageRecord:
    chunk = hit.chunk
    return PassageRecord(
        chunk_id=chunk.id,
        content_hash=chunk.content_hash,
        chapter=chunk.chapter,
        section=chunk.section,
        url=chunk.url,
        source_file=chunk.source_file,
        rank=hit.rank,
        similarity=hit.similarity,
        cosine=hit.cosine,
        searched=searched,
        used=used,
    )


def _claim(data: Mapping[str, Any]) -> Claim:
    citations = tuple(_read(Citation, citation) for citation in data["citations"])
    return _read(Claim, {**data, "citations": citations})


def _read(cls: type[T], data: Mapping[str, Any]) -> T:
    """Build a dataclass from its known fields, with JSON lists as tuples."""
    field_names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return cls(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in data.items()
            if name in field_names
        }
    )


LOG = logging.getLogger("citewell.answer")


@asynccontextmanager
async def log_answer(threads: ThreadStore, run: AnswerRun) -> AsyncIterator[None]:
    """Keep an entry in the log of answers while the answer is made, if the store is available."""
    async with AsyncExitStack() as stack:
        entry = threads.track_answer(run.log_entry())
        await best_effort(run, stack.enter_async_context(entry))
        yield


async def store_answer(
    threads: ThreadStore,
    answer: Answer,
    question: Question,
    record: Mapping[str, Any],
    *,
    received_at: datetime,
) -> None:
    """Append the question and the answer to the thread."""
    question_message = Message(
        id=str(uuid4()),
        role="user",
        content=answer.question,
        created_at=question.sent_at or received_at,
    )
    answer_message = Message(
        id=answer.id,
        role="assistant",
        content=answer.text,
        created_at=answer.created_at,
        confidence=answer.confidence.average_similarity,
        record={**record, "received_at": received_at.isoformat()},
    )
    await threads.append(
        answer,
        (question_message, answer_message),
        owner=question.owner,
        contract=question.contract,
        start=ThreadStart(
            at=received_at,
            opens_by_id=question.opens_by_id,
            alias=question.contract_data.get("thread_id"),
            metadata=question.metadata,
        ),
    )


async def best_effort(run: AnswerRun, call: Awaitable[T]) -> T | None:
    """Await a call to the store; if the store is down, return `None` and add a notice."""
    try:
        return await call
    except StoreUnavailable as error:
        if run.store_available:
            LOG.warning("cannot store answer %s: %s", run.answer_id, error.__cause__ or error)
        run.add_notice("not_kept")
        return None
