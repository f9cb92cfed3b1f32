"""Serves any contract twice over one pipeline: whole, and streamed."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event

from quire.api.contract import Contract
from quire.api.door import needs
from quire.api.problems import problem_of, request_id_of, unexpected_problem
from quire.domain import Answer
from quire.errors import QuireError
from quire.events import Done, Event, Failed
from quire.ports import Answerer

LOG = logging.getLogger("quire.api")
KEEP_ALIVE = 15.0
STREAM_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """A response of server-sent events.

    FastAPI's own class makes the route a generator, and then a failure before the first event could
    no longer have its status.
    """

    media_type = "text/event-stream"


async def finish(events: AsyncGenerator[Event, None]) -> Answer:
    """Run the events to their end and give the answer."""
    answer: Answer | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                answer = event.answer
    assert answer is not None, "the pipeline ended without `Done`"
    return answer


class Pump:
    """Runs the pipeline in a task of its own, so that a quiet spell can be told from the end.

    Everything the pipeline opens is opened and closed in that one task, and a reader who leaves
    stops it.
    """

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._queue: asyncio.Queue[Event | BaseException | None] = asyncio.Queue(maxsize=4)
        self._task = asyncio.create_task(self._run(events))

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    await self._queue.put(event)
        except Exception as error:  # noqa: BLE001 - handed to the reader's side, which sorts it
            await self._queue.put(error)
        else:
            await self._queue.put(None)

    async def next(self, timeout: float | None = None) -> Event | None:  # noqa: ASYNC109 - a quiet spell is not a failure
        """Give the next event, or `None` at the end.

        Raises:
            TimeoutError: nothing came within `timeout` seconds; call again.
        """
        async with asyncio.timeout(timeout):
            item = await self._queue.get()
        if isinstance(item, BaseException):
            raise item
        return item

    async def close(self) -> None:
        """Stop the pipeline if it is still running."""
        self._task.cancel()
        await asyncio.wait([self._task])


async def _wire(
    contract: Contract[Any, Any], pump: Pump, first: Event, request_id: str
) -> AsyncIterator[bytes]:
    number = 0
    event: Event | None = first
    try:
        while event is not None:
            number += 1
            if (out := contract.event(event)) is not None:
                yield format_sse_event(
                    data_str=json.dumps(out.data, ensure_ascii=False),
                    event=out.event,
                    id=str(number),
                )
            while True:
                try:
                    event = await pump.next(KEEP_ALIVE)
                    break
                except TimeoutError:
                    yield format_sse_event(comment="still working")
    except QuireError as error:
        yield _error(contract, Failed(error), problem_of(error, request_id), number + 1)
    except Exception:  # the reader gets the one shape, the log gets the rest
        LOG.exception("unexpected error in stream %s", request_id)
        failed = Failed(QuireError("Something went wrong on our side."))
        yield _error(contract, failed, unexpected_problem(request_id), number + 1)
    finally:
        await pump.close()


def _error(
    contract: Contract[Any, Any], failed: Failed, body: dict[str, Any], number: int
) -> bytes:
    own = contract.event(failed)
    data, name = (own.data, own.event) if own else (body, "error")
    return format_sse_event(data_str=json.dumps(data), event=name, id=str(number))


async def stream(
    contract: Contract[Any, Any], events: AsyncGenerator[Event, None], request: Request
) -> Response:
    """Start the pipeline; a failure before the first event still has its own status."""
    pump = Pump(events)
    try:
        first = await pump.next()
    except BaseException:
        await pump.close()
        raise
    assert first is not None, "the pipeline ended without an event"
    return EventStream(_wire(contract, pump, first, request_id_of(request)), headers=STREAM_HEADERS)


def mount(
    contract: Contract[Any, Any],
    answerer: Answerer | None = None,
    *,
    chosen: Callable[..., tuple[Contract[Any, Any], Answerer | None]] | None = None,
) -> APIRouter:
    """Make the two routes of a contract; `chosen` finds, by the path, who is meant to answer."""
    meant = Annotated[Any, Depends(chosen or (lambda: (contract, answerer)))]
    router = APIRouter(tags=[contract.name], dependencies=[needs("ask")])
    request_model = contract.request
    streamed_docs: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The answer as server-sent events",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }
    }

    @router.post(contract.whole_path, response_model=contract.response)
    async def whole(body: request_model, request: Request, by: meant) -> Any:  # type: ignore[valid-type]
        contract, answerer = by
        events = answerer.answer(contract.question(body))
        if contract.streams(body):
            return await stream(contract, events, request)
        return contract.reply(await finish(events))

    @router.post(contract.stream_path, response_class=EventStream, responses=streamed_docs)
    async def streamed(body: request_model, request: Request, by: meant) -> Any:  # type: ignore[valid-type]
        contract, answerer = by
        return await stream(contract, answerer.answer(contract.question(body)), request)

    return router
