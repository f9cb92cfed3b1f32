"""Writes the events of this process's streams into the journal, many at a time."""

import asyncio
import logging
from contextlib import suppress
from time import monotonic

from citewell.errors import StoreMismatch, StoreUnavailable
from citewell.options import StreamOptions
from citewell.storage.stream_log import Batch, Frame, StreamLog

LOG = logging.getLogger("citewell.streaming")
HEARTBEAT_SECONDS = 1.0
"""Seconds between two signs of life."""
BATCH_SECONDS = 0.05
"""Seconds in which events gather: a transaction costs more than what is in it."""
PURGE_SECONDS = 60.0
"""Seconds between two looks for what need not be kept."""


class Recorder:
    """One writer for all streams: while it writes, the next batch gathers."""

    def __init__(self, journal: StreamLog, options: StreamOptions) -> None:
        """Write to `journal`; nothing is opened yet."""
        self._journal = journal
        self._options = options
        self._batch = Batch()
        self._running: set[str] = set()
        self._incomplete: set[str] = set()
        """Streams of which something could not be written."""
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._opened = self._closing = False
        self._last_heartbeat = self._last_purge = 0.0

    async def open(self) -> None:
        """Begin to write."""
        await self._flush()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Write what is left."""
        # Never cut off while it writes: the transaction would stay open, and lock the others out.
        self._closing = True
        self._news.set()
        if self._task:
            await self._task
        await self._flush()
        await self._journal.close()

    def add_stream(self, stream_id: str, owner: str) -> None:
        """Note that a stream has begun."""
        self._batch.started.append((stream_id, owner))
        self._running.add(stream_id)
        self._news.set()

    def add_frame(self, stream_id: str, frame: Frame) -> None:
        """Note an event."""
        self._batch.frames.append((stream_id, frame))
        self._news.set()

    def add_end(self, stream_id: str, how: str) -> None:
        """Note that a stream has ended, and how."""
        self._batch.ended.append((stream_id, how))
        self._running.discard(stream_id)
        self._news.set()

    async def _run(self) -> None:
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._news.wait()
                    await asyncio.sleep(BATCH_SECONDS)
            self._news.clear()
            await self._flush()

    async def _flush(self) -> None:
        """Write, or let it be: readers here have the events in memory."""
        batch, self._batch = self._batch.without(self._incomplete), Batch()
        now = monotonic()
        if self._running and now - self._last_heartbeat >= HEARTBEAT_SECONDS:
            self._last_heartbeat, batch.alive = now, list(self._running - self._incomplete)
        try:
            if not self._opened:
                await self._journal.open()
                self._opened = True
            if batch:
                await self._journal.write(batch)
                batch = Batch()
            if now - self._last_purge >= PURGE_SECONDS:
                self._last_purge = now
                kept = self._options.keep_seconds
                await self._journal.purge(ended=kept, started=kept + self._options.max_seconds)
        except (StoreMismatch, StoreUnavailable) as error:
            # What came after a gap would be read elsewhere as if nothing were missing. Without any
            # more signs of life, readers there are told that the answer was interrupted.
            self._incomplete |= batch.streams
            LOG.warning("events of streams are not kept: %s", error)
        self._incomplete &= self._running | self._batch.streams
