"""Answers that are being made in this process, for readers who come and go."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from time import monotonic
from types import TracebackType
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
MAX_UNREAD = 256
"""An answer waits while its reader is so many events behind."""
POLL_SECONDS = 0.1
"""Seconds between two looks at a stream of another process."""
FIND_ATTEMPTS = 10
"""So often is looked for a stream that its reader may know before it is written down."""
MAX_FINISHED_IN_MEMORY = 64
"""Finished streams that this process can give again without the database."""

EventEncoder = Callable[[Event], tuple[str, str] | None]
"""Returns the name and the data of an event on the wire, or `None` to leave it out."""
AnswerExists = Callable[[str], Awaitable[bool]]
"""Tells whether the answer of that id is still there: deleted means gone."""


class FrameIterator(Protocol):
    """Events as they come; `None` where it was quiet for long."""

    def __aiter__(self) -> AsyncIterator[Frame | None]:
        """Return them one by one."""
        ...

    async def aclose(self) -> None:
        """Leave."""
        ...


class LiveStream:
    """One answer while it is made: what was sent, and who reads."""

    def __init__(self, owner: str) -> None:
        """Begin with no event and no reader."""
        self.id = ""
        self.owner = owner
        self.sent: Broadcast[Frame] = Broadcast()
        self.readers: set[StreamSubscription] = set()
        self.failure: Exception | None = None
        """Why there is no stream at all."""
        self.ended = ""
        """Empty while it runs, then `done` or `error`."""
        self.ended_at = 0.0
        self.cancel_reason = ""
        """Why the work on it was stopped, if it was."""
        self.abandon_task: asyncio.Task[None] | None = None

    async def put(self, event: str, data: str) -> Frame:
        """Send an event, as soon as a reader has caught up."""
        while self.readers and len(self.sent.items) - self._furthest_position() >= MAX_UNREAD:
            await self.sent.wait_for_change()
        return self.add(event, data)

    def add(self, event: str, data: str) -> Frame:
        """Send an event whoever reads."""
        frame = Frame(len(self.sent.items) + 1, event, data)
        self.sent.publish(frame)
        return frame

    def _furthest_position(self) -> int:
        return max(reader.place for reader in self.readers)


class StreamSubscription:
    """One reader's way through a stream; it counts from the first moment until it is closed."""

    def __init__(
        self, live: LiveStream, after: int, quiet: float, leave: Callable[[LiveStream], None]
    ) -> None:
        """Begin behind the first `after` events; `quiet` seconds without one give `None`."""
        self.place = after
        self._live = live
        self._quiet = quiet
        self._leave = leave
        live.readers.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame | None:
        try:
            async with asyncio.timeout(self._quiet):
                if not await self._live.sent.wait_beyond(self.place):
                    raise StopAsyncIteration
        except TimeoutError:
            return None
        self.place += 1
        self._live.sent.notify()
        return self._live.sent.items[self.place - 1]

    async def aclose(self) -> None:
        """Leave."""
        if self in self._live.readers:
            self._live.readers.remove(self)
            self._live.sent.notify()
            self._leave(self._live)


