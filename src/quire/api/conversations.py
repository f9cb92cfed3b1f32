"""Reading and deleting conversations."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response
from pydantic import UUID4, BaseModel, ConfigDict

from quire.api.door import needs
from quire.conversation import Message, Thread
from quire.domain import AnswerState
from quire.errors import UnknownThread
from quire.ports import ThreadStore

LIVE_MESSAGES = 50
ThreadId = Annotated[UUID4, Path(description="The conversation's `session_id`.")]


class ThreadMessage(BaseModel):
    """One message, as the reader saw it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime
    confidence: float | None = None
    record: dict[str, Any] | None = None
    """For an answer: its claims with verdicts and quotes, its sources, its timings."""
    state: AnswerState | None = None
    """For an answer: how far it has come, and whether its check flagged it."""


class ThreadSummary(BaseModel):
    """A conversation without its messages."""

    thread_id: str
    book: str
    created_at: datetime
    updated_at: datetime
    message_count: int
    topic_summary: str | None = None
    metadata: dict[str, Any]


class ConversationThread(ThreadSummary):
    """A conversation with its last 50 messages."""

    messages: list[ThreadMessage]


def threads_router(store: ThreadStore) -> APIRouter:
    """Make the routes under `/threads`."""
    router = APIRouter(prefix="/threads", tags=["threads"], dependencies=[needs("ask")])

    @router.get("")
    async def list_threads(
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> list[ThreadSummary]:
        """List conversations, the newest activity first."""
        found = await store.list(limit=limit, offset=offset)
        return [ThreadSummary(**_summary(thread)) for thread in found]

    @router.get("/{thread_id}")
    async def read_thread(thread_id: ThreadId) -> ConversationThread:
        """Read one conversation."""
        thread = await store.load(str(thread_id), last=LIVE_MESSAGES)
        if thread is None:
            raise _unknown(thread_id)
        messages = [_message(message) for message in thread.messages]
        return ConversationThread(messages=messages, **_summary(thread))

    @router.delete("/{thread_id}", status_code=204)
    async def delete_thread(thread_id: ThreadId) -> Response:
        """Delete one conversation and everything in it."""
        if not await store.delete(str(thread_id)):
            raise _unknown(thread_id)
        return Response(status_code=204)

    return router


def _unknown(thread_id: UUID) -> UnknownThread:
    return UnknownThread(f"There is no conversation {thread_id}.")


def _summary(thread: Thread) -> dict[str, Any]:
    return {
        "thread_id": thread.id,
        "book": thread.book,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "message_count": thread.message_count,
        "topic_summary": thread.topic_summary,
        "metadata": dict(thread.metadata),
    }


def _message(message: Message) -> ThreadMessage:
    return ThreadMessage(
        id=message.id,
        role=message.role,
        content=message.content,
        timestamp=message.created_at,
        confidence=message.confidence,
        record=dict(message.record) or None,
        state=message.state,
    )
