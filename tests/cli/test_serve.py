"""`citewell serve` as an operator runs it: several workers, one service a folder, a clean end."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Citewell

pytestmark = pytest.mark.slow

BOUND = 120
ASKED = {"message": "What is AMCL?"}


@contextmanager
def serving(data: Path, *arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Serve at a free port; give the address and the process."""
    with subprocess.Popen(
        [sys.executable, "-m", "citewell", "serve", "--port", "0", *arguments],
        env={**os.environ, "CITEWELL_DATA_DIR": str(data), "COLUMNS": "200"},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            lines = iter(server.stderr)
            yield next(m[0] for line in lines if (m := re.search(r"http://[\d.:]+", line))), server
        finally:
            server.kill()


@pytest.mark.smoke
def test_several_workers_serve_one_folder_and_nobody_else_does(
    citewell: Citewell, sample_data: Path
) -> None:
    with serving(sample_data, "--workers", "2") as (address, server):
        # Each on a connection of its own, so that either worker may get it.
        replies = [httpx.post(f"{address}/chat/run", json=ASKED, timeout=BOUND) for _ in range(8)]
        figures = [httpx.get(f"{address}/metrics", timeout=BOUND).text for _ in range(4)]
        second = citewell("serve", "--port", "0", data=sample_data)
        beside = citewell("ask", "What is AMCL?", data=sample_data)
        server.send_signal(signal.SIGTERM)
        server.wait(BOUND)

    assert {reply.status_code for reply in replies} == {200}
    assert {reply.json()["response"] for reply in replies} == {replies[0].json()["response"]}
    # Whichever worker is asked tells of all of them.
    counted = re.compile(r'^citewell_http_requests_total\{.*route="/chat/run".*\} (\S+)$', re.M)
    assert [counted.search(text)[1] for text in figures] == ["8.0"] * 4
    assert second.returncode == 1
    assert f"Another process ({server.pid}) already serves" in second.stderr
    assert beside.returncode == 0
    assert server.returncode == 0


def test_a_folder_is_free_again_when_its_service_was_killed(
    citewell: Citewell, sample_data: Path
) -> None:
    with serving(sample_data) as (_, server):
        server.kill()
        server.wait(BOUND)
    with serving(sample_data) as (address, server):
        assert httpx.get(f"{address}/ready", timeout=BOUND).json()["ready"] is True
        server.send_signal(signal.SIGTERM)
        server.wait(BOUND)
