"""Reading and deleting conversations."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from quire.api.callers import Visible
from quire.api.door import needs
from quire.api.sent import Kept, NativeId, Sent
from quire.conversation import NATIVE, RULES, Caller, Message, Thread, ThreadState
from quire.domain import AnswerState
from quire.errors import UnknownThread
from quire.ports import ThreadStore

LIVE_MESSAGES = RULES["chat"].live_messages
ThreadId = Annotated[NativeId, Path(description="The `session_id` of the conversation.")]
Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]
Wanted = Annotated[ThreadState | None, Query(description="Only those in this state.")]


class ThreadMessage(BaseModel):
    """One message, as the reader saw it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    role: Literal["user", "assistant"]
    content: str
    timestamp: datetime
    """When the question arrived, or the answer was finished, in UTC."""
    confidence: float | None = None
    record: dict[str, Any] | None = None
    """For an answer: its claims with verdicts and quotes, its sources, its timings."""
    state: AnswerState | None = None
    """For an answer: how far it has come, and whether its check flagged it."""
    archived: bool = False
    """Whether so many messages came after it that it is no longer among the live ones."""


class ThreadSummary(BaseModel):
    """A conversation without its messages."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    thread_id: str
    book: str
    contract: str
    """The contract that it was begun by."""
    state: ThreadState
    """`archived` and `idle` are continued by the next message; `ended` is over."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    updated_at: datetime
    """When its last answer was finished, in UTC."""
    message_count: int
    topic_summary: str | None = None
    """What it is about, in up to 200 characters; from the fifth exchange on, or as it was given."""
    metadata: dict[str, Any]
    """What its client wants kept with it, such as `user_id` and `tags`."""


class Description(Sent):
    """What a conversation is about, and what else is to be kept with it; at least one of both."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in (("topic_summary", "string"), ("metadata", "object"))
            ]
        }
    )

    topic_summary: str | None = Field(None, min_length=1, max_length=200)
    """What it is about, in someone's own words; Quire then leaves it so."""
    metadata: Kept | None = None
    """Up to 10,000 bytes, in place of what was kept before."""

    @model_validator(mode="after")
    def _says_something(self) -> "Description":
        if self.topic_summary is None and self.metadata is None:
            raise ValueError("needs topic_summary or metadata")
        return self


class ConversationThread(ThreadSummary):
    """A conversation with its last 50 messages."""

    messages: list[ThreadMessage]


def threads_router(store: ThreadStore) -> APIRouter:
    """Make the routes under `/threads`."""
    router = APIRouter(prefix="/threads", tags=["threads"], dependencies=[needs("ask")])

    @router.get("")
    async def list_threads(
        visible: Visible, limit: Limit = 20, offset: Offset = 0, state: Wanted = None
    ) -> list[ThreadSummary]:
        """List your conversations, the newest activity first."""
        found = await store.list(
            limit=limit, offset=offset, state=state, owner=visible, contract=NATIVE
        )
        return [ThreadSummary(**_summary(thread)) for thread in found]

    @router.get("/{thread_id}")
    async def read_thread(thread_id: ThreadId, visible: Visible) -> ConversationThread:
        """Read one conversation."""
        thread = await _found(store, thread_id, visible)
        messages = [_message(message) for message in thread.messages]
        return ConversationThread(messages=messages, **_summary(thread))

    @router.get("/{thread_id}/messages")
    async def read_messages(
        thread_id: ThreadId, visible: Visible, limit: Limit = 50, offset: Offset = 0
    ) -> list[ThreadMessage]:
        """Read messages from the first one on, also those that are archived."""
        messages = await store.messages(
            thread_id, limit=limit, offset=offset, owner=visible, contract=NATIVE
        )
        if messages is None:
            raise _unknown(thread_id)
        return [_message(message) for message in messages]

    @router.patch("/{thread_id}")
    async def describe_thread(
        thread_id: ThreadId, body: Description, visible: Visible
    ) -> ThreadSummary:
        """Set what a conversation is about, or the metadata kept with it."""
        return ThreadSummary(**_summary(await _described(store, thread_id, body, visible)))

    @router.delete("/{thread_id}", status_code=204)
    async def delete_thread(thread_id: ThreadId, visible: Visible) -> Response:
        """Delete one conversation and everything in it."""
        if not await store.delete(thread_id, owner=visible, contract=NATIVE):
            raise _unknown(thread_id)
        return Response(status_code=204)

    return router


async def _found(store: ThreadStore, thread_id: str, visible: Caller) -> Thread:
    thread = await store.load(thread_id, last=LIVE_MESSAGES, owner=visible, contract=NATIVE)
    # One that has only begun is there, too.
    thread = thread or await store.begun(thread_id, owner=visible, contract=NATIVE)
    if thread is None:
        raise _unknown(thread_id)
    return thread


async def _described(
    store: ThreadStore, thread_id: str, body: Description, visible: Caller
) -> Thread:
    known = True
    if body.metadata is not None:
        known = await store.annotate(thread_id, body.metadata, owner=visible, contract=NATIVE)
    if body.topic_summary is not None:
        known = known and await store.describe(
            thread_id, body.topic_summary, owner=visible, contract=NATIVE
        )
    if known:
        thread = await store.load(thread_id, last=1, owner=visible, contract=NATIVE)
        if thread:
            return thread
    raise _unknown(thread_id)


def _unknown(thread_id: str) -> UnknownThread:
    return UnknownThread(f"There is no conversation {thread_id}.")


def _summary(thread: Thread) -> dict[str, Any]:
    return {
        "thread_id": thread.id,
        "book": thread.book,
        "contract": thread.contract,
        "state": thread.state,
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
        archived=message.archived,
    )
