"""Keeping an answer, or going on without: a store that is down must not silence the book."""

import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from quire.answer.work import Work
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


async def unless_down(work: Work, call: Awaitable[T]) -> T | None:
    """Give what the store gives; nothing if it is down, and the answer will say so."""
    try:
        return await call
    except StoreUnavailable as error:
        if work.kept:
            LOG.warning("answer %s is not kept: %s", work.answer_id, error.__cause__ or error)
        work.note("not_kept")
        return None
