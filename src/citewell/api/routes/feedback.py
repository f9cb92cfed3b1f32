"""The routes of readers' feedback on answers."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from citewell.api.contract import Clock
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import VisibilityDep
from citewell.api.routes.threads import Limit, Offset
from citewell.api.schemas import RequestModel, Uuid4, WireModel
from citewell.conversation import Feedback, FeedbackEntry, FeedbackReason, ReaderVerdict
from citewell.ports import FeedbackStore

MAX_COMMENT_LENGTH = 2000


class FeedbackRequest(RequestModel):
    """Feedback on an answer."""

    answer_id: Uuid4
    """The `answer_id` that came with the answer."""
    verdict: ReaderVerdict
    reason: FeedbackReason | None = None
    """The category of the reason."""
    comment: str | None = Field(default=None, max_length=MAX_COMMENT_LENGTH)
    """A comment in the reader's own words."""


class FeedbackResponse(WireModel):
    """The stored feedback."""

    answer_id: str
    verdict: ReaderVerdict
    reason: FeedbackReason | None
    comment: str | None
    created_at: datetime


class FeedbackItem(FeedbackResponse):
    """Feedback with its question and answer."""

    thread_id: str
    book: str
    question: str
    response: str
    """The text shown to the reader."""


def feedback_router(store: FeedbackStore, clock: Clock) -> APIRouter:
    """Return the router of `/feedback`."""
    router = APIRouter(prefix="/feedback", tags=["feedback"])

    @router.post("", dependencies=[require_scope("ask")])
    async def give_feedback(body: FeedbackRequest, visible: VisibilityDep) -> FeedbackResponse:
        """Store feedback on an answer, replacing earlier feedback."""
        feedback = Feedback(created_at=clock(), **body.model_dump())
        await store.save(feedback, owner=visible)
        return _to_response(feedback)

    @router.get("", dependencies=[require_scope("admin")])
    async def list_feedback(
        verdict: Annotated[ReaderVerdict | None, Query(description="Only this verdict.")] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> list[FeedbackItem]:
        """List feedback, newest first."""
        return [
            feedback_to_wire(entry)
            for entry in await store.list(verdict=verdict, limit=limit, offset=offset)
        ]

    return router


def feedback_to_wire(entry: FeedbackEntry) -> FeedbackItem:
    """Convert feedback with its question and answer to its response."""
    return FeedbackItem(
        **_to_response(entry.feedback).model_dump(),
        thread_id=entry.thread_id,
        book=entry.book,
        question=entry.question,
        response=entry.text,
    )


def _to_response(feedback: Feedback) -> FeedbackResponse:
    return FeedbackResponse(
        answer_id=feedback.answer_id,
        verdict=feedback.verdict,
        reason=feedback.reason,
        comment=feedback.comment,
        created_at=feedback.created_at,
    )
