"""A process of the service over the tiny book; its answers wait at a named pipe.

    python -m tests.api.worker DATA_DIR FD GATE

`DATA_DIR` may be shared with other such processes, `FD` is a listening socket, and a sentence is
sent once something was written into the pipe `GATE`. The rest is set as for any service.
"""

import asyncio
import os
import select
import socket
import sys
from dataclasses import replace
from pathlib import Path

import uvicorn

from citewell.api.app import create_app
from citewell.settings import Settings
from citewell.wiring import with_answer_cache
from tests.api.live_server import Gated
from tests.servers import build_services


def main() -> None:
    data_dir, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    # Open for both, so that it never ends and never blocks.
    gate = os.open(sys.argv[3], os.O_RDWR | os.O_NONBLOCK)

    async def opened() -> None:
        if select.select([gate], [], [], 0)[0]:
            return  # as it stays: nobody takes out what was written
        loop, written = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(gate, written.set)
        try:
            await written.wait()
        finally:
            loop.remove_reader(gate)

    services = replace(build_services(data_dir), settings=Settings(data_dir=data_dir))
    if services.settings.redis_url:
        services = with_answer_cache(services, "embedded")
    app = create_app(replace(services, answerer=Gated(services.answerer, opened)))
    listening = socket.socket(fileno=descriptor)
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=30)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
