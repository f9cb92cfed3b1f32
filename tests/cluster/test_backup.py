"""Backup, destroy, restore, by the scripts that operators have."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import httpx

from tests.cluster.hosts import BOUND, Installation
from tests.postgres import Postgres, pgserver
from tests.qdrant_server import Node

ROOT = Path(__file__).parents[2]
ASKED = ("What is a Fresnel lens made of?", "Why does the keeper wind the clockwork?")


class Host:
    """One host with a data folder of its own, on which commands are run."""

    def __init__(self, hosts: Installation, name: str) -> None:
        self.folder = hosts.folder / name
        self.folder.mkdir()
        tools = max(Path(pgserver.__file__).parent.glob("pginstall*/bin"))  # the newest
        here = self.folder / "bin"
        here.mkdir()
        (here / "citewell").write_text(f'#!/bin/sh\nexec {sys.executable} -m citewell "$@"\n')
        (here / "citewell").chmod(0o755)
        self.environment = {
            **os.environ,
            **hosts.settings,
            "CITEWELL_DATA_DIR": str(self.folder / "data"),
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{here}:{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "200",
        }

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[str]:
        with subprocess.Popen(
            [sys.executable, "-m", "citewell", "serve", "--port", "0", *arguments],
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stderr is not None
            try:
                lines = iter(server.stderr)
                yield next(m[0] for line in lines if (m := re.search(r"http://[\d.:]+", line)))
                server.terminate()
                server.wait(BOUND)
            finally:
                server.kill()


def ask(address: str, message: str, session: str | None = None) -> dict:
    body = {"message": message} | ({"session_id": session} if session else {})
    reply = httpx.post(f"{address}/chat/run", json=body, timeout=BOUND)
    assert reply.status_code == 200, reply.text
    return reply.json()


def read(address: str, session: str) -> list[dict]:
    reply = httpx.get(f"{address}/threads/{session}", timeout=BOUND)
    assert reply.status_code == 200, reply.text
    # Whether a reader has got an answer is written down within a minute, perhaps after the backup.
    return [
        {name: one[name] for name in ("id", "role", "content", "timestamp", "confidence")}
        | {name: (one["record"] or {}).get(name) for name in ("claims", "passages")}
        for one in reply.json()["messages"]
    ]


def destroy(nodes: list[Node], postgres: Postgres, hosts: Installation) -> None:
    for node in nodes:
        listed = httpx.get(f"{node.url}/collections", timeout=BOUND).json()["result"]["collections"]
        for one in listed:
            httpx.delete(f"{node.url}/collections/{one['name']}", timeout=BOUND)
    postgres.new_database()
    hosts.redis.stop()
    hosts.redis.start()


def test_all_is_as_it_was_after_everything_was_lost(
    hosts: Installation, postgres: Postgres, tiny_book: Path
) -> None:
    first, second = Host(hosts, "first"), Host(hosts, "second")
    first.run(f"citewell ingest {tiny_book} --book tiny")
    with first.serving("--workers", "2") as here, second.serving() as there:
        begun = ask(here, ASKED[0])
        session = begun["session_id"]
        ask(there, ASKED[1], session)
        before = read(here, session)
        # Another host than the one that ingested makes the backup.
        second.run(f"{ROOT / 'deploy' / 'backup'} backup")

    destroy(hosts.nodes, postgres, hosts)
    rmtree(first.folder / "data")
    rmtree(second.folder / "data" / "books")
    third = Host(hosts, "third")
    (second.folder / "backup").rename(third.folder / "backup")
    third.run(f"{ROOT / 'deploy' / 'restore'} backup")
    with first.serving() as here, third.serving() as there:
        assert read(here, session) == before
        assert read(there, session) == before
        again = ask(here, ASKED[0])
        ask(there, ASKED[1], session)
        longer = read(here, session)

    assert again["response"] == begun["response"]
    assert again["sources"] == begun["sources"]
    assert longer[: len(before)] == before
    assert len(longer) == len(before) + 2
