"""Real servers on loopback, and answers that wait at a gate until the test opens it."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import httpx
import uvicorn
from fastapi import FastAPI

from citewell.domain import Question
from citewell.events import Event, Sentence
from citewell.options import StreamOptions
from citewell.ports import Answerer
from citewell.wiring import Services
from tests.api.sse import parse_sse

ASKED = {"message": "What is a Fresnel lens made of?"}
Seen = tuple[str, str, object]


class Gated:
    """The pipeline, stopped before its first sentence until the gate is opened."""

    def __init__(self, inner: Answerer, gate: Callable[[], Awaitable[object]]) -> None:
        self._inner = inner
        self._gate = gate
        self.begun = 0
        self.closed = asyncio.Event()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        self.begun += 1
        waited = False
        try:
            async with aclosing(self._inner.answer(question)) as events:
                async for event in events:
                    if isinstance(event, Sentence) and not waited:
                        waited = True
                        await self._gate()
                    yield event
        finally:
            self.closed.set()


def with_streams(services: Services, **options: float) -> Services:
    changed = services.settings.model_copy(update={"stream": StreamOptions(**options)})
    return replace(services, settings=changed)


def listening() -> socket.socket:
    """A free port, at which connections wait until somebody serves it."""
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen(128)
    return opened


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """Serve an application over real sockets, and give its address."""
    opened = listening()
    address = f"http://127.0.0.1:{opened.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
    serving = asyncio.create_task(server.serve(sockets=[opened]))
    try:
        yield address
    finally:
        server.should_exit = True
        await serving


async def read_some(
    client: httpx.AsyncClient, path: str, count: int, last: str | None = None
) -> list[Seen]:
    """Ask, read so many events, and drop the connection."""
    seen: list[Seen] = []
    headers = {"last-event-id": last} if last else {}
    async with client.stream("POST", path, json=ASKED, headers=headers) as reply:
        assert reply.status_code == 200
        text = ""
        async for more in reply.aiter_text():
            text += more
            seen = parse_sse(text[: text.rfind("\n\n") + 2]) if "\n\n" in text else []
            if len(seen) >= count:
                break
    return seen[:count]


def numbers(events: list[Seen]) -> list[int]:
    return [int(identity.rpartition(":")[2]) for identity, _, _ in events]
