"""The routes of conversations, stored as threads: reading, describing and deleting them."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from citewell.api.contract import Clock, SessionContract
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import VisibilityDep
from citewell.api.schemas import Metadata, NativeId, RequestModel
from citewell.conversation import (
    NATIVE_CONTRACT,
    RETENTION_POLICIES,
    Caller,
    Message,
    RetentionPolicy,
    SharedKeyUser,
    Thread,
    ThreadState,
)
from citewell.domain import AnswerState, Question
from citewell.errors import StoreUnavailable, UnknownThread
from citewell.events import Event
from citewell.ports import Answerer, ThreadStore

LIVE_MESSAGES = RETENTION_POLICIES["chat"].max_live_messages
ThreadId = Annotated[NativeId, Path(description="The `session_id` of the conversation.")]
Limit = Annotated[int, Query(ge=1, le=100)]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]
StateQuery = Annotated[ThreadState | None, Query(description="Only in this state.")]


class ThreadMessage(BaseModel):
    """A message, as shown to the reader."""

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
    """For an answer: its processing state, or `flagged` for unsupported claims."""
    archived: bool = False
    """Whether newer messages moved it beyond the limit of live messages."""


class ThreadSummary(BaseModel):
    """A conversation without its messages."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    thread_id: str
    book: str
    contract: str
    """The contract of its first question."""
    state: ThreadState
    """`archived` and `idle` conversations can be continued; `ended` ones cannot."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    updated_at: datetime
    """When its last answer was finished, in UTC."""
    message_count: int
    topic_summary: str | None = None
    """Its topic in up to 200 characters; from the fifth exchange on, or as set by the client."""
    metadata: dict[str, Any]
    """Client data, such as `user_id` and `tags`."""


class Description(RequestModel):
    """A new topic or new metadata of a conversation; at least one of both."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in (("topic_summary", "string"), ("metadata", "object"))
            ]
        }
    )

    topic_summary: str | None = Field(None, min_length=1, max_length=200)
    """The topic; Citewell does not change it afterwards."""
    metadata: Metadata | None = None
    """Client data of up to 10,000 bytes, which replaces the stored metadata."""

    @model_validator(mode="after")
    def _check_not_empty(self) -> "Description":
        if self.topic_summary is None and self.metadata is None:
            raise ValueError("needs topic_summary or metadata")
        return self


class ConversationThread(ThreadSummary):
    """A conversation with its last 50 messages."""

    messages: list[ThreadMessage]


def threads_router(store: ThreadStore) -> APIRouter:
    """Return the router of `/threads`."""
    router = APIRouter(prefix="/threads", tags=["threads"], dependencies=[require_scope("ask")])

    @router.get("")
    async def list_threads(
        visible: VisibilityDep, limit: Limit = 20, offset: Offset = 0, state: StateQuery = None
    ) -> list[ThreadSummary]:
        """List your conversations, most recently updated first."""
        threads = await store.list(
            limit=limit, offset=offset, state=state, owner=visible, contract=NATIVE_CONTRACT
        )
        return [ThreadSummary(**_summary(thread)) for thread in threads]

    @router.get("/{thread_id}")
    async def read_thread(thread_id: ThreadId, visible: VisibilityDep) -> ConversationThread:
        """Return a conversation."""
        thread = await _load_thread(store, thread_id, visible, NATIVE_CONTRACT, LIVE_MESSAGES)
        messages = [_message(message) for message in thread.messages]
        return ConversationThread(messages=messages, **_summary(thread))

    @router.get("/{thread_id}/messages")
    async def read_messages(
        thread_id: ThreadId, visible: VisibilityDep, limit: Limit = 50, offset: Offset = 0
    ) -> list[ThreadMessage]:
        """List messages from the first one on, including archived ones."""
        messages = await store.messages(
            thread_id, limit=limit, offset=offset, owner=visible, contract=NATIVE_CONTRACT
        )
        if messages is None:
            raise _unknown_thread(thread_id)
        return [_message(message) for message in messages]

    @router.patch("/{thread_id}")
    async def describe_thread(
        thread_id: ThreadId, body: Description, visible: VisibilityDep
    ) -> ThreadSummary:
        """Set the topic or the metadata of a conversation."""
        return ThreadSummary(**_summary(await _update_thread(store, thread_id, body, visible)))

    @router.delete("/{thread_id}", status_code=204)
    async def delete_thread(thread_id: ThreadId, visible: VisibilityDep) -> Response:
        """Delete a conversation with its messages and answers."""
        if not await store.delete(thread_id, owner=visible, contract=NATIVE_CONTRACT):
            raise _unknown_thread(thread_id)
        return Response(status_code=204)

    return router


