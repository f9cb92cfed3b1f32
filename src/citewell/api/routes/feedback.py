"""What readers think of answers: given by them, read by operators."""

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

LONGEST_COMMENT = 2000


class GivenFeedback(RequestModel):
    """What a reader thinks of one answer."""

    answer_id: Uuid4
    """The `answer_id` that came with the answer."""
    verdict: ReaderVerdict
    reason: FeedbackReason | None = None
    """Why, in a word."""
    comment: str | None = Field(default=None, max_length=LONGEST_COMMENT)
    """Why, in the reader's own words."""


class KeptFeedback(WireModel):
    """What is kept of it."""

    answer_id: str
    verdict: ReaderVerdict
    reason: FeedbackReason | None
    comment: str | None
    created_at: datetime


class ListedFeedback(KeptFeedback):
    """What a reader thinks, beside the answer that it is about."""

    thread_id: str
    book: str
    question: str
    response: str
    """What the reader was shown."""


def feedback_router(store: FeedbackStore, clock: Clock) -> APIRouter:
    """Make the routes at `/feedback`."""
    router = APIRouter(prefix="/feedback", tags=["feedback"])

    @router.post("", dependencies=[require_scope("ask")])
    async def give_feedback(body: GivenFeedback, visible: VisibilityDep) -> KeptFeedback:
        """Say what you think of an answer; said again, it takes the place of what was said."""
        feedback = Feedback(created_at=clock(), **body.model_dump())
        await store.save(feedback, owner=visible)
        return _kept(feedback)

    @router.get("", dependencies=[require_scope("admin")])
    async def list_feedback(
        verdict: Annotated[ReaderVerdict | None, Query(description="Only this verdict.")] = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> list[ListedFeedback]:
        """List what readers think, the newest first."""
        return [
            feedback_to_wire(entry)
            for entry in await store.list(verdict=verdict, limit=limit, offset=offset)
        ]

    return router


def feedback_to_wire(entry: FeedbackEntry) -> ListedFeedback:
    """Write feedback beside its answer, as the service gives it."""
    return ListedFeedback(
        **_kept(entry.feedback).model_dump(),
        thread_id=entry.thread_id,
        book=entry.book,
        question=entry.question,
        response=entry.text,
    )


def _kept(feedback: Feedback) -> KeptFeedback:
    return KeptFeedback(
        answer_id=feedback.answer_id,
        verdict=feedback.verdict,
        reason=feedback.reason,
        comment=feedback.comment,
        created_at=feedback.created_at,
    )
