"""A real language model on loopback: llama.cpp's OpenAI-compatible server in a process of its own.

Needs the package xllamacpp and a file of weights.
"""

import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from types import TracebackType
from typing import Self


class LlamaServer:
    """Serves one file of weights, as long as it is open."""

    def __init__(self, weights: Path, *, threads: int = 1, context: int = 4_096) -> None:
        """Start it; with more threads than there are free cores it becomes slower."""
        command = [sys.executable, "-m", __name__, str(weights), str(threads), str(context)]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True)
        self.url = ""
        """The base URL to configure."""

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("http://"):
                self.url = f"{line.strip()}/v1"
                return self
        raise RuntimeError("The language model did not start.")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


def _serve(weights: str, threads: int, context: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"\n{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it is gone


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
