"""The service as its operators start it: `citewell serve`, a process of its own."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx

from tests.api.sse import parse_sse
from tests.servers import ChatServer, Reply

ROOT = Path(__file__).parents[2]
BOUND = 120.0
"""Seconds that a busy machine may take for one step."""
Body = dict[str, Any]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """A running service, its data folder, and how to ask it."""

    url: str
    data: Path
    client: httpx.Client

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        """Return what the service replies, whatever the status."""
        return self.client.post(path, json=body, headers=headers)

    def ask(self, path: str, body: Body, **headers: str) -> Body:
        """Return the whole answer."""
        reply = self.post(path, body, **headers)
        assert reply.status_code == 200, reply.text
        answer: Body = reply.json()
        return answer

    def stream(self, path: str, body: Body, **headers: str) -> list[tuple[str, Any]]:
        """Return the events of a streamed answer."""
        reply = self.post(path, body, **headers)
        assert reply.status_code == 200, reply.text
        return [(name, data) for _, name, data in parse_sse(reply.text)]

    def get(self, path: str, **headers: str) -> Any:
        """Return what is there."""
        reply = self.client.get(path, headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def status(self, method: str, path: str, **headers: str) -> int:
        """Return the status alone."""
        return self.client.request(method, path, headers=headers).status_code

    def rows(self, query: str, *values: object) -> list[Row]:
        """Return what the database of conversations holds."""
        with closing(sqlite3.connect(self.data / "threads.db", timeout=BOUND)) as base:
            return base.execute(query, values).fetchall()

    def turns(self, session: str) -> list[Row]:
        """Return role, content and time of each message: data model 001 serves them nowhere."""
        found = self.rows(
            "SELECT role, content, created_at FROM messages WHERE thread_id = ? ORDER BY position",
            session,
        )
        return [(role, content, instant(at)) for role, content, at in found]

    def session_times(self, session: str) -> Row:
        """Return when a conversation began and when it was last used."""
        ((began, used),) = self.rows(
            "SELECT created_at, updated_at FROM threads WHERE id = ?", session
        )
        return instant(began), instant(used)

    def stranger(self) -> httpx.Client:
        """Return a client that keeps nothing of what others were given."""
        return httpx.Client(base_url=self.url, timeout=BOUND)


def instant(text: str) -> datetime:
    """Return the moment that a text names; without a zone it is UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


class Model(ChatServer):
    """A language model that says what a test tells it to, and notes when it was asked."""

    def __init__(self) -> None:
        super().__init__(Reply())
        self.asked_at: list[datetime] = []

    def next_reply(self, request: dict[str, Any], key: str) -> Reply:
        self.asked_at.append(now())
        return super().next_reply(request, key)

    def says(self, *replies: Reply | str) -> None:
        """Set the replies to come, the last one over and over, and forget what was asked."""
        self.requests.clear()
        self.asked_at.clear()
        self.replies = deque(Reply(one) if isinstance(one, str) else one for one in replies)

    def prompts(self) -> str:
        """Return all that it was sent."""
        return json.dumps(self.requests, ensure_ascii=False)


def environment(data: Path, settings: dict[str, str]) -> dict[str, str]:
    """Return an environment with these settings and no others."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("CITEWELL_", "OPENAI_"))}
    return {**kept, "CITEWELL_DATA_DIR": str(data), "PYTHONPATH": str(ROOT / "src"), **settings}


def command(data: Path, *arguments: str, **settings: str) -> str:
    """Return what a command of Citewell prints."""
    done = subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        cwd=data,
        env=environment(data, settings),
        capture_output=True,
        text=True,
        timeout=BOUND * 3,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def serving(data: Path, *arguments: str, **settings: str) -> Iterator[Service]:
    """Start the service over a data folder, and stop it at the end."""
    log = data / "serve.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "citewell", "serve", "--port", "0", *arguments],
            cwd=data,
            env=environment(data, settings),
            stdout=out,
            stderr=out,
        )
    try:
        url = _address(process, log)
        with httpx.Client(base_url=url, timeout=BOUND) as client:
            yield Service(url, data, client)
    finally:
        process.terminate()
        process.wait(BOUND)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    until = monotonic() + BOUND
    while monotonic() < until:
        said = log.read_text()
        assert process.poll() is None, said
        for word in said.split():
            if word.startswith("http://"):
                return word
        sleep(0.05)
    raise AssertionError(log.read_text())


def copied(books: Path, into: Path) -> Path:
    """Return a data folder of its own with the same books; the large model is linked."""
    shutil.copytree(books / "books", into / "books")
    if (books / "models").exists():
        shutil.copytree(books / "models", into / "models", copy_function=os.link)
    return into


def eventually(holds: Any) -> bool:
    """Whether something becomes true while a busy machine would have done it."""
    until = monotonic() + BOUND / 4
    while monotonic() < until:
        if holds():
            return True
        sleep(0.1)
    return False
