"""Routes for complete and for streamed answers, shared by all contracts."""

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
"""The status in the log for a client that disconnected."""
LastEventId = Annotated[
    str | None,
    Header(
        description="The id of the last event received. Its stream resumes after that event, and "
        "the body is ignored.",
        max_length=100,
    ),
]


async def collect_answer(events: AsyncGenerator[Event, None]) -> Answer:
    """Consume the events and return the answer."""
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
    """Return the answer, or `None` if the client disconnects first.

    Raises:
        AnswerTimedOut: The answer takes longer than `seconds`.
    """
    answer = asyncio.create_task(collect_answer(events))
    disconnect = asyncio.create_task(_wait_for_disconnect(request))
    tasks = (answer, disconnect)
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        if disconnect.done():
            return None
        raise AnswerTimedOut(f"No answer within {seconds:g} seconds.")
    finally:
        answer.cancel()
        disconnect.cancel()
        await asyncio.wait(tasks)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def contract_encoder(
    contract: Contract[Any, Any], request_id: str, token: str = ""
) -> EventEncoder:
    """Return an encoder for the events of a contract; errors become problems by default.

    A newly issued reader `token` is added to the first and the last event.
    """
    token_field = (
        {READER_TOKEN_FIELD: token}
        if token and READER_TOKEN_FIELD in contract.response.model_fields
        else {}
    )

    def encode(event: Event) -> tuple[str, str] | None:
        sse = contract.event(event)
        if sse is None and isinstance(event, Failed):
            sse = ServerSentEvent("error", problem_from_error(event.error, request_id))
        elif sse and token_field and isinstance(event, Started | Done):
            sse = ServerSentEvent(sse.event, sse.data | token_field)
        return (sse.event, json.dumps(sse.data, ensure_ascii=False)) if sse else None

    return encode


Binding = tuple[Contract[Any, Any], Answerer]
"""A contract and its answerer."""


def mount_contract(
    contract: Contract[Any, Any],
    answerer: Answerer | None,
    streams: StreamHub,
    *,
    select_binding: Callable[..., Binding] | None = None,
) -> APIRouter:
    """Return the router of a contract; `select_binding` may depend on the path."""
    binding_dependency = Annotated[Any, Depends(select_binding or (lambda: (contract, answerer)))]
    router = APIRouter(tags=[contract.name], dependencies=[require_scope("ask")])
    request_model = contract.request
    stream_docs = stream_responses("The answer as server-sent events")
    # A request with the field `stream` can ask for a stream on either path.
    docs = stream_docs if "stream" in request_model.model_fields else None

    async def stream(
        binding: Binding, body: Any, request: Request, last_event_id: str | None
    ) -> Response:
        token = caller_of(request).issued_token
        encode = contract_encoder(binding[0], request_id_of(request), token)
        if last_event_id is not None:
            return await resume_stream(streams, last_event_id, request, encode)
        return await start_stream(streams, _events(binding, body, request), request, encode)

    @router.post(contract.complete_response_path, response_model=contract.response, responses=docs)
    async def whole(
        body: request_model,  # type: ignore[valid-type]
        request: Request,
        binding: binding_dependency,
        last_event_id: LastEventId = None,
    ) -> Any:
        contract, _ = binding
        if contract.wants_stream(body):
            return await stream(binding, body, request, last_event_id)
        events = _events(binding, body, request)
        answer = await collect_unless_disconnected(request, events, streams.options.max_seconds)
        if not answer:
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        return _add_reader_token(contract.reply(answer), request)

    @router.post(contract.stream_path, response_class=EventStreamResponse, responses=stream_docs)
    async def streamed(
        body: request_model,  # type: ignore[valid-type]
        request: Request,
        binding: binding_dependency,
        last_event_id: LastEventId = None,
    ) -> Any:
        return await stream(binding, body, request, last_event_id)

    return router


def _events(binding: Binding, body: Any, request: Request) -> AsyncGenerator[Event, None]:
    contract, answerer = binding
    return answerer.answer(attach_caller(caller_of(request), contract.question(body)))


def _add_reader_token(reply: BaseModel, request: Request) -> BaseModel:
    """Add a newly issued reader token to a response that has a field for it."""
    token = caller_of(request).issued_token
    has_field = token and READER_TOKEN_FIELD in type(reply).model_fields
    return reply.model_copy(update={READER_TOKEN_FIELD: token}) if has_field else reply


