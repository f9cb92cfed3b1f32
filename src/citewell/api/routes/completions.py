"""OpenAI-compatible routes: `/v1/models` and `/v1/chat/completions`."""

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
    ChunkEncoder,
    Completion,
    CompletionRequest,
    completion_of,
    question_of,
    to_json_lines,
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
    "description": "A server-sent event without a name; the last one is `[DONE]`.",
    "required": ["data"],
    "properties": {"data": {"type": "string"}},
}
STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": _CHUNK}}}
}


class Model(WireModel):
    """A book as an OpenAI model."""

    id: str
    """The name of the book."""
    object: Literal["model"] = "model"
    """The type."""
    created: int
    """Unix timestamp of the ingest."""
    owned_by: str
    """The title of the book."""


class ModelList(WireModel):
    """The available books."""

    object: Literal["list"] = "list"
    """The type."""
    data: list[Model]
    """The books."""


def completions_router(library: BaseLibrary, answerer: Answerer, streams: StreamHub) -> APIRouter:
    """Return the router of `/v1`."""
    router = APIRouter(
        prefix="/v1",
        tags=["chat clients"],
        dependencies=[require_scope("ask")],
        responses=OPENAI_ERROR_RESPONSES,
    )

    @router.get("/models")
    async def list_models(request: Request) -> ModelList:
        """List the books as models."""
        allowed = caller_of(request).books
        books = await asyncio.to_thread(library.books)
        return ModelList(data=[_model(m) for m in books if not allowed or m.book in allowed])

    @router.get("/models/{model}")
    async def read_model(request: Request, model: str = Path(max_length=64)) -> Model:
        """Show one book as a model."""
        book = requested_book(request, model)
        return _model(await asyncio.to_thread(library.find, book or model))

    @router.post("/chat/completions", response_model=Completion, responses=STREAM_RESPONSES)
    async def complete(body: CompletionRequest, request: Request) -> Any:
        """Answer the last question of a conversation, from the book alone."""
        events = answerer.answer(attach_caller(caller_of(request), question_of(body)))
        if not body.stream:
            answer = await collect_unless_disconnected(request, events, streams.options.max_seconds)
            return completion_of(answer) if answer else Response(status_code=CLIENT_CLOSED_REQUEST)
        usage = bool(body.stream_options and body.stream_options.include_usage)
        chunks = ChunkEncoder(body.model, int(time()), usage=usage)
        encode = _chunk_encoder(chunks, request_id_of(request))
        _, frames = await streams.start(events, encode, owner_of(request) or "")
        return EventStreamResponse(frames, _encode_frames(frames))

    return router


def _chunk_encoder(encoder: ChunkEncoder, request_id: str) -> EventEncoder:
    def encode(event: Event) -> tuple[str, str] | None:
        if isinstance(event, Failed):
            return "error", json.dumps(openai_error(problem_from_error(event.error, request_id)))
        chunks = encoder.encode(event)
        return ("chunk", to_json_lines(chunks)) if chunks else None

    return encode


async def _encode_frames(frames: FrameIterator) -> AsyncIterator[bytes]:
    """Yield one event without name and id per line of a frame, then `[DONE]`."""
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
