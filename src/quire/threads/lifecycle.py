"""The background task that keeps conversations in order while the service runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from quire.errors import StoreUnavailable
from quire.threads.options import ThreadOptions
from quire.threads.store import SqlThreadStore
from quire.threads.upkeep import mark_unfinished, purge, rest

LOG = logging.getLogger("quire.threads")
Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Swept:
    """What one round changed."""

    rested: int
    purged: int
    unfinished: int


async def sweep(store: SqlThreadStore, options: ThreadOptions) -> Swept:
    """Go round once: whoever is due rests or goes, and what dead processes left is marked.

    Of all processes with the same database, one does it, for as long as it lives.
    """
    days = options.purge_after_days
    await store.note_delivered()
    await store.alive.renew()
    if not await store.alive.leads():
        return Swept(0, 0, 0)  # another process does it for all
    now, rules = store.clock(), store.rules
    return Swept(
        rested=await rest(store.database, now, rules),
        purged=await purge(store.database, now, timedelta(days=days) if days else None, rules),
        unfinished=await mark_unfinished(store.database, store.alive),
    )


@asynccontextmanager
async def kept_in_order(
    store: SqlThreadStore, options: ThreadOptions, pause: Pause = asyncio.sleep
) -> AsyncIterator[None]:
    """Sweep again and again for as long as the context lasts."""

    async def run() -> None:
        while True:
            try:
                swept = await sweep(store, options)
            except StoreUnavailable as error:
                LOG.warning("conversations were not swept: %s", error)
            else:
                LOG.debug("conversations were swept: %s", swept)
            await pause(options.sweep_seconds)

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
