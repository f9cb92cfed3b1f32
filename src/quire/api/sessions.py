"""Conversations as each contract sees them: its rules kept, and its own view served."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from quire.api.callers import Visible
from quire.api.contract import Clock, Remembering
from quire.api.door import needs
from quire.conversation import Caller, KeyReader, Rules, Thread
from quire.domain import Question
from quire.errors import StoreUnavailable, UnknownThread
from quire.events import Event
from quire.ports import Answerer, ThreadStore


class InSession:
    """Answers questions in the conversation that the rules of their contract put them in."""

    def __init__(self, answerer: Answerer, threads: ThreadStore) -> None:
        """Keep to the rules before `answerer` is asked."""
        self._answerer = answerer
        self._threads = threads

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer in the same conversation, or in a new one if the rules say so."""
        async with aclosing(self._answerer.answer(await self._placed(question))) as events:
            async for event in events:
                yield event

    async def _placed(self, question: Question) -> Question:
        question = replace(question, received_at=question.received_at or datetime.now(UTC))
        if question.thread_id is None:
            return question
        owner, key = question.owner, question.key
        try:
            place = await self._threads.resume(
                question.thread_id,
                owner=KeyReader(owner, key) if owner and key else owner,
                contract=question.contract,
            )
        except StoreUnavailable:
            return question  # whether it can be answered without the store, the answerer knows
        return replace(question, thread_id=place.thread_id, owner=place.owner)


def sessions_router(
    contract: Remembering, store: ThreadStore, clock: Clock, rules: Rules
) -> APIRouter:
    """Make the routes that read and delete the conversations of a contract, by its rules."""
    router = APIRouter(tags=[contract.name], dependencies=[needs("ask")])
    (name,) = re.findall(r"{(\w+)(?::path)?}", contract.session_path)
    identity: Any = Annotated[
        contract.session_id, Path(alias=name, description="The conversation's id.")
    ]

    async def find(session: str, visible: Caller) -> Thread:
        thread = await store.load(
            session, last=rules.live_messages, owner=visible, contract=contract.name
        )
        # One that has only begun is there, too.
        thread = thread or await store.begun(session, owner=visible, contract=contract.name)
        if thread is None:
            raise unknown(session)
        return thread

    @router.get(contract.session_path, response_model=contract.session)
    async def read_session(session: identity, visible: Visible) -> Any:
        """Read one conversation."""
        return contract.show(await find(session, visible), clock(), rules)

    @router.delete(contract.session_path, status_code=204)
    async def delete_session(session: identity, visible: Visible) -> Response:
        """Delete one conversation and everything in it."""
        if not await store.delete(session, owner=visible, contract=contract.name):
            raise unknown(session)
        return Response(status_code=204)

    return router


def unknown(session: str) -> UnknownThread:
    """Say that a contract has no such conversation."""
    return UnknownThread(f"There is no conversation {session}.")