MAX_EVENT_ID_DIGITS = 9
"""Keeps event numbers within a 32-bit integer of the database."""
STREAM_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
_EVENT_SCHEMA = {
    "type": "object",
    "description": "A server-sent event; comments between events keep the connection open.",
    "required": ["event", "data", "id"],
    "properties": {
        "event": {"type": "string", "description": "The type of the event."},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string", "description": "Send it as `Last-Event-ID` to resume after it."},
    },
}


def stream_responses(description: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a route that streams."""
    schema = {"text/event-stream": {"schema": _EVENT_SCHEMA}}
    return {
        200: {"description": description, "content": schema},
        204: {"description": "The stream has ended, and every event was received"},
    }


class EventStreamResponse(StreamingResponse):
    """A response of server-sent events that unsubscribes as soon as the client disconnects.

    FastAPI's own class turns the route into a generator, so that an error before the first event
    could not have its own status.
    """

    media_type = "text/event-stream"

    def __init__(
        self, frames: FrameIterator, encoded: AsyncIterator[bytes], status_code: int = 200
    ) -> None:
        """Send the `encoded` frames of a stream."""
        # FastAPI reads the parameter's default status for the OpenAPI document.
        super().__init__(encoded, status_code, STREAM_HEADERS)
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, and always unsubscribe at the end."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._frames.aclose()


async def start_stream(
    streams: StreamHub, events: AsyncGenerator[Event, None], request: Request, encode: EventEncoder
) -> Response:
    """Start an answer; an error before the first event is raised with its own status."""
    stream_id, frames = await streams.start(events, encode, owner_of(request) or "")
    return EventStreamResponse(frames, _encode_frames(stream_id, frames, 0, encode))


async def resume_stream(
    streams: StreamHub, last_event_id: str, request: Request, encode: EventEncoder
) -> Response:
    """Return the rest of a stream after the last event that the client received."""
    stream_id, number = _parse_event_id(last_event_id)
    frames = await streams.resume(stream_id, number, owner_of(request) or "")
    if frames is None:
        return Response(status_code=204)  # also tells an EventSource not to reconnect
    return EventStreamResponse(frames, _encode_frames(stream_id, frames, number, encode))


def streams_router(streams: StreamHub) -> APIRouter:
    """Return the router of `/streams/{id}`, for clients that cannot repeat a POST request."""
    router = APIRouter(tags=["streams"], dependencies=[require_scope("ask")])

    @router.get(
        "/streams/{stream_id}",
        response_class=EventStreamResponse,
        responses=stream_responses("The events of the answer, in the contract of its request"),
    )
    async def read_stream(
        stream_id: Uuid4,
        request: Request,
        last_event_id: Annotated[
            str | None, Header(description="The id of the last event received.", max_length=100)
        ] = None,
    ) -> Any:
        """Read the stream of an answer from the start, or after an event."""
        last = last_event_id or f"{stream_id}:0"
        if _parse_event_id(last)[0] != stream_id:
            raise UnknownStream(f"The event {last} does not belong to the stream {stream_id}.")
        return await resume_stream(
            streams, last, request, _errors_only_encoder(request_id_of(request))
        )

    return router


def _parse_event_id(event_id: str) -> tuple[str, int]:
    """Split an event id into its stream id and event number."""
    stream_id, _, number = event_id.rpartition(":")
    valid = number.isascii() and number.isdecimal() and len(number) <= MAX_EVENT_ID_DIGITS
    if not stream_id or not stream_id.isprintable() or not valid:
        raise UnknownStream(f"There is no event {event_id!r} to resume after.")
    return stream_id, int(number)


def _errors_only_encoder(request_id: str) -> EventEncoder:
    """Return an encoder for a stored stream, whose other events are already encoded."""

    def encode(event: Event) -> tuple[str, str] | None:
        if isinstance(event, Failed):
            return "error", json.dumps(problem_from_error(event.error, request_id))
        return None

    return encode


async def _encode_frames(
    stream_id: str, frames: FrameIterator, number: int, encode: EventEncoder
) -> AsyncIterator[bytes]:
    try:
        async for frame in frames:
            if frame is None:
                yield format_sse_event(comment="still working")
                continue
            number = frame.number
            yield format_sse_event(
                data_str=frame.data, event=frame.event, id=f"{stream_id}:{number}"
            )
    except CitewellError as error:  # the process that generates the answer has stopped
        if encoded := encode(Failed(error)):
            name, data = encoded
            yield format_sse_event(data_str=data, event=name, id=f"{stream_id}:{number + 1}")
