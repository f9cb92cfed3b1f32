"""A whole installation on loopback: three Qdrant nodes, PostgreSQL, Redis and hosts of Citewell."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from citewell.index.qdrant_server import QdrantServer
from citewell.ingest.pipeline import ingest
from citewell.ingest.report import IngestReport
from citewell.ingest.sync import ingest_shared
from citewell.options import IndexOptions
from tests.api.live_server import listening
from tests.qdrant_server import Node
from tests.redis_server import RedisServer
from tests.servers import HashEmbedder

ROOT = Path(__file__).parents[2]
BOUND = 180.0
"""Seconds that an answer may take on a busy machine."""


@dataclass
class Worker:
    """One process of the service."""

    address: str
    process: "subprocess.Popen[bytes]"
    gate: Path

    def open_gate(self) -> None:
        """Let its answers go."""
        self.gate.write_bytes(b"go")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Installation:
    """What all hosts share, and the hosts."""

    folder: Path
    nodes: list[Node]
    database: str
    redis: RedisServer
    prefix: str
    started: list[Worker] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, str]:
        """What every host is told."""
        return {
            "CITEWELL_INDEX_URL": ",".join(node.url for node in self.nodes),
            "CITEWELL_INDEX__PREFIX": self.prefix,
            "CITEWELL_INDEX__REFRESH_SECONDS": "0.2",
            "CITEWELL_DATABASE_URL": self.database,
            "CITEWELL_REDIS_URL": self.redis.url,
        }

    def ingest(self, source: Path, host: str, book: str = "tiny") -> IngestReport:
        """Ingest at one host, in its own data folder, for all of them."""
        options = IndexOptions(prefix=self.prefix)
        server = QdrantServer(self.settings["CITEWELL_INDEX_URL"], options)
        books = self.folder / host / "books"
        try:
            return ingest_shared(
                server,
                books,
                book,
                HashEmbedder.id,
                lambda: ingest(source, books, HashEmbedder(), book=book),
            )
        finally:
            server.close()

    def start(self, host: str, *, gated: bool = False, **settings: str) -> Worker:
        """Start one worker of a host; workers of one host share its data folder."""
        data = self.folder / host
        data.mkdir(exist_ok=True)
        gate = self.folder / f"gate{len(self.started)}"
        os.mkfifo(gate)
        environment = {**os.environ, **self.settings, **settings, "CITEWELL_DATA_DIR": str(data)}
        environment["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
        with listening() as opened:
            number = opened.fileno()
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.api.worker", str(data), str(number), str(gate)],
                env=environment,
                pass_fds=(number,),
            )
            address = f"http://127.0.0.1:{opened.getsockname()[1]}"
        worker = Worker(address, process, gate)
        self.started.append(worker)
        if not gated:
            # Held open by the worker for both, so that this waits only until it is up.
            assert httpx.get(f"{address}/health", timeout=BOUND).status_code == 200
            worker.open_gate()
        return worker


@contextmanager
def installation(
    folder: Path, nodes: list[Node], database: str, redis: RedisServer, prefix: str
) -> Iterator[Installation]:
    """Begin with empty hosts, and stop them all at the end."""
    made = Installation(folder, nodes, database, redis, prefix)
    try:
        yield made
    finally:
        for worker in made.started:
            worker.kill()
