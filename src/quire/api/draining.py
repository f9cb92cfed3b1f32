"""What happens between the signal to stop and the end."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from quire.streams.live import Streams

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def draining(streams: Streams) -> Iterator[None]:
    """Let running answers know when the server is told to stop; then it stops as it would."""
    # Only the main thread hears signals; a server elsewhere closes the streams when it ends.
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {one: signal.getsignal(one) for one in SIGNALS}
    loop = asyncio.get_running_loop()

    def heard(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(streams.drain)
        server = before[signal.Signals(number)]
        if callable(server):
            server(number, frame)

    for one, handler in before.items():
        if callable(handler):
            signal.signal(one, heard)
    try:
        yield
    finally:
        for one, handler in before.items():
            if signal.getsignal(one) is heard:
                signal.signal(one, handler)
