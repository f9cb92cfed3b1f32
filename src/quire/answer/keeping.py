"""Keeping an answer, or going on without: a store that is down must not silence the book."""

import logging
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4

from quire.answer.work import Work
from quire.conversation import Beginning, Message
from quire.domain import Answer, Question
from quire.errors import StoreUnavailable
from quire.ports import ThreadStore

LOG = logging.getLogger("quire.answer")
T = TypeVar("T")


@asynccontextmanager
async def logged(threads: ThreadStore, work: Work) -> AsyncIterator[None]:
    """Log the answer while it is made, as far as there is a store."""
    async with AsyncExitStack() as held:
        entry = threads.answering(work.log_entry())
        await unless_down(work, held.enter_async_context(entry))
        yield


async def keep(
    threads: ThreadStore,
    answer: Answer,
    question: Question,
    record: Mapping[str, Any],
    *,
    received_at: datetime,
) -> None:
    """Append a question, dated when it was sent, and its answer, dated when it was finished."""
    asked = Message(
        id=str(uuid4()),
        role="user",
        content=answer.question,
        created_at=question.sent_at or received_at,
    )
    said = Message(
        id=answer.id,
        role="assistant",
        content=answer.text,
        created_at=answer.created_at,
        confidence=answer.confidence.average_similarity,
        record=record,
    )
    await threads.append(
        answer,
        (asked, said),
        owner=question.owner,
        contract=question.contract,
        beginning=Beginning(
            at=received_at, opens_by_id=question.opens_by_id, metadata=question.metadata
        ),
    )


async def unless_down(work: Work, call: Awaitable[T]) -> T | None:
    """Give what the store gives; nothing if it is down, and the answer will say so."""
    try:
        return await call
    except StoreUnavailable as error:
        if work.kept:
            LOG.warning("answer %s is not kept: %s", work.answer_id, error.__cause__ or error)
        work.note("not_kept")
        return None
