"""Streams answers generated in this process to readers who may disconnect and resume."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from time import monotonic
from typing import Protocol, Self

from citewell.broadcast import Broadcast
from citewell.errors import (
    AnswerInterrupted,
    AnswerTimedOut,
    CitewellError,
    StoreUnavailable,
    UnknownStream,
)
from citewell.events import Event, Failed, Started
from citewell.options import StreamOptions
from citewell.storage.stream_log import Frame, StreamInfo, StreamLog
from citewell.streaming.recorder import Recorder
from citewell.telemetry import STREAMS

LOG = logging.getLogger("citewell.streaming")
MAX_UNREAD_EVENTS = 256
"""An answer is paused while its fastest reader is this many events behind."""
POLL_SECONDS = 0.1
"""Interval for polling a stream of another process."""
FIND_ATTEMPTS = 10
"""How often to look for a stream whose id a reader may have before it is stored."""
MAX_FINISHED_IN_MEMORY = 64
"""Finished streams that this process can replay without the database."""

EventEncoder = Callable[[Event], tuple[str, str] | None]
"""Returns the name and data of an event on the wire, or `None` to skip it."""
AnswerExists = Callable[[str], Awaitable[bool]]
"""Returns whether the answer with this id has not been deleted."""


class FrameIterator(Protocol):
    """An iterator over the events of a stream; it yields `None` as a keep-alive."""

    def __aiter__(self) -> AsyncIterator[Frame | None]:
        """Return the iterator."""
        ...

    async def aclose(self) -> None:
        """Unsubscribe."""
        ...


class LiveStream:
    """The stream of one answer of this process, with its events and readers."""

    def __init__(self, owner: str) -> None:
        """Start with no events and no readers."""
        self.id = ""
        self.owner = owner
        self.frames: Broadcast[Frame] = Broadcast()
        self.readers: set[StreamSubscription] = set()
        self.failure: Exception | None = None
        """The error that occurred before the first event."""
        self.ended = ""
        """Empty while the answer is generated, then `done` or `error`."""
        self.ended_at = 0.0
        self.cancel_reason = ""
        """Why the answer was cancelled, if it was."""
        self.abandon_task: asyncio.Task[None] | None = None

    async def put(self, event: str, data: str) -> Frame:
        """Append an event once a reader has caught up."""
        while self.readers and self._unread() >= MAX_UNREAD_EVENTS:
            await self.frames.wait_for_change()
        return self.add(event, data)

    def add(self, event: str, data: str) -> Frame:
        """Append an event without waiting for readers."""
        frame = Frame(len(self.frames.items) + 1, event, data)
        self.frames.publish(frame)
        return frame

    def _unread(self) -> int:
        return len(self.frames.items) - max(reader.position for reader in self.readers)


class StreamSubscription:
    """A reader's position in a stream; the reader is registered until it is closed."""

    def __init__(
        self,
        stream: LiveStream,
        after: int,
        keep_alive_seconds: float,
        on_close: Callable[[LiveStream], None],
    ) -> None:
        """Start after the first `after` events; yield `None` after `keep_alive_seconds` idle."""
        self.position = after
        self._stream = stream
        self._keep_alive_seconds = keep_alive_seconds
        self._on_close = on_close
        stream.readers.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame | None:
        try:
            async with asyncio.timeout(self._keep_alive_seconds):
                if not await self._stream.frames.wait_for_item(self.position):
                    raise StopAsyncIteration
        except TimeoutError:
            return None
        self.position += 1
        self._stream.frames.notify()
        return self._stream.frames.items[self.position - 1]

    async def aclose(self) -> None:
        """Unsubscribe."""
        if self in self._stream.readers:
            self._stream.readers.remove(self)
            self._stream.frames.notify()
            self._on_close(self._stream)


