"""What chat clients call: `/v1/models` and `/v1/chat/completions`, as OpenAI has them."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from time import time
from typing import Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from fastapi.sse import format_sse_event

from citewell.api.contracts.completions import (
    Chunks,
    Completion,
    CompletionRequest,
    completion_of,
    lines_of,
    question_of,
)
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import attach_caller, caller_of, owner_of, requested_book
from citewell.api.problems import (
    OPENAI_ERROR_RESPONSES,
    openai_error,
    problem_from_error,
    request_id_of,
)
from citewell.api.schemas import WireModel
from citewell.api.sse import CLIENT_CLOSED_REQUEST, EventStreamResponse, collect_unless_disconnected
from citewell.events import Event, Failed
from citewell.index.library import BaseLibrary
from citewell.index.revision import Manifest
from citewell.ports import Answerer
from citewell.streaming.hub import EventEncoder, FrameIterator, StreamHub

_CHUNK = {
    "type": "object",
    "description": "One server-sent event without a name; the last one is `[DONE]`.",
    "required": ["data"],
    "properties": {"data": {"type": "string"}},
}
STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": _CHUNK}}}
}


class Model(WireModel):
    """A book, as chat clients choose one."""

    id: str
    """Its name."""
    object: Literal["model"] = "model"
    """What it is."""
    created: int
    """When it was ingested, in seconds since 1970."""
    owned_by: str
    """Its title."""


class ModelList(WireModel):
    """Every book that can be asked about."""

    object: Literal["list"] = "list"
    """What it is."""
    data: list[Model]
    """The books."""


def completions_router(library: BaseLibrary, answerer: Answerer, streams: StreamHub) -> APIRouter:
    """Make the routes below `/v1`."""
    router = APIRouter(
        prefix="/v1",
        tags=["chat clients"],
        dependencies=[require_scope("ask")],
        responses=OPENAI_ERROR_RESPONSES,
    )

    @router.get("/models")
    async def list_models(request: Request) -> ModelList:
        """List the books, each as a model."""
        mine = caller_of(request).books
        books = await asyncio.to_thread(library.books)
        return ModelList(data=[_model(one) for one in books if not mine or one.book in mine])

    @router.get("/models/{model}")
    async def read_model(request: Request, model: str = Path(max_length=64)) -> Model:
        """Show one book as a model."""
        named = requested_book(request, model)
        return _model(await asyncio.to_thread(library.find, named or model))

    @router.post("/chat/completions", response_model=Completion, responses=STREAM_RESPONSES)
    async def complete(body: CompletionRequest, request: Request) -> Any:
        """Answer the last question of a conversation, from the book alone."""
        events = answerer.answer(attach_caller(caller_of(request), question_of(body)))
        if not body.stream:
            answer = await collect_unless_disconnected(request, events, streams.options.max_seconds)
            return completion_of(answer) if answer else Response(status_code=CLIENT_CLOSED_REQUEST)
        usage = bool(body.stream_options and body.stream_options.include_usage)
        write = _make_encoder(Chunks(body.model, int(time()), usage=usage), request_id_of(request))
        _, frames = await streams.begin(events, write, owner_of(request) or "")
        return EventStreamResponse(frames, _encode_frames(frames))

    return router


def _make_encoder(chunks: Chunks, request_id: str) -> EventEncoder:
    def write(event: Event) -> tuple[str, str] | None:
        if isinstance(event, Failed):
            return "error", json.dumps(openai_error(problem_from_error(event.error, request_id)))
        said = chunks.write(event)
        return ("chunk", lines_of(said)) if said else None

    return write


async def _encode_frames(frames: FrameIterator) -> AsyncIterator[bytes]:
    """Yield events without names and ids, one for each line of a frame, then `[DONE]`."""
    async for frame in frames:
        if frame is None:
            yield format_sse_event(comment="still working")
            continue
        for line in frame.data.split("\n"):
            yield format_sse_event(data_str=line)
    yield format_sse_event(data_str="[DONE]")


def _model(manifest: Manifest) -> Model:
    created = datetime.fromisoformat(manifest.created_at)
    return Model(id=manifest.book, created=int(created.timestamp()), owned_by=manifest.title)
