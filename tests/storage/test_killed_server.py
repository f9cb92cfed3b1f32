"""A server that is killed in the middle of its answers, and what is left of them.

CITEWELL_KILLED_STREAMS=200 makes as many streams at once; `make kill` does.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from citewell.conversation import ANY_OWNER
from citewell.storage.threads import SqlThreadStore
from tests.api.sse import parse_sse

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STREAMS = int(os.environ.get("CITEWELL_KILLED_STREAMS", "24"))
QUESTION = "What is a Fresnel lens?"
BOUND = 300
"""Seconds after which the test gives up."""


@dataclass(slots=True)
class Seen:
    """What the readers got before the server died."""

    started: dict[str, str] = field(default_factory=dict)
    """Answers by the thread they stand in."""
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Whole answers by their id."""
    written: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, event: str, data: dict[str, Any]) -> None:
        if event == "start":
            self.started[data["answer_id"]] = data["session_id"]
        elif event == "done":
            self.done[data["answer_id"]] = data
        # Some are finished, some are being made, and some have not begun: a good moment to die.
        if len(self.done) >= STREAMS // 4 and len(self.started) > len(self.done):
            self.written.set()


@asynccontextmanager
async def serving(data: Path, url: str) -> AsyncIterator[tuple[Process, httpx.AsyncClient]]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.storage.child_server",
        data,
        cwd=ROOT,
        env={**os.environ, "CITEWELL_DATABASE_URL": url},
        stdout=PIPE,
    )
    try:
        assert child.stdout is not None
        port = int(await child.stdout.readline())
        limits = httpx.Limits(max_connections=None)
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=base, limits=limits, timeout=BOUND) as client:
            yield child, client
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def read(client: httpx.AsyncClient, thread_id: str, seen: Seen) -> None:
    """Read one answer as far as it comes."""
    body = {"message": QUESTION, "session_id": thread_id}
    text = ""
    try:
        async with client.stream("POST", "/chat/stream", json=body) as reply:
            async for piece in reply.aiter_text():
                text += piece
                whole, _, text = text.rpartition("\n\n")
                for _, event, data in parse_sse(whole + "\n\n") if whole else ():
                    seen.note(event, data)
    except httpx.TransportError:
        pass  # the server is dead


async def test_a_killed_server_loses_nothing_that_a_reader_was_given(
    tiny_data: Path, url: str
) -> None:
    # Two questions to each conversation, so that some have an answer that was given before.
    threads = [str(uuid4()) for _ in range(STREAMS // 2)]
    seen = Seen()
    async with asyncio.timeout(BOUND):
        async with serving(tiny_data, url) as (child, client):
            readers = [asyncio.create_task(read(client, t, seen)) for t in threads * 2]
            await seen.written.wait()
            child.kill()
            await asyncio.gather(*readers)
        async with serving(tiny_data, url) as (_, client):
            await client.get("/health")
            for thread_id in threads:
                reply = await client.get(f"/threads/{thread_id}")
                if reply.status_code == 200:
                    assert_whole(reply.json(), seen)
                else:
                    assert thread_id not in {d["session_id"] for d in seen.done.values()}
            await assert_marked(url, seen)


def assert_whole(thread: dict[str, Any], seen: Seen) -> None:
    """See that a thread is pairs of questions and answers, and has what its readers were given."""
    said = thread["messages"]
    assert thread["message_count"] == len(said) > 0
    assert [m["role"] for m in said] == ["user", "assistant"] * (len(said) // 2)
    assert all(m["content"] and m["record"]["claims"] for m in said[1::2])
    given = {
        a: d["response"] for a, d in seen.done.items() if d["session_id"] == thread["thread_id"]
    }
    stored = {m["id"]: m["content"] for m in said[1::2]}
    assert stored.items() >= given.items()


async def assert_marked(url: str, seen: Seen) -> None:
    """See that every answer that was begun is stored or marked, and none is still being made."""
    store = SqlThreadStore(url)
    log = await store.answers(state=None, limit=10_000, offset=0, owner=ANY_OWNER)
    states = {entry.id: entry.state for entry in log}
    stored = {answer for answer in states if await store.answer(answer)}
    if store.database.dialect == "sqlite":
        async with store.database.read_transaction() as connection:
            assert (await connection.exec_driver_sql("PRAGMA integrity_check")).scalar() == "ok"
    await store.close()

    assert seen.done
    assert seen.done.keys() <= stored
    assert seen.started.keys() <= states.keys()
    for answer, state in states.items():
        assert state in (("validated", "delivered") if answer in stored else ("unfinished",))
    assert "unfinished" in states.values()
    print(  # noqa: T201 - `make kill` shows it
        f"{len(seen.started)} begun, {len(seen.done)} given, {len(stored)} stored, "
        f"{len(states) - len(stored)} marked"
    )
