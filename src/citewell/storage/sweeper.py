"""The background task that applies the retention policies while the service runs."""

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
    """How many rows one sweep changed."""

    deactivated: int
    purged: int
    unfinished: int


async def sweep(store: SqlThreadStore, options: ThreadOptions) -> SweepResult:
    """Deactivate and delete idle threads, and mark the answers of dead processes.

    Only the leader among the processes that share the database does so.
    """
    days = options.purge_after_days
    await store.flush_delivered()
    await store.lease.renew()
    if not await store.lease.is_leader():
        return SweepResult(0, 0, 0)
    now, policies = store.clock(), store.policies
    return SweepResult(
        deactivated=await deactivate_idle(store.database, now, policies),
        purged=await purge(store.database, now, timedelta(days=days) if days else None, policies),
        unfinished=await mark_unfinished(store.database, store.lease),
    )


@asynccontextmanager
async def run_sweeper(
    store: SqlThreadStore, options: ThreadOptions, sleep: Sleep = asyncio.sleep
) -> AsyncIterator[None]:
    """Sweep periodically until the context exits."""

    async def run() -> None:
        while True:
            try:
                swept = await sweep(store, options)
            except StoreUnavailable as error:
                LOG.warning("Sweeping conversations failed: %s", error)
            else:
                LOG.debug("Swept conversations: %s", swept)
            await sleep(options.sweep_seconds)

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