class StreamHub:
    """The streams of this process and, through the stream log, of other processes."""

    def __init__(
        self, log: StreamLog, options: StreamOptions, answer_exists: AnswerExists | None = None
    ) -> None:
        """Store streams in `log`; finished ones can be resumed while their answer exists."""
        self._options = options
        self._answer_exists = answer_exists
        self._log = log
        self._recorder = Recorder(log, options)
        self._streams: dict[str, LiveStream] = {}
        self._tasks: dict[asyncio.Task[None], LiveStream] = {}
        self._drain_deadline = 0.0

    @property
    def options(self) -> StreamOptions:
        """The timeouts and lifetimes of streams."""
        return self._options

    async def __aenter__(self) -> Self:
        await self._recorder.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Interrupt answers that still run after the drain deadline."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(0.0, self._drain_deadline - monotonic()))
        self._interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._recorder.close()

    def drain(self) -> None:
        """Start the drain period, after which running answers are interrupted."""
        if not self._drain_deadline:
            self._drain_deadline = monotonic() + self._options.drain_seconds
            asyncio.get_running_loop().call_later(self._options.drain_seconds, self._interrupt)

    def _interrupt(self) -> None:
        for task, stream in list(self._tasks.items()):
            stream.cancel_reason = (
                "The service is being restarted, and the answer was not finished."
            )
            task.cancel()

    async def start(
        self, events: AsyncGenerator[Event, None], encode: EventEncoder, owner: str = ""
    ) -> tuple[str, FrameIterator]:
        """Start an answer and return its id and events.

        Raises:
            CitewellError: The answer failed before its first event.
        """
        stream = LiveStream(owner)
        subscription = self._subscribe(stream, 0)
        task = asyncio.create_task(self._run(stream, events, encode))
        self._tasks[task] = stream
        task.add_done_callback(self._tasks.pop)
        try:
            while not stream.id and not stream.failure:
                await stream.frames.wait_for_change()
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        if stream.failure:
            raise stream.failure
        STREAMS.labels("begun").inc()
        return stream.id, subscription

    async def resume(self, stream_id: str, after: int, owner: str = "") -> FrameIterator | None:
        """Return the events of a stream after the first `after`; `None` if there are no more.

        Raises:
            UnknownStream: The stream does not exist, has expired, or has another owner.
        """
        stream = self._streams.get(stream_id) or await self._find(stream_id)
        if stream is None or stream.owner != owner:
            raise _unknown_stream(stream_id)
        if (
            stream.ended == "done"
            and self._answer_exists
            and not await self._answer_exists(stream_id)
        ):
            raise _unknown_stream(stream_id)
        STREAMS.labels("resumed").inc()
        if isinstance(stream, LiveStream):
            ended = stream.frames.ended and after >= len(stream.frames.items)
            return None if ended else self._subscribe(stream, after)
        if stream.ended and not await self._log.read(stream_id, after):
            return None
        return self._follow_other_process(stream_id, after)

    async def _find(self, stream_id: str) -> StreamInfo | None:
        """Look for a stream of another process, which may be about to store it."""
        for _ in range(FIND_ATTEMPTS):
            if info := await self._log.find(stream_id):
                return info
            await asyncio.sleep(POLL_SECONDS)
        return None

    async def _run(
        self, stream: LiveStream, events: AsyncGenerator[Event, None], encode: EventEncoder
    ) -> None:
        """Run the pipeline in one task, since context managers must close where they opened."""
        error: Exception | None = None
        timeout = asyncio.timeout(self._options.max_seconds)
        try:
            async with timeout, aclosing(events):
                async for event in events:
                    if isinstance(event, Started):
                        self._register(stream, event.answer_id)
                    if encoded := encode(event):
                        self._recorder.add_frame(stream.id, await stream.put(*encoded))
        except asyncio.CancelledError:
            error = AnswerInterrupted(
                stream.cancel_reason or "Nobody was reading the answer any more."
            )
        except Exception as failure:  # noqa: BLE001 - streamed to the reader
            error = failure
            if timeout.expired():
                error = AnswerTimedOut(f"No answer within {self._options.max_seconds:g} seconds.")
        self._finish(stream, encode, error)

    def _register(self, stream: LiveStream, stream_id: str) -> None:
        stream.id = stream_id
        self._streams[stream_id] = stream
        self._recorder.add_stream(stream_id, stream.owner)
        stream.frames.notify()

    def _finish(self, stream: LiveStream, encode: EventEncoder, error: Exception | None) -> None:
        if stream.abandon_task:
            stream.abandon_task.cancel()
        if error and not stream.id:
            stream.failure = error
            stream.frames.notify()
            return
        if error and (encoded := encode(Failed(_to_citewell_error(error, stream.id)))):
            self._recorder.add_frame(stream.id, stream.add(*encoded))
        stream.ended, stream.ended_at = "error" if error else "done", monotonic()
        STREAMS.labels(stream.ended).inc()
        self._recorder.add_end(stream.id, stream.ended)
        stream.frames.end()
        self._evict_finished()

    def _evict_finished(self) -> None:
        """Remove expired streams from memory, and the oldest beyond the limit."""
        finished = [stream for stream in self._streams.values() if stream.ended]
        expired_before = monotonic() - self._options.keep_seconds
        for position, stream in enumerate(reversed(finished)):
            if position >= MAX_FINISHED_IN_MEMORY or stream.ended_at < expired_before:
                del self._streams[stream.id]

    def _subscribe(self, stream: LiveStream, after: int) -> StreamSubscription:
        if stream.abandon_task:
            stream.abandon_task.cancel()
        return StreamSubscription(
            stream, after, self._options.keep_alive_seconds, self._on_unsubscribe
        )

    def _on_unsubscribe(self, stream: LiveStream) -> None:
        if not stream.readers and not stream.ended:
            stream.abandon_task = asyncio.create_task(self._cancel_if_abandoned(stream))

    async def _cancel_if_abandoned(self, stream: LiveStream) -> None:
        """Cancel the answer if no reader returns, here or at another process."""
        count = await self._read_count(stream.id)
        while not stream.frames.ended:
            await asyncio.sleep(self._options.grace_seconds)
            new_count = await self._read_count(stream.id)
            if new_count == count:
                break
            count = new_count
        for task, running in list(self._tasks.items()):
            if running is stream:
                task.cancel()

    async def _read_count(self, stream_id: str) -> int:
        """Return how often readers at other processes have polled the stream."""
        with suppress(StoreUnavailable):
            info = await self._log.find(stream_id)
            return info.reads if info else 0
        return 0

    async def _follow_other_process(
        self, stream_id: str, after: int
    ) -> AsyncGenerator[Frame | None, None]:
        """Yield the events of a stream of another process from the log."""
        beats, last_beat, last_recorded = -1, monotonic(), float("-inf")
        last_yield = monotonic()
        while True:
            # State before events: a stream that has ended by now has all its events in the log.
            info = await self._log.find(stream_id)
            if info is None:
                return
            for frame in await self._log.read(stream_id, after):
                after, last_yield = frame.number, monotonic()
                yield frame
            if info.ended:
                return
            now = monotonic()
            if info.heartbeats != beats:
                beats, last_beat = info.heartbeats, now
            elif now - last_beat > self._options.lost_seconds:
                raise AnswerInterrupted("The process that generated the answer has stopped.")
            if now - last_recorded > self._options.grace_seconds / 3:
                last_recorded = now
                await self._log.record_read(stream_id)
            if now - last_yield > self._options.keep_alive_seconds:
                last_yield = now
                yield None
            await asyncio.sleep(POLL_SECONDS)


def _unknown_stream(stream_id: str) -> UnknownStream:
    return UnknownStream(f"There is no stream {stream_id}, or it has expired.")


def _to_citewell_error(error: Exception, stream_id: str) -> CitewellError:
    if isinstance(error, CitewellError):
        return error
    LOG.error("unexpected error in the stream %s", stream_id, exc_info=error)
    return CitewellError("Something went wrong on our side.")
