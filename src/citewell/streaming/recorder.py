"""Writes the events of this process's streams to the stream log in batches."""

import asyncio
import logging
from contextlib import suppress
from time import monotonic

from citewell.errors import StoreMismatch, StoreUnavailable
from citewell.options import StreamOptions
from citewell.storage.stream_log import Batch, Frame, StreamLog

LOG = logging.getLogger("citewell.streaming")
HEARTBEAT_SECONDS = 1.0
BATCH_SECONDS = 0.05
"""How long events are collected before a write: most of the cost is per transaction."""
PURGE_SECONDS = 60.0


class Recorder:
    """The only writer for all streams; it collects the next batch while it writes one."""

    def __init__(self, log: StreamLog, options: StreamOptions) -> None:
        """Prepare to write to `log` without opening it."""
        self._log = log
        self._options = options
        self._batch = Batch()
        self._active: set[str] = set()
        self._incomplete: set[str] = set()
        """Streams with events that could not be written."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._opened = self._closing = False
        self._last_heartbeat = self._last_purge = 0.0

    async def open(self) -> None:
        """Start the background task."""
        await self._flush()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Write the remaining events and stop."""
        # Do not cancel the task while it writes: an open transaction would lock others out.
        self._closing = True
        self._wake.set()
        if self._task:
            await self._task
        await self._flush()
        await self._log.close()

    def add_stream(self, stream_id: str, owner: str) -> None:
        """Record the start of a stream."""
        self._batch.started.append((stream_id, owner))
        self._active.add(stream_id)
        self._wake.set()

    def add_frame(self, stream_id: str, frame: Frame) -> None:
        """Record an event."""
        self._batch.frames.append((stream_id, frame))
        self._wake.set()

    def add_end(self, stream_id: str, outcome: str) -> None:
        """Record the end of a stream, as `done` or `error`."""
        self._batch.ended.append((stream_id, outcome))
        self._active.discard(stream_id)
        self._wake.set()

    async def _run(self) -> None:
        while not self._closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._wake.wait()
                    await asyncio.sleep(BATCH_SECONDS)
            self._wake.clear()
            await self._flush()

    async def _flush(self) -> None:
        """Write the batch, or drop it: readers of this process have the events in memory."""
        batch, self._batch = self._batch.without(self._incomplete), Batch()
        now = monotonic()
        if self._active and now - self._last_heartbeat >= HEARTBEAT_SECONDS:
            self._last_heartbeat, batch.alive = now, list(self._active - self._incomplete)
        try:
            if not self._opened:
                await self._log.open()
                self._opened = True
            if batch:
                await self._log.write(batch)
                batch = Batch()
            if now - self._last_purge >= PURGE_SECONDS:
                self._last_purge = now
                keep = self._options.keep_seconds
                await self._log.purge(after_end=keep, after_start=keep + self._options.max_seconds)
        except (StoreMismatch, StoreUnavailable) as error:
            # Stop writing these streams: readers elsewhere could not detect the gap. Without
            # heartbeats they are told that the answer was interrupted.
            self._incomplete |= batch.streams
            LOG.warning("events of streams are not stored: %s", error)
        self._incomplete &= self._active | self._batch.streams
