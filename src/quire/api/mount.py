"""Serves any contract twice over one pipeline: whole, and streamed."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel

from quire.api.callers import asked_by, caller_of
from quire.api.contract import Contract, WireEvent
from quire.api.door import needs
from quire.api.problems import problem_of, request_id_of
from quire.api.wire import EventStream, resume_stream, send_stream, streamed_as
from quire.domain import Answer
from quire.errors import AnswerTimedOut
from quire.events import Done, Event, Failed, Started
from quire.ports import Answerer
from quire.streams.live import Streams, Write

TOKEN = "reader_token"  # noqa: S105 - the name of a field
LEFT = 499
"""What the log shows for a reader who did not wait; nobody gets it."""
LastEventId = Annotated[
    str | None,
    Header(
        description="The id of the last event that was seen: the stream that it belongs to goes on "
        "behind it, and the body does not count.",
        max_length=100,
    ),
]


async def finish(events: AsyncGenerator[Event, None]) -> Answer:
    """Run the events to their end and give the answer."""
    answer: Answer | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                answer = event.answer
    assert answer is not None, "the pipeline ended without `Done`"
    return answer


async def finish_for(
    request: Request, events: AsyncGenerator[Event, None], seconds: float
) -> Answer | None:
    """Give the answer; `None` for a reader who leaves before it is there.

    Raises:
        AnswerTimedOut: it is not there after so many seconds.
    """
    work = asyncio.create_task(finish(events))
    gone = asyncio.create_task(_gone(request))
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


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def writer(contract: Contract[Any, Any], request_id: str, token: str = "") -> Write:
    """Return what writes events in the dialect; failures have the one shape where it has none.

    A reader who was given a `token` just now finds it in the first event and in the last.
    """
    told = {TOKEN: token} if token and TOKEN in contract.response.model_fields else {}

    def write(event: Event) -> tuple[str, str] | None:
        said = contract.event(event)
        if said is None and isinstance(event, Failed):
            said = WireEvent("error", problem_of(event.error, request_id))
        elif said and told and isinstance(event, Started | Done):
            said = WireEvent(said.event, said.data | told)
        return (said.event, json.dumps(said.data, ensure_ascii=False)) if said else None

    return write


Meant = tuple[Contract[Any, Any], Answerer]
"""A contract, and who answers in it."""


def mount(
    contract: Contract[Any, Any],
    answerer: Answerer | None,
    streams: Streams,
    *,
    chosen: Callable[..., Meant] | None = None,
) -> APIRouter:
    """Make the two routes of a contract; `chosen` finds, by the path, who is meant to answer."""
    meant = Annotated[Any, Depends(chosen or (lambda: (contract, answerer)))]
    router = APIRouter(tags=[contract.name], dependencies=[needs("ask")])
    request_model = contract.request
    streamed_docs = streamed_as("The answer as server-sent events")
    # A whole answer is streamed where its request can ask for that.
    whole_docs = streamed_docs if "stream" in request_model.model_fields else None

    async def stream(by: Meant, body: Any, request: Request, last: str | None) -> Response:
        write = writer(by[0], request_id_of(request), caller_of(request).new_reader)
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
        answer = await finish_for(request, events, streams.options.max_seconds)
        return _told(contract.reply(answer), request) if answer else Response(status_code=LEFT)

    @router.post(contract.stream_path, response_class=EventStream, responses=streamed_docs)
    async def streamed(
        body: request_model,  # type: ignore[valid-type]
        request: Request,
        by: meant,
        last_event_id: LastEventId = None,
    ) -> Any:
        return await stream(by, body, request, last_event_id)

    return router


def _events(by: Meant, body: Any, request: Request) -> AsyncGenerator[Event, None]:
    contract, answerer = by
    return answerer.answer(asked_by(caller_of(request), contract.question(body)))


def _told(reply: BaseModel, request: Request) -> BaseModel:
    """Return a reply that tells a reader who sent no token which one to send."""
    token = caller_of(request).new_reader
    known = token and TOKEN in type(reply).model_fields
    return reply.model_copy(update={TOKEN: token}) if known else reply
