"""A real Redis on a free loopback port, in a temporary folder."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

BINARY = shutil.which("redis-server")


class RedisServer:
    """One server that can be stopped and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self.port = self.port or _free_port()
        options = {"bind": "127.0.0.1", "port": self.port, "save": "", "dir": self.folder}
        arguments = [str(x) for name, value in options.items() for x in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [str(BINARY), *arguments], stdout=subprocess.PIPE, text=True, cwd=self.folder
        )
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "Ready to accept connections" in line:
                return
        raise AssertionError("".join(said))

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            self._process = None


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A real Redis; `make services` installs it where that is possible."""
    if BINARY is None:
        pytest.skip("redis-server is not installed: limits over Redis are NOT tested here")
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()