async def _load_thread(
    store: ThreadStore, thread_id: str, visible: Caller, contract: str, messages: int
) -> Thread:
    thread = await store.load(thread_id, last=messages, owner=visible, contract=contract)
    # A conversation whose first answer is not finished has no messages yet.
    thread = thread or await store.pending(thread_id, owner=visible, contract=contract)
    if thread is None:
        other = await store.find_by_alias(thread_id, owner=visible, contract=contract)
        thread = await store.load(other or "", last=messages, owner=visible, contract=contract)
    if thread is None:
        raise _unknown_thread(thread_id)
    return thread


async def _update_thread(
    store: ThreadStore, thread_id: str, body: Description, visible: Caller
) -> Thread:
    exists = True
    if body.metadata is not None:
        exists = await store.set_metadata(
            thread_id, body.metadata, owner=visible, contract=NATIVE_CONTRACT
        )
    if body.topic_summary is not None:
        exists = exists and await store.describe(
            thread_id, body.topic_summary, owner=visible, contract=NATIVE_CONTRACT
        )
    if exists:
        thread = await store.load(thread_id, last=1, owner=visible, contract=NATIVE_CONTRACT)
        if thread:
            return thread
    raise _unknown_thread(thread_id)


def _unknown_thread(thread_id: str) -> UnknownThread:
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


class SessionAnswerer:
    """Continues the conversation of a question, or starts a new one, by the retention policy."""

    def __init__(self, answerer: Answerer, threads: ThreadStore) -> None:
        """Wrap an answerer."""
        self._answerer = answerer
        self._threads = threads

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer in the question's conversation, or in a new one if that has ended."""
        async with aclosing(self._answerer.answer(await self._place_in_thread(question))) as events:
            async for event in events:
                yield event

    async def _place_in_thread(self, question: Question) -> Question:
        question = replace(question, received_at=question.received_at or datetime.now(UTC))
        if question.thread_id is None:
            return question
        owner, key = question.owner, question.key
        try:
            thread = await self._threads.resume(
                question.thread_id,
                owner=SharedKeyUser(owner, key) if owner and key else owner,
                contract=question.contract,
            )
        except StoreUnavailable:
            return question  # the answerer decides whether it needs the store
        return replace(question, thread_id=thread.thread_id, owner=thread.owner)


def sessions_router(
    contract: SessionContract, store: ThreadStore, clock: Clock, policy: RetentionPolicy
) -> APIRouter:
    """Return the router for the conversations of a contract."""
    router = APIRouter(tags=[contract.name], dependencies=[require_scope("ask")])
    (name,) = re.findall(r"{(\w+)(?::path)?}", contract.session_path)
    session_id_type: Any = Annotated[
        contract.session_id, Path(alias=name, description="The conversation's id.")
    ]

    @router.get(contract.session_path, response_model=contract.session)
    async def read_session(session: session_id_type, visible: VisibilityDep) -> Any:
        """Return a conversation."""
        messages = policy.max_live_messages
        thread = await _load_thread(store, session, visible, contract.name, messages)
        return contract.to_session(thread, clock(), policy)

    @router.delete(contract.session_path, status_code=204)
    async def delete_session(session: session_id_type, visible: VisibilityDep) -> Response:
        """Delete a conversation with its messages and answers."""
        who = {"owner": visible, "contract": contract.name}
        if not await store.delete(session, **who):
            other = await store.find_by_alias(session, **who)
            if not other or not await store.delete(other, **who):
                raise _unknown_thread(session)
        return Response(status_code=204)

    return router
