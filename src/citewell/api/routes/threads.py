"""Reading and deleting conversations."""

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
StateFilter = Annotated[ThreadState | None, Query(description="Only those in this state.")]


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


class Description(RequestModel):
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
    """What it is about, in someone's own words; Citewell then leaves it so."""
    metadata: Metadata | None = None
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
    router = APIRouter(prefix="/threads", tags=["threads"], dependencies=[require_scope("ask")])

    @router.get("")
    async def list_threads(
        visible: VisibilityDep, limit: Limit = 20, offset: Offset = 0, state: StateFilter = None
    ) -> list[ThreadSummary]:
        """List your conversations, the newest activity first."""
        found = await store.list(
            limit=limit, offset=offset, state=state, owner=visible, contract=NATIVE_CONTRACT
        )
        return [ThreadSummary(**_summary(thread)) for thread in found]

    @router.get("/{thread_id}")
    async def read_thread(thread_id: ThreadId, visible: VisibilityDep) -> ConversationThread:
        """Read one conversation."""
        thread = await _found(store, thread_id, visible)
        messages = [_message(message) for message in thread.messages]
        return ConversationThread(messages=messages, **_summary(thread))

    @router.get("/{thread_id}/messages")
    async def read_messages(
        thread_id: ThreadId, visible: VisibilityDep, limit: Limit = 50, offset: Offset = 0
    ) -> list[ThreadMessage]:
        """Read messages from the first one on, also those that are archived."""
        messages = await store.messages(
            thread_id, limit=limit, offset=offset, owner=visible, contract=NATIVE_CONTRACT
        )
        if messages is None:
            raise _unknown(thread_id)
        return [_message(message) for message in messages]

    @router.patch("/{thread_id}")
    async def describe_thread(
        thread_id: ThreadId, body: Description, visible: VisibilityDep
    ) -> ThreadSummary:
        """Set what a conversation is about, or the metadata kept with it."""
        return ThreadSummary(**_summary(await _update_thread(store, thread_id, body, visible)))

    @router.delete("/{thread_id}", status_code=204)
    async def delete_thread(thread_id: ThreadId, visible: VisibilityDep) -> Response:
        """Delete one conversation and everything in it."""
        if not await store.delete(thread_id, owner=visible, contract=NATIVE_CONTRACT):
            raise _unknown(thread_id)
        return Response(status_code=204)

    return router


async def _found(store: ThreadStore, thread_id: str, visible: Caller) -> Thread:
    thread = await store.load(
        thread_id, last=LIVE_MESSAGES, owner=visible, contract=NATIVE_CONTRACT
    )
    # One that has only begun is there, too.
    thread = thread or await store.pending(thread_id, owner=visible, contract=NATIVE_CONTRACT)
    if thread is None:
        raise _unknown(thread_id)
    return thread


async def _update_thread(
    store: ThreadStore, thread_id: str, body: Description, visible: Caller
) -> Thread:
    known = True
    if body.metadata is not None:
        known = await store.set_metadata(
            thread_id, body.metadata, owner=visible, contract=NATIVE_CONTRACT
        )
    if body.topic_summary is not None:
        known = known and await store.describe(
            thread_id, body.topic_summary, owner=visible, contract=NATIVE_CONTRACT
        )
    if known:
        thread = await store.load(thread_id, last=1, owner=visible, contract=NATIVE_CONTRACT)
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


class SessionAnswerer:
    """Answers questions in the conversation that the rules of their contract put them in."""

    def __init__(self, answerer: Answerer, threads: ThreadStore) -> None:
        """Keep to the rules before `answerer` is asked."""
        self._answerer = answerer
        self._threads = threads

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer in the same conversation, or in a new one if the rules say so."""
        async with aclosing(self._answerer.answer(await self._place_in_thread(question))) as events:
            async for event in events:
                yield event

    async def _place_in_thread(self, question: Question) -> Question:
        question = replace(question, received_at=question.received_at or datetime.now(UTC))
        if question.thread_id is None:
            return question
        owner, key = question.owner, question.key
        try:
            place = await self._threads.resume(
                question.thread_id,
                owner=SharedKeyUser(owner, key) if owner and key else owner,
                contract=question.contract,
            )
        except StoreUnavailable:
            return question  # whether it can be answered without the store, the answerer knows
        return replace(question, thread_id=place.thread_id, owner=place.owner)


def sessions_router(
    contract: SessionContract, store: ThreadStore, clock: Clock, rules: RetentionPolicy
) -> APIRouter:
    """Make the routes that read and delete the conversations of a contract, by its rules."""
    router = APIRouter(tags=[contract.name], dependencies=[require_scope("ask")])
    (name,) = re.findall(r"{(\w+)(?::path)?}", contract.session_path)
    identity: Any = Annotated[
        contract.session_id, Path(alias=name, description="The conversation's id.")
    ]

    async def find(session: str, visible: Caller) -> Thread:
        thread = await store.load(
            session, last=rules.max_live_messages, owner=visible, contract=contract.name
        )
        # One that has only begun is there, too.
        thread = thread or await store.pending(session, owner=visible, contract=contract.name)
        if thread is None:
            raise unknown(session)
        return thread

    @router.get(contract.session_path, response_model=contract.session)
    async def read_session(session: identity, visible: VisibilityDep) -> Any:
        """Read one conversation."""
        return contract.show(await find(session, visible), clock(), rules)

    @router.delete(contract.session_path, status_code=204)
    async def delete_session(session: identity, visible: VisibilityDep) -> Response:
        """Delete one conversation and everything in it."""
        if not await store.delete(session, owner=visible, contract=contract.name):
            raise unknown(session)
        return Response(status_code=204)

    return router


def unknown(session: str) -> UnknownThread:
    """Return the error that a contract has no such conversation."""
    return UnknownThread(f"There is no conversation {session}.")
