"""Conversations as each contract sees them: its rules kept, and its own view served."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Path, Response

from quire.api.contract import Clock, Remembering, SessionRules
from quire.api.door import needs
from quire.conversation import Thread
from quire.domain import Question
from quire.errors import StoreUnavailable, UnknownThread
from quire.events import Event
from quire.ports import Answerer, ThreadStore


def utc_now() -> datetime:
    """Tell the time."""
    return datetime.now(UTC)


def contract_of(thread: Thread) -> str:
    """Give the name of the contract that a conversation is held by."""
    records = [message.record for message in thread.messages if message.record]
    return str(records[-1].get("contract", "chat")) if records else "chat"


class InSession:
    """Answers questions in the conversation that the rules of their contract put them in."""

    def __init__(
        self, rules: SessionRules, answerer: Answerer, threads: ThreadStore, clock: Clock
    ) -> None:
        """Keep to `rules` before `answerer` is asked."""
        self._rules = rules
        self._answerer = answerer
        self._threads = threads
        self._clock = clock

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer in the same conversation, or in a new one if the rules say so."""
        async with aclosing(self._answerer.answer(await self._placed(question))) as events:
            async for event in events:
                yield event

    async def _placed(self, question: Question) -> Question:
        if question.thread_id is None:
            return question
        try:
            thread = await self._threads.load(question.thread_id, last=1)
        except StoreUnavailable:
            return question  # whether it can be answered without the store, the answerer knows
        if thread is None:
            return question
        if contract_of(thread) != question.contract:
            raise unknown(question.thread_id)
        if not self._rules.is_gone(thread.updated_at, self._clock()):
            return question
        if self._rules.after == "begins_again":
            await self._threads.delete(thread.id)
            return question
        return replace(question, thread_id=str(uuid4()))


def sessions_router(contract: Remembering, store: ThreadStore, clock: Clock) -> APIRouter:
    """Make the routes that read and delete the conversations of a contract."""
    router = APIRouter(tags=[contract.name], dependencies=[needs("ask")])
    (name,) = re.findall(r"{(\w+)}", contract.session_path)
    identity: Any = Annotated[
        contract.session_id, Path(alias=name, description="The conversation's id.")
    ]

    async def find(session: str, last: int) -> Thread:
        thread = await store.load(session, last=last)
        if thread is None or contract_of(thread) != contract.name:
            raise unknown(session)
        if contract.sessions.is_gone(thread.updated_at, clock()):
            raise unknown(session)
        return thread

    @router.get(contract.session_path, response_model=contract.session)
    async def read_session(session: identity) -> Any:
        """Read one conversation."""
        return contract.show(await find(session, contract.sessions.live), clock())

    @router.delete(contract.session_path, status_code=204)
    async def delete_session(session: identity) -> Response:
        """Delete one conversation and everything in it."""
        await store.delete((await find(session, 1)).id)
        return Response(status_code=204)

    return router


def unknown(session: str) -> UnknownThread:
    """Say that a contract has no such conversation."""
    return UnknownThread(f"There is no conversation {session}.")
