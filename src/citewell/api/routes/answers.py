"""Answers by their id, over HTTP: the record of each, and what would differ today."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from citewell.answer.record import Receipt, dump_filters
from citewell.answer.replay import ReceiptService, Replay
from citewell.api.contracts.chat import (
    CheckedClaim,
    Metrics,
    StageTimings,
    checked_claim,
    metrics_of,
)
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import VisibilityDep
from citewell.api.schemas import Uuid4, WireModel, dump
from citewell.conversation import ANY_OWNER, AnswerEntry
from citewell.domain import (
    AnswerState,
    AnswerStatus,
    ConfidenceLevel,
    ContextMode,
    Notice,
    VerdictKind,
)
from citewell.errors import UnknownAnswer
from citewell.ports import ThreadStore

AnswerId = Annotated[Uuid4, Path(description="The `answer_id` that came with the answer.")]


class SelectedText(WireModel):
    """What the reader selected, where that was to be the only source."""

    text: str
    found_in: list[str]
    """`chunk_id` of the book's passages that it came from; empty if it is not of the book."""


class ReceiptPassage(WireModel):
    """A passage that was found for the answer."""

    chunk_id: str
    content_hash: str
    """SHA-256 of the passage as it was then."""
    chapter: str
    section: str
    url: str
    source_file: str
    rank: int
    """Position in the search that found it, from 1."""
    similarity: float = Field(ge=0, le=1)
    """Calibrated relevance to the question; 1 for a passage that was opened by name."""
    cosine: float = Field(ge=0, le=1)
    """The raw cosine of the embeddings; 0 where none was taken."""
    searched: bool
    """Whether the question's own search found it, and not the model by a search of its own."""
    used: bool
    """Whether the answer could rest on it. Those come first, in the order of the `[n]` marks."""


class AnswerReceipt(WireModel):
    """The full record of one answer, as it was given."""

    answer_id: str
    session_id: str
    """The conversation it stands in; deleting that deletes this record."""
    created_at: datetime
    question: str
    standalone_question: str
    """The question as it was searched for."""
    book: str
    revision: str
    """The revision of the book that was searched."""
    context_mode: ContextMode
    """Where the answer came from: the book, or the reader's selection alone."""
    selection: SelectedText | None
    filters: dict[str, list[Any]]
    """Where was searched: for each field, the values of which any could match."""
    near: str
    """The chapter that the reader had open, where the question said so; empty otherwise."""
    also_read: list[str]
    """For a follow-up: `chunk_id` of passages cited before that were read with those found."""
    top_k: int
    similarity_threshold: float
    status: AnswerStatus
    state: AnswerState | None
    """How far it has come, as `GET /answers` says."""
    response: str
    """The text that was shown."""
    claims: list[CheckedClaim]
    """What the answer states, each with its verdict, its probability and its quotes."""
    withheld: list[CheckedClaim]
    """What the model stated and the evidence did not support; it was not shown."""
    passages: list[ReceiptPassage]
    missing_terms: list[str]
    """For a selection that did not answer: words of the question that it does not have."""
    metrics: Metrics
    """The confidence in the evidence."""
    model: str
    """Who wrote the answer."""
    instructions_version: str
    """The version of the instructions that the model was given."""
    timings: StageTimings
    cache_age_seconds: float | None
    """How long ago the answer was made, where the same was asked before; null if made for this."""
    notices: list[Notice]
    """What went wrong while it was made: `embedded_answer`, `fallback_model`, `incomplete`."""
    tokens_used: int | None
    """Tokens that the model counted, where it does."""
    cost_usd: float | None
    """What they cost, where the price is known."""


class UnfinishedAnswer(WireModel):
    """An answer that has no record."""

    answer_id: str
    session_id: str
    """The conversation it will stand in."""
    created_at: datetime
    question: str
    book: str
    state: AnswerState
    """`processing`: it is being made, come again; `unfinished`: the process that made it died."""


class ReplayedPassage(WireModel):
    """A passage that the search now gives differently."""

    kind: Literal["appeared", "vanished", "edited", "moved", "rescored"]
    """`edited` has other words in the same place of the book; `moved` has another rank."""
    chunk_id: str
    chapter: str
    section: str
    rank_before: int | None
    rank_after: int | None
    similarity_before: float | None
    similarity_after: float | None


class ReplayedQuote(WireModel):
    """A quote that no longer stands in the book byte for byte."""

    claim: str
    """The claim that it proved."""
    quote: str
    chunk_id: str
    """The passage that it stood in."""


class ReplayedVerdict(WireModel):
    """A claim that would be judged differently now."""

    claim: str
    before: VerdictKind
    after: VerdictKind
    probability_before: float
    probability_after: float


