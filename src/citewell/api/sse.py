"""Serves any contract twice over one pipeline: whole, and streamed."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from citewell.api.contract import Contract, ServerSentEvent
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import attach_caller, caller_of, owner_of
from citewell.api.problems import problem_from_error, request_id_of
from citewell.api.schemas import Uuid4
from citewell.domain import Answer
from citewell.errors import AnswerTimedOut, CitewellError, UnknownStream
from citewell.events import Done, Event, Failed, Started
from citewell.ports import Answerer
from citewell.streaming.hub import EventEncoder, FrameIterator, StreamHub

READER_TOKEN_FIELD = "reader_token"  # noqa: S105 - the name of a field
CLIENT_CLOSED_REQUEST = 499
"""What the log shows for a reader who did not wait; nobody gets it."""
LastEventId = Annotated[
    str | None,
    Header(
        description="The id of the last event that was seen: the stream that it belongs to goes on "
        "behind it, and the body does not count.",
        max_length=100,
    ),
]


async def collect_answer(events: AsyncGenerator[Event, None]) -> Answer:
    """Run the events to their end and give the answer."""
    answer: Answer | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                answer = event.answer
    assert answer is not None, "the pipeline ended without `Done`"
    return answer


async def collect_unless_disconnected(
    request: Request, events: AsyncGenerator[Event, None], seconds: float
) -> Answer | None:
    """Return the answer; `None` for a reader who leaves before it is there.

    Raises:
        AnswerTimedOut: it is not there after so many seconds.
    """
    work = asyncio.create_task(collect_answer(events))
    gone = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait((work, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        if gone.done():
            return None
        raise AnswerTimedOut(f"No answer within {seconds:g} seconds.")
    finally:
        work.cancel()
        gone.cancel()
        await asyncio.wait((work, gone))


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def make_event_encoder(
    contract: Contract[Any, Any], request_id: str, token: str = ""
) -> EventEncoder:
    """Return what writes events in the dialect; failures have the one shape where it has none.

    A reader who was given a `token` just now finds it in the first event and in the last.
    """
    told = (
        {READER_TOKEN_FIELD: token}
        if token and READER_TOKEN_FIELD in contract.response.model_fields
        else {}
    )

    def write(event: Event) -> tuple[str, str] | None:
        said = contract.event(event)
        if said is None and isinstance(event, Failed):
            said = ServerSentEvent("error", problem_from_error(event.error, request_id))
        elif said and told and isinstance(event, Started | Done):
            said = ServerSentEvent(said.event, said.data | told)
        return (said.event, json.dumps(said.data, ensure_ascii=False)) if said else None

    return write


ContractBinding = tuple[Contract[Any, Any], Answerer]
"""A contract, and who answers in it."""


def mount_contract(
    contract: Contract[Any, Any],
    answerer: Answerer | None,
    streams: StreamHub,
    *,
    chosen: Callable[..., ContractBinding] | None = None,
) -> APIRouter:
    """Make the two routes of a contract; `chosen` finds, by the path, who is meant to answer."""
    meant = Annotated[Any, Depends(chosen or (lambda: (contract, answerer)))]
    router = APIRouter(tags=[contract.name], dependencies=[require_scope("ask")])
    request_model = contract.request
    streamed_docs = stream_responses("The answer as server-sent events")
    # A whole answer is streamed where its request can ask for that.
    whole_docs = streamed_docs if "stream" in request_model.model_fields else None

    async def stream(
        by: ContractBinding, body: Any, request: Request, last: str | None
    ) -> Response:
        write = make_event_encoder(by[0], request_id_of(request), caller_of(request).issued_token)
        if last is not None:
            return await resume_stream(streams, last, request, write)
        return await send_stream(streams, _events(by, body, request), request, write)

    @router.post(contract.whole_path, response_model=contract.response, responses=whole_docs)
    async def whole(
        body: request_model,  # type: ignore[valid-type]
        request: Request,
        by: meant,
        last_event_id: LastEventId = None,
    ) -> Any:
        contract, _ = by
        if contract.streams(body):
            return await stream(by, body, request, last_event_id)
        events = _events(by, body, request)
        answer = await collect_unless_disconnected(request, events, streams.options.max_seconds)
        if not answer:
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        return _told(contract.reply(answer), request)

    @router.post(contract.stream_path, response_class=EventStreamResponse, responses=streamed_docs)
    async def streamed(
        body: request_model,  # type: ignore[valid-type]
        request: Request,
        by: meant,
        last_event_id: LastEventId = None,
    ) -> Any:
        return await stream(by, body, request, last_event_id)

    return router


def _events(by: ContractBinding, body: Any, request: Request) -> AsyncGenerator[Event, None]:
    contract, answerer = by
    return answerer.answer(attach_caller(caller_of(request), contract.question(body)))


def _told(reply: BaseModel, request: Request) -> BaseModel:
    """Return a reply that tells a reader who sent no token which one to send."""
    token = caller_of(request).issued_token
    known = token and READER_TOKEN_FIELD in type(reply).model_fields
    return reply.model_copy(update={READER_TOKEN_FIELD: token}) if known else reply


MAX_EVENT_ID_DIGITS = 9
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


def stream_responses(said: str) -> dict[int | str, dict[str, Any]]:
    """Describe what a route that streams may answer."""
    return {
        200: {"description": said, "content": {"text/event-stream": {"schema": _EVENT}}},
        204: {"description": "The stream has ended, and all of it was seen"},
    }


class EventStreamResponse(StreamingResponse):
    """A response of server-sent events, whose stream knows at once when the reader is gone.

    FastAPI's own class makes the route a generator, and then a failure before the first event could
    no longer have its status.
    """

    media_type = "text/event-stream"

    def __init__(
        self, frames: FrameIterator, written: AsyncIterator[bytes], status_code: int = 200
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
    streams: StreamHub, events: AsyncGenerator[Event, None], request: Request, write: EventEncoder
) -> Response:
    """Start the pipeline; a failure before the first event still has its own status."""
    identity, frames = await streams.begin(events, write, owner_of(request) or "")
    return EventStreamResponse(frames, _encode_frames(identity, frames, 0, write))


async def resume_stream(
    streams: StreamHub, last: str, request: Request, write: EventEncoder
) -> Response:
    """Go on with a stream behind the event that the reader saw last."""
    identity, number = _parse_event_id(last)
    frames = await streams.resume(identity, number, owner_of(request) or "")
    if frames is None:
        # Also what tells an EventSource not to come again.
        return Response(status_code=204)
    return EventStreamResponse(frames, _encode_frames(identity, frames, number, write))


def streams_router(streams: StreamHub) -> APIRouter:
    """Make the route `/streams/{id}`, for readers that cannot send a POST twice."""
    router = APIRouter(tags=["streams"], dependencies=[require_scope("ask")])

    @router.get(
        "/streams/{stream_id}",
        response_class=EventStreamResponse,
        responses=stream_responses(
            "The events of the answer, in the contract that it was asked by"
        ),
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
        if _parse_event_id(last)[0] != stream_id:
            raise UnknownStream(f"The event {last} is not one of the stream {stream_id}.")
        return await resume_stream(streams, last, request, _make_encoder(request_id_of(request)))

    return router


def _parse_event_id(event_id: str) -> tuple[str, int]:
    """Read the stream and the number out of an event's id."""
    identity, _, number = event_id.rpartition(":")
    counted = number.isascii() and number.isdecimal() and len(number) <= MAX_EVENT_ID_DIGITS
    if not identity or not identity.isprintable() or not counted:
        raise UnknownStream(f"There is no event {event_id!r} to go on behind.")
    return identity, int(number)


def _make_encoder(request_id: str) -> EventEncoder:
    def write(event: Event) -> tuple[str, str] | None:
        if isinstance(event, Failed):
            return "error", json.dumps(problem_from_error(event.error, request_id))
        return None

    return write


async def _encode_frames(
    identity: str, frames: FrameIterator, number: int, write: EventEncoder
) -> AsyncIterator[bytes]:
    try:
        async for frame in frames:
            if frame is None:
                yield format_sse_event(comment="still working")
                continue
            number = frame.number
            yield format_sse_event(
                data_str=frame.data, event=frame.event, id=f"{identity}:{number}"
            )
    except CitewellError as error:  # the answer is made elsewhere, and can be followed no longer
        if said := write(Failed(error)):
            name, data = said
            yield format_sse_event(data_str=data, event=name, id=f"{identity}:{number + 1}")
