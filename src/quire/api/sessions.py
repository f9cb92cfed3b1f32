"""Conversations as each contract sees them: its rules kept, and its own view served."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from quire.api.callers import Visible
from quire.api.contract import Clock, Remembering
from quire.api.door import needs
from quire.conversation import Caller, Thread, rules_of
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
        if question.thread_id is None:
            return question
        try:
            thread_id = await self._threads.resume(
                question.thread_id, owner=question.owner, contract=question.contract
            )
        except StoreUnavailable:
            return question  # whether it can be answered without the store, the answerer knows
        return replace(question, thread_id=thread_id)


def sessions_router(contract: Remembering, store: ThreadStore, clock: Clock) -> APIRouter:
    """Make the routes that read and delete the conversations of a contract."""
    router = APIRouter(tags=[contract.name], dependencies=[needs("ask")])
    (name,) = re.findall(r"{(\w+)}", contract.session_path)
    live = rules_of(contract.name).live_messages
    identity: Any = Annotated[
        contract.session_id, Path(alias=name, description="The conversation's id.")
    ]

    async def find(session: str, last: int, visible: Caller) -> Thread:
        thread = await store.load(session, last=last, owner=visible)
        if thread is None or thread.contract != contract.name:
            raise unknown(session)
        return thread

    @router.get(contract.session_path, response_model=contract.session)
    async def read_session(session: identity, visible: Visible) -> Any:
        """Read one conversation."""
        return contract.show(await find(session, live, visible), clock())

    @router.delete(contract.session_path, status_code=204)
    async def delete_session(session: identity, visible: Visible) -> Response:
        """Delete one conversation and everything in it."""
        await store.delete((await find(session, 1, visible)).id, owner=visible)
        return Response(status_code=204)

    return router


def unknown(session: str) -> UnknownThread:
    """Say that a contract has no such conversation."""
    return UnknownThread(f"There is no conversation {session}.")
