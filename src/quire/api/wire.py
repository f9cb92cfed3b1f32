"""Server-sent events over HTTP: begun, resumed, and closed when their reader leaves."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event
from starlette.types import Receive, Scope, Send

from quire.api.callers import owner_of
from quire.api.door import needs
from quire.api.problems import problem_of, request_id_of
from quire.api.sent import Uuid4
from quire.errors import QuireError, UnknownStream
from quire.events import Event, Failed
from quire.streams.live import Frames, Streams, Write

MOST_DIGITS = 9
"""No stream has so many events, and no database counts beyond."""
STREAM_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


_EVENT = {
    "type": "object",
    "description": "One server-sent event; comments between them only keep the connection open.",
    "required": ["event", "data", "id"],
    "properties": {
        "event": {"type": "string", "description": "What it is."},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string", "description": "What `Last-Event-ID` goes on behind."},
    },
}


def streamed_as(said: str) -> dict[int | str, dict[str, Any]]:
    """Describe what a route that streams may answer."""
    return {
        200: {"description": said, "content": {"text/event-stream": {"schema": _EVENT}}},
        204: {"description": "The stream has ended, and all of it was seen"},
    }


class EventStream(StreamingResponse):
    """A response of server-sent events, whose stream knows at once when the reader is gone.

    FastAPI's own class makes the route a generator, and then a failure before the first event could
    no longer have its status.
    """

    media_type = "text/event-stream"

    def __init__(
        self, frames: Frames, written: AsyncIterator[bytes], status_code: int = 200
    ) -> None:
        """Send events as they are `written`, from the frames of a stream."""
        # The status is a parameter because FastAPI reads it there for the documentation.
        super().__init__(written, status_code, STREAM_HEADERS)
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send, and leave the stream however that ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._frames.aclose()


async def send_stream(
    streams: Streams, events: AsyncGenerator[Event, None], request: Request, write: Write
) -> Response:
    """Start the pipeline; a failure before the first event still has its own status."""
    identity, frames = await streams.begin(events, write, owner_of(request) or "")
    return EventStream(frames, _bytes(identity, frames, 0, write))


async def resume_stream(streams: Streams, last: str, request: Request, write: Write) -> Response:
    """Go on with a stream behind the event that the reader saw last."""
    identity, number = _place(last)
    frames = await streams.resume(identity, number, owner_of(request) or "")
    if frames is None:
        # Also what tells an EventSource not to come again.
        return Response(status_code=204)
    return EventStream(frames, _bytes(identity, frames, number, write))


def streams_router(streams: Streams) -> APIRouter:
    """Make the route `/streams/{id}`, for readers that cannot send a POST twice."""
    router = APIRouter(tags=["streams"], dependencies=[needs("ask")])

    @router.get(
        "/streams/{stream_id}",
        response_class=EventStream,
        responses=streamed_as("The events of the answer, in the contract that it was asked by"),
    )
    async def read_stream(
        stream_id: Uuid4,
        request: Request,
        last_event_id: Annotated[
            str | None, Header(description="The id of the last event seen.", max_length=100)
        ] = None,
    ) -> Any:
        """Read a stream by the id of its answer: all of it, or what came after an event."""
        last = last_event_id or f"{stream_id}:0"
        if _place(last)[0] != stream_id:
            raise UnknownStream(f"The event {last} is not one of the stream {stream_id}.")
        return await resume_stream(streams, last, request, _writer(request_id_of(request)))

    return router


def _place(event_id: str) -> tuple[str, int]:
    """Read the stream and the number out of an event's id."""
    identity, _, number = event_id.rpartition(":")
    counted = number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS
    if not identity or not identity.isprintable() or not counted:
        raise UnknownStream(f"There is no event {event_id!r} to go on behind.")
    return identity, int(number)


def _writer(request_id: str) -> Write:
    def write(event: Event) -> tuple[str, str] | None:
        if isinstance(event, Failed):
            return "error", json.dumps(problem_of(event.error, request_id))
        return None

    return write


async def _bytes(identity: str, frames: Frames, number: int, write: Write) -> AsyncIterator[bytes]:
    try:
        async for frame in frames:
            if frame is None:
                yield format_sse_event(comment="still working")
                continue
            number = frame.number
            yield format_sse_event(
                data_str=frame.data, event=frame.event, id=f"{identity}:{number}"
            )
    except QuireError as error:  # the answer is made elsewhere, and can be followed no longer
        if said := write(Failed(error)):
            name, data = said
            yield format_sse_event(data_str=data, event=name, id=f"{identity}:{number + 1}")
