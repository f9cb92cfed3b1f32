"""A process of the service over the tiny book; its answers wait at a named pipe.

    python -m tests.api.worker DATA_DIR FD GATE

`DATA_DIR` is shared with other such processes, `FD` is a listening socket, and a sentence is sent
once something was written into the pipe `GATE`.
"""

import asyncio
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import uvicorn

from quire.api.app import create_app
from quire.settings import Settings
from quire.testing import build_services
from tests.api.live_server import Gated


def main() -> None:
    data_dir, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    # Open for both, so that it never ends and never blocks.
    gate = os.open(sys.argv[3], os.O_RDWR | os.O_NONBLOCK)

    async def opened() -> None:
        loop, written = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(gate, written.set)
        try:
            await written.wait()
        finally:
            loop.remove_reader(gate)

    services = build_services(data_dir)
    gated = Gated(services.answerer, opened)
    app = create_app(replace(services, settings=Settings(data_dir=data_dir), answerer=gated))
    listening = socket.socket(fileno=descriptor)
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=30)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