class StreamHub:
    """The streams of this process, and by way of the journal those of the others."""

    def __init__(
        self, journal: StreamLog, options: StreamOptions, answer_exists: AnswerExists | None = None
    ) -> None:
        """Keep streams in `journal`, and give again those whose answer still `answer_exists`."""
        self._options = options
        self._answer_exists = answer_exists
        self._journal = journal
        self._recorder = Recorder(journal, options)
        self._known: dict[str, LiveStream] = {}
        self._tasks: dict[asyncio.Task[None], LiveStream] = {}
        self._stop_at = 0.0

    @property
    def options(self) -> StreamOptions:
        """How long streams live."""
        return self._options

    async def __aenter__(self) -> Self:
        await self._recorder.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End what still runs, once the time to drain is over."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(0.0, self._stop_at - monotonic()))
        self._interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._recorder.close()

    def drain(self) -> None:
        """Let running answers finish, but not for long."""
        if not self._stop_at:
            self._stop_at = monotonic() + self._options.drain_seconds
            asyncio.get_running_loop().call_later(self._options.drain_seconds, self._interrupt)

    def _interrupt(self) -> None:
        for task, live in list(self._tasks.items()):
            live.cancel_reason = "The service is being restarted, and the answer was not finished."
            task.cancel()

    async def begin(
        self, events: AsyncGenerator[Event, None], write: EventEncoder, owner: str = ""
    ) -> tuple[str, FrameIterator]:
        """Start an answer; give its id, and its events.

        Raises:
            CitewellError: it failed before its first event.
        """
        live = LiveStream(owner)
        reading = self._subscribe(live, 0)
        task = asyncio.create_task(self._run(live, events, write))
        self._tasks[task] = live
        task.add_done_callback(self._tasks.pop)
        try:
            while not live.id and not live.failure:
                await live.sent.wait_for_change()
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        if live.failure:
            raise live.failure
        STREAMS.labels("begun").inc()
        return live.id, reading

    async def resume(self, stream_id: str, after: int, owner: str = "") -> FrameIterator | None:
        """Return the events of a stream beyond the first `after`; `None` if there are no more.

        Raises:
            UnknownStream: there is none, it is somebody else's, or it is no longer kept.
        """
        live = self._known.get(stream_id)
        kept = live or await self._find(stream_id)
        if kept is None or kept.owner != owner:
            raise _unknown_stream(stream_id)
        if (
            kept.ended == "done"
            and self._answer_exists
            and not await self._answer_exists(stream_id)
        ):
            raise _unknown_stream(stream_id)
        STREAMS.labels("resumed").inc()
        if isinstance(kept, LiveStream):
            ended = kept.sent.ended and after >= len(kept.sent.items)
            return None if ended else self._subscribe(kept, after)
        if kept.ended and not await self._journal.read(stream_id, after):
            return None
        return self._follow_remote(stream_id, after)

    async def _find(self, stream_id: str) -> StreamInfo | None:
        """Look for a stream of another process, which may be about to write it down."""
        for _ in range(FIND_ATTEMPTS):
            if kept := await self._journal.find(stream_id):
                return kept
            await asyncio.sleep(POLL_SECONDS)
        return None

    async def _run(
        self, live: LiveStream, events: AsyncGenerator[Event, None], write: EventEncoder
    ) -> None:
        """Run the pipeline; all that it opens is opened and closed in this one task."""
        error: Exception | None = None
        limit = asyncio.timeout(self._options.max_seconds)
        try:
            async with limit, aclosing(events):
                async for event in events:
                    if isinstance(event, Started):
                        self._register(live, event.answer_id)
                    if said := write(event):
                        self._recorder.add_frame(live.id, await live.put(*said))
        except asyncio.CancelledError:
            error = AnswerInterrupted(
                live.cancel_reason or "Nobody was reading the answer any more."
            )
        except Exception as failed:  # noqa: BLE001 - told to the reader in the one shape
            error = failed
            if limit.expired():
                error = AnswerTimedOut(f"No answer within {self._options.max_seconds:g} seconds.")
        self._finish(live, write, error)

    def _register(self, live: LiveStream, identity: str) -> None:
        live.id = identity
        self._known[identity] = live
        self._recorder.add_stream(identity, live.owner)
        live.sent.notify()

    def _finish(self, live: LiveStream, write: EventEncoder, error: Exception | None) -> None:
        if live.abandon_task:
            live.abandon_task.cancel()
        if error and not live.id:
            live.failure = error
            live.sent.notify()
            return
        if error and (said := write(Failed(_known(error, live.id)))):
            self._recorder.add_frame(live.id, live.add(*said))
        live.ended, live.ended_at = "error" if error else "done", monotonic()
        STREAMS.labels(live.ended).inc()
        self._recorder.add_end(live.id, live.ended)
        live.sent.end()
        self._forget()

    def _forget(self) -> None:
        """Let go of the oldest finished streams, and of those that are kept no longer."""
        finished = [one for one in self._known.values() if one.ended]
        oldest = monotonic() - self._options.keep_seconds
        for place, live in enumerate(reversed(finished)):
            if place >= MAX_FINISHED_IN_MEMORY or live.ended_at < oldest:
                del self._known[live.id]

    def _subscribe(self, live: LiveStream, after: int) -> StreamSubscription:
        if live.abandon_task:
            live.abandon_task.cancel()
        return StreamSubscription(
            live, after, self._options.keep_alive_seconds, self._on_unsubscribe
        )

    def _on_unsubscribe(self, live: LiveStream) -> None:
        if not live.readers and not live.ended:
            live.abandon_task = asyncio.create_task(self._cancel_if_abandoned(live))

    async def _cancel_if_abandoned(self, live: LiveStream) -> None:
        """Stop the work for a reader who does not come back, here or to another process."""
        reads = await self._remote_reads(live.id)
        while not live.sent.ended:
            await asyncio.sleep(self._options.grace_seconds)
            now = await self._remote_reads(live.id)
            if now == reads:
                break
            reads = now
        for task, running in list(self._tasks.items()):
            if running is live:
                task.cancel()

    async def _remote_reads(self, stream_id: str) -> int:
        with suppress(StoreUnavailable):
            kept = await self._journal.find(stream_id)
            return kept.reads if kept else 0
        return 0

    async def _follow_remote(
        self, stream_id: str, after: int
    ) -> AsyncGenerator[Frame | None, None]:
        """Follow a stream that another process makes, or made."""
        beats, alive, noted = -1, monotonic(), float("-inf")
        quiet = monotonic()
        while True:
            # First how it stands, then its events: what ended then has them all.
            kept = await self._journal.find(stream_id)
            if kept is None:
                return
            for frame in await self._journal.read(stream_id, after):
                after, quiet = frame.number, monotonic()
                yield frame
            if kept.ended:
                return
            now = monotonic()
            if kept.heartbeats != beats:
                beats, alive = kept.heartbeats, now
            elif now - alive > self._options.lost_seconds:
                raise AnswerInterrupted("The process that was making the answer has stopped.")
            if now - noted > self._options.grace_seconds / 3:
                noted = now
                await self._journal.record_read(stream_id)
            if now - quiet > self._options.keep_alive_seconds:
                quiet = now
                yield None
            await asyncio.sleep(POLL_SECONDS)


def _unknown_stream(stream_id: str) -> UnknownStream:
    return UnknownStream(f"There is no stream {stream_id}, or it is no longer kept.")


def _known(error: Exception, stream_id: str) -> CitewellError:
    if isinstance(error, CitewellError):
        return error
    LOG.error("unexpected error in the stream %s", stream_id, exc_info=error)
    return CitewellError("Something went wrong on our side.")
