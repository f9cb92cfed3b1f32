"""A whole service over the tiny book in a process of its own, to be killed.

    CITEWELL_DATABASE_URL=… python -m tests.storage.child_server DATA_FOLDER

Prints its port. Every second answer stops after its first sentence and is never finished.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn
from agents.testing import ModelCall, ModelStep, ScriptedModel

from citewell.api.app import create_app
from tests.servers import build_services
from tests.servers.scripted import text_stream

SENTENCES = (
    "A Fresnel lens is a lens made of concentric rings of glass. [1] ",
    "Its thin rings save nine tenths of the glass of a plain lens. [1] ",
)
NUMBERS = count()


def model(_: object) -> ScriptedModel:
    async def finished(call: ModelCall) -> AsyncIterator[Any]:
        async for event in text_stream(SENTENCES):
            yield event

    async def stuck(call: ModelCall) -> AsyncIterator[Any]:
        async for event in text_stream(SENTENCES[:1]):
            yield event
            await asyncio.Event().wait()

    return ScriptedModel([ModelStep.stream(stuck if next(NUMBERS) % 2 else finished)])


def main(data: Path) -> None:
    services = build_services(data, model=model)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    config = uvicorn.Config(create_app(services), log_level="error", lifespan="on")
    print(listening.getsockname()[1], flush=True)  # noqa: T201 - who started us reads it
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
