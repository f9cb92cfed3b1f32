"""The routes of answers: the log, the receipt of each answer, and its replay."""

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
    """The reader's selection, if it was the only source."""

    text: str
    found_in: list[str]
    """`chunk_id` of the passages that contain it; empty if it is not from the book."""


class ReceiptPassage(WireModel):
    """A passage that was retrieved for the answer."""

    chunk_id: str
    content_hash: str
    """SHA-256 of the passage at that time."""
    chapter: str
    section: str
    url: str
    source_file: str
    rank: int
    """Position in its search result, from 1."""
    similarity: float = Field(ge=0, le=1)
    """Calibrated relevance to the question; 1 for a passage that was opened by name."""
    cosine: float = Field(ge=0, le=1)
    """The raw cosine of the embeddings; 0 if it was not computed."""
    searched: bool
    """Whether the search for the question returned it, not a tool call of the model."""
    used: bool
    """Whether it was available to the answer. These come first, in the order of the `[n]` marks."""


class AnswerReceipt(WireModel):
    """The full record of an answer as it was given."""

    answer_id: str
    session_id: str
    """The conversation; deleting it deletes this record."""
    created_at: datetime
    question: str
    standalone_question: str
    """The question that was searched for, with references resolved."""
    book: str
    revision: str
    """The revision of the book at that time."""
    context_mode: ContextMode
    """The source of the answer: the book, or the reader's selection alone."""
    selection: SelectedText | None
    filters: dict[str, list[Any]]
    """The filters of the search: for each field, the values of which any may match."""
    near: str
    """The chapter that the reader had open, if known."""
    also_read: list[str]
    """For a follow-up: `chunk_id` of previously cited passages that were used as well."""
    top_k: int
    similarity_threshold: float
    status: AnswerStatus
    state: AnswerState | None
    """The processing state, as in `GET /answers`."""
    response: str
    """The text shown to the reader."""
    claims: list[CheckedClaim]
    """The claims of the answer with their verdicts, probabilities and quotes."""
    withheld: list[CheckedClaim]
    """Claims of the model that were not shown because the evidence does not support them."""
    passages: list[ReceiptPassage]
    missing_terms: list[str]
    """For a selection without an answer: terms of the question that it does not contain."""
    metrics: Metrics
    """The confidence in the evidence."""
    model: str
    """The model that generated the answer."""
    instructions_version: str
    """The version of the model's instructions."""
    timings: StageTimings
    cache_age_seconds: float | None
    """Age of an answer from the cache; `null` if it was generated for this question."""
    notices: list[Notice]
    """Degradations: `embedded_answer`, `fallback_model` or `incomplete`."""
    tokens_used: int | None
    """Tokens, if the model reports them."""
    cost_usd: float | None
    """Their cost, if the price is known."""


class UnfinishedAnswer(WireModel):
    """An answer that has no record."""

    answer_id: str
    session_id: str
    """The conversation."""
    created_at: datetime
    question: str
    book: str
    state: AnswerState
    """`processing`: retry later; `unfinished`: the process that generated it died."""


class ReplayedPassage(WireModel):
    """A passage whose search result has changed."""

    kind: Literal["appeared", "vanished", "edited", "moved", "rescored"]
    """`edited`: the text at this position of the book changed; `moved`: the rank changed."""
    chunk_id: str
    chapter: str
    section: str
    rank_before: int | None
    rank_after: int | None
    similarity_before: float | None
    similarity_after: float | None


class ReplayedQuote(WireModel):
    """A quote that is no longer in the book byte for byte."""

    claim: str
    """The claim that it supported."""
    quote: str
    chunk_id: str
    """The passage that contained it."""


class ReplayedVerdict(WireModel):
    """A claim whose verdict has changed."""

    claim: str
    before: VerdictKind
    after: VerdictKind
    probability_before: float
    probability_after: float


class AnswerReplay(WireModel):
    """The differences between an answer and the current book."""

    answer_id: str
    book: str
    differs: bool
    """Whether a reader would see a difference. A new revision alone is none."""
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
    """Whether the passages are now sufficient, and still support a claim of the answer."""


def receipts_router(receipts: ReceiptService) -> APIRouter:
    """Return the router of `/answers/{answer_id}`."""
    router = APIRouter(prefix="/answers", tags=["answers"], dependencies=[require_scope("ask")])

    @router.get(
        "/{answer_id}",
        response_model=AnswerReceipt,
        responses={202: {"model": UnfinishedAnswer, "description": "There is no record (yet)"}},
    )
    async def read_receipt(answer_id: AnswerId, visible: VisibilityDep) -> Any:
        """Return the full record of an answer, or the state of an unfinished one (202)."""
        try:
            return receipt_to_wire(await receipts.read(answer_id, owner=visible))
        except UnknownAnswer:
            entry = await receipts.unfinished(answer_id, owner=visible)
            if entry is None:
                raise
        unfinished = UnfinishedAnswer(
            answer_id=entry.id,
            session_id=entry.thread_id,
            created_at=entry.created_at,
            question=entry.question,
            book=entry.book,
            state=entry.state,
        )
        return JSONResponse(dump(unfinished), status_code=202)

    @router.post("/{answer_id}/replay")
    async def replay_answer(answer_id: AnswerId, visible: VisibilityDep) -> AnswerReplay:
        """Repeat the search and verification of an answer against the current book.

        Nothing is stored, and the model is not called.
        """
        return replay_to_wire(await receipts.replay(answer_id, owner=visible))

    return router


def receipt_to_wire(receipt: Receipt) -> AnswerReceipt:
    """Convert a receipt to its response."""
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


def replay_to_wire(replay: Replay) -> AnswerReplay:
    """Convert a replay to its response."""
    fields = asdict(replay)
    return AnswerReplay(
        answer_id=fields.pop("id"),
        differs=replay.differs,
        revision_changed=replay.revision_changed,
        **fields,
    )


class LoggedAnswer(BaseModel):
    """An entry in the log of answers."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    answer_id: str
    thread_id: str
    book: str
    question: str
    state: AnswerState
    """`flagged`: there are unsupported claims; `processing`: not finished."""
    created_at: datetime
    response: str | None
    """The text shown to the reader; `null` while the answer is being generated."""
    unsupported_claims: list[str]
    """Claims of the model that the book does not support."""


def answers_router(store: ThreadStore) -> APIRouter:
    """Return the router of `/answers`."""
    router = APIRouter(tags=["answers"], dependencies=[require_scope("admin")])

    @router.get("/answers")
    async def list_answers(
        state: Annotated[AnswerState | None, Query(description="Only in this state.")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> list[LoggedAnswer]:
        """List answers, newest first."""
        entries = await store.answers(state=state, limit=limit, offset=offset, owner=ANY_OWNER)
        return [_to_logged_answer(entry) for entry in entries]

    return router


def _to_logged_answer(entry: AnswerEntry) -> LoggedAnswer:
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