class AnswerReplay(WireModel):
    """How an answer then and the book now differ."""

    answer_id: str
    book: str
    differs: bool
    """Whether a reader would see anything else. A new revision alone is no difference."""
    revision_changed: bool
    revision_before: str
    revision_after: str
    passages: list[ReplayedPassage]
    lost_quotes: list[ReplayedQuote]
    verdicts: list[ReplayedVerdict]
    level_before: ConfidenceLevel
    level_after: ConfidenceLevel
    answered_before: bool
    answered_after: bool
    """Whether the passages would be enough now, and still prove a claim of the answer."""


def receipts_router(receipts: ReceiptService) -> APIRouter:
    """Make the routes under `/answers`."""
    router = APIRouter(prefix="/answers", tags=["answers"], dependencies=[require_scope("ask")])

    @router.get(
        "/{answer_id}",
        response_model=AnswerReceipt,
        responses={202: {"model": UnfinishedAnswer, "description": "There is no record (yet)"}},
    )
    async def read_receipt(answer_id: AnswerId, visible: VisibilityDep) -> Any:
        """Read the full record of one answer; of one that is not finished, its state (202)."""
        try:
            return receipt_to_wire(await receipts.read(answer_id, owner=visible))
        except UnknownAnswer:
            entry = await receipts.unfinished(answer_id, owner=visible)
            if entry is None:
                raise
        return JSONResponse(dump(unfinished_to_wire(entry)), status_code=202)

    @router.post("/{answer_id}/replay")
    async def replay_answer(answer_id: AnswerId, visible: VisibilityDep) -> AnswerReplay:
        """Search and check again for one answer, against the book as it is now.

        Nothing is stored, and the model is not asked again.
        """
        return replay_to_wire(await receipts.replay(answer_id, owner=visible))

    return router


def receipt_to_wire(receipt: Receipt) -> AnswerReceipt:
    """Write a record as the service gives it."""
    selection = receipt.selection
    return AnswerReceipt(
        answer_id=receipt.id,
        session_id=receipt.thread_id,
        created_at=receipt.created_at,
        question=receipt.question,
        standalone_question=receipt.standalone_question,
        book=receipt.book,
        revision=receipt.revision,
        context_mode=receipt.mode,
        selection=SelectedText.model_validate(asdict(selection)) if selection else None,
        filters=dump_filters(receipt.filters),
        near=receipt.current_chapter,
        also_read=list(receipt.context_chunk_ids),
        top_k=receipt.top_k,
        similarity_threshold=receipt.threshold,
        status=receipt.status,
        state=receipt.state,
        response=receipt.text,
        claims=[checked_claim(claim) for claim in receipt.claims],
        withheld=[checked_claim(claim) for claim in receipt.withheld],
        passages=[ReceiptPassage(**asdict(passage)) for passage in receipt.passages],
        missing_terms=list(receipt.missing_terms),
        metrics=metrics_of(receipt.confidence),
        model=receipt.model,
        instructions_version=receipt.instructions,
        timings=StageTimings(**asdict(receipt.timings)),
        cache_age_seconds=receipt.cache_age,
        notices=list(receipt.notices),
        tokens_used=receipt.tokens_used,
        cost_usd=receipt.dollars,
    )


def unfinished_to_wire(entry: AnswerEntry) -> UnfinishedAnswer:
    """Write what is known of an answer without a record."""
    return UnfinishedAnswer(
        answer_id=entry.id,
        session_id=entry.thread_id,
        created_at=entry.created_at,
        question=entry.question,
        book=entry.book,
        state=entry.state,
    )


def replay_to_wire(replay: Replay) -> AnswerReplay:
    """Write a replay as the service gives it."""
    fields = asdict(replay)
    return AnswerReplay(
        answer_id=fields.pop("id"),
        differs=replay.differs,
        revision_changed=replay.revision_changed,
        **fields,
    )


class LoggedAnswer(BaseModel):
    """One answer and what its check came to."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    answer_id: str
    thread_id: str
    book: str
    question: str
    state: AnswerState
    """`flagged`: the model said what the book does not support; `processing`: not finished."""
    created_at: datetime
    response: str | None
    """What the reader was shown; nothing while the answer is being made."""
    unsupported_claims: list[str]
    """What the model claimed and the book does not support."""


def answers_router(store: ThreadStore) -> APIRouter:
    """Make the route `/answers`."""
    router = APIRouter(tags=["answers"], dependencies=[require_scope("admin")])

    @router.get("/answers")
    async def list_answers(
        state: Annotated[AnswerState | None, Query(description="Only those in this state.")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> list[LoggedAnswer]:
        """List answers, the newest first."""
        found = await store.answers(state=state, limit=limit, offset=offset, owner=ANY_OWNER)
        return [_logged(entry) for entry in found]

    return router


def _logged(entry: AnswerEntry) -> LoggedAnswer:
    return LoggedAnswer(
        answer_id=entry.id,
        thread_id=entry.thread_id,
        book=entry.book,
        question=entry.question,
        state=entry.state,
        created_at=entry.created_at,
        response=entry.text,
        unsupported_claims=list(entry.unsupported),
    )
