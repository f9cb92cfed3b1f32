"""Several processes over the same data folder or database: real ones, with real signals."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from citewell.ingest.pipeline import ingest
from tests.api.live_server import ASKED, Seen, listening, numbers, read_some
from tests.api.sse import parse_sse
from tests.servers import HashEmbedder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
BOUND = 60


@dataclass
class Worker:
    address: str
    process: "subprocess.Popen[bytes]"
    gate: Path

    def open_gate(self) -> None:
        self.gate.write_bytes(b"go")


Start = Callable[..., Worker]


@pytest.fixture
def start(tiny_book: Path, tmp_path: Path) -> Iterator[Start]:
    """Start processes that share a data folder."""
    data = tmp_path / "shared"
    ingest(tiny_book, data / "books", HashEmbedder(), book="tiny")
    started: list[subprocess.Popen[bytes]] = []

    def one(**settings: str) -> Worker:
        gate = tmp_path / f"gate{len(started)}"
        os.mkfifo(gate)
        environment = {**os.environ, **settings, "CITEWELL_DATA_DIR": str(data)}
        environment["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
        with listening() as opened:
            number = opened.fileno()
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.api.worker", str(data), str(number), str(gate)],
                env=environment,
                pass_fds=(number,),
            )
            started.append(process)
            return Worker(f"http://127.0.0.1:{opened.getsockname()[1]}", process, gate)

    yield one
    for process in started:
        process.kill()
        process.wait()


async def _resume(client: httpx.AsyncClient, worker: Worker, last: str) -> list[Seen]:
    reply = await client.post(
        f"{worker.address}/chat/stream", json=ASKED, headers={"last-event-id": last}
    )
    assert reply.status_code == 200
    return parse_sse(reply.text)


async def test_a_stream_begun_at_one_process_goes_on_at_another(start: Start, url: str) -> None:
    here, there = (start(CITEWELL_DATABASE_URL=url) for _ in range(2))
    async with httpx.AsyncClient(timeout=BOUND) as client:
        before = await read_some(client, f"{here.address}/chat/stream", 2)
        # Reading there what was sent before the cut tells that both know the stream.
        seen = await read_some(client, f"{there.address}/chat/stream", 1, last=before[0][0])
        here.open_gate()
        events = [*before, *await _resume(client, there, before[-1][0])]
        again = await client.get(f"{there.address}/streams/{before[0][0].partition(':')[0]}")

    assert seen == before[1:2]
    assert numbers(events) == list(range(1, len(events) + 1))
    assert events[-1][1] == "done"
    assert parse_sse(again.text) == events


async def test_a_finished_stream_outlives_its_process(start: Start) -> None:
    here = start()
    async with httpx.AsyncClient(timeout=BOUND) as client:
        before = await read_some(client, f"{here.address}/chat/stream", 2)
        here.open_gate()
        rest = await _resume(client, here, before[-1][0])
        here.process.send_signal(signal.SIGTERM)
        here.process.wait(BOUND)
        again = await _resume(client, start(), before[-1][0])

    assert again == rest
    assert rest[-1][1] == "done"


async def test_the_reader_of_a_killed_process_is_told_so(start: Start, url: str) -> None:
    here, there = (
        start(CITEWELL_DATABASE_URL=url, CITEWELL_STREAM__LOST_SECONDS="0.5") for _ in range(2)
    )
    async with httpx.AsyncClient(timeout=BOUND) as client:
        before = await read_some(client, f"{here.address}/chat/stream", 2)
        assert await read_some(client, f"{there.address}/chat/stream", 1, last=before[0][0])
        here.process.kill()
        here.process.wait()
        (last,) = await _resume(client, there, before[-1][0])

    assert (last[1], last[2]["code"]) == ("error", "AnswerInterrupted")
    assert last[2]["suggested_action"] == "Ask the question again."
    assert numbers([last]) == [3]


async def test_a_process_told_to_stop_lets_its_streams_finish(start: Start) -> None:
    here = start()
    async with (
        httpx.AsyncClient(timeout=BOUND) as client,
        client.stream("POST", f"{here.address}/chat/stream", json=ASKED) as reply,
    ):
        texts = reply.aiter_text()
        text = await anext(texts)
        here.process.send_signal(signal.SIGTERM)
        here.open_gate()
        text += "".join([more async for more in texts])
        here.process.wait(BOUND)

    assert parse_sse(text)[-1][1] == "done"


async def test_a_process_told_to_stop_does_not_wait_for_ever(start: Start) -> None:
    here = start(CITEWELL_STREAM__DRAIN_SECONDS="0.2")
    async with (
        httpx.AsyncClient(timeout=BOUND) as client,
        client.stream("POST", f"{here.address}/chat/stream", json=ASKED) as reply,
    ):
        texts = reply.aiter_text()
        text = await anext(texts)
        here.process.send_signal(signal.SIGTERM)
        text += "".join([more async for more in texts])
        here.process.wait(BOUND)

    *_, (_, name, problem) = parse_sse(text)
    assert (name, problem["code"]) == ("error", "AnswerInterrupted")
    assert "restarted" in problem["detail"]
