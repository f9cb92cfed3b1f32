"""The background task that keeps conversations in order while the service runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from citewell.errors import StoreUnavailable
from citewell.options import ThreadOptions
from citewell.storage.maintenance import deactivate_idle, mark_unfinished, purge
from citewell.storage.threads import SqlThreadStore

LOG = logging.getLogger("citewell.storage")
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What one round changed."""

    deactivated: int
    purged: int
    unfinished: int


async def sweep(store: SqlThreadStore, options: ThreadOptions) -> SweepResult:
    """Go round once: whoever is due rests or goes, and what dead processes left is marked.

    Of all processes with the same database, one does it, for as long as it lives.
    """
    days = options.purge_after_days
    await store.note_delivered()
    await store.alive.renew()
    if not await store.alive.is_leader():
        return SweepResult(0, 0, 0)  # another process does it for all
    now, rules = store.clock(), store.rules
    return SweepResult(
        deactivated=await deactivate_idle(store.database, now, rules),
        purged=await purge(store.database, now, timedelta(days=days) if days else None, rules),
        unfinished=await mark_unfinished(store.database, store.alive),
    )


@asynccontextmanager
async def run_sweeper(
    store: SqlThreadStore, options: ThreadOptions, pause: Sleep = asyncio.sleep
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
