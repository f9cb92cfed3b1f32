"""The log of answers, for operators: what was flagged, and what never finished."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from quire.api.door import needs
from quire.conversation import ANYONE, AnswerEntry
from quire.domain import AnswerState
from quire.ports import ThreadStore


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
    router = APIRouter(tags=["answers"], dependencies=[needs("admin")])

    @router.get("/answers")
    async def list_answers(
        state: Annotated[AnswerState | None, Query(description="Only those in this state.")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> list[LoggedAnswer]:
        """List answers, the newest first."""
        found = await store.answers(state=state, limit=limit, offset=offset, owner=ANYONE)
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
