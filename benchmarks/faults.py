"""Responses to all kinds of model failures, and the startup cost of LiteLLM.

    make bench-faults

A server on loopback fails as it is told; the model is reached through LiteLLM, as most are. Each
fault is asked about twice: with the model alone, and with the embedded one behind it.
"""

import asyncio
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from asgi_lifespan import LifespanManager
from rich.console import Console
from rich.table import Table

from citewell.api.app import create_app
from citewell.ingest.pipeline import ingest
from citewell.options import LlmOptions
from tests.servers import ChatServer, HashEmbedder, Reply, build_services, write_tiny_book

ASKED = "What is a Fresnel lens made of?"
LENS = "A Fresnel lens is a lens made of concentric rings of glass."
RINGS = "Its thin rings save nine tenths of the glass of a plain lens."
TEXT = f"{LENS} [1] {RINGS} [1]"
MODEL = "litellm/openai/told"
LIMITS = {"first_token_seconds": 3.0, "idle_seconds": 3.0, "retries": 2, "max_tokens": 300}
FAULTS = {
    "none": Reply(TEXT),
    "429, Retry-After: 1": Reply(status=429, headers={"retry-after": "1"}),
    "429, Retry-After: 3600": Reply(status=429, headers={"retry-after": "3600"}),
    "429 without": Reply(status=429),
    "500": Reply(status=500),
    "connection refused": None,
    "hangs": Reply(stall=True),
    "slow stream, 0.2 s a word": Reply(TEXT, pause=0.2),
    "stream cut in the first sentence": Reply("A Fresnel lens", end="cut"),
    "stream cut in the third sentence": Reply(f"{TEXT} In fog the", end="cut"),
    "silent in the third sentence": Reply(f"{TEXT} In fog the", end="stall"),
    "cut at max_tokens": Reply(f"{TEXT} In fog the", end="length"),
    "malformed JSON": Reply(body=b'{"choices": ['),
    "wrong tool arguments": Reply(tool_calls=[("search_textbook", '{"quer')]),
    "a tool that does not exist": Reply(tool_calls=[("launch_rocket", "{}")]),
    "endless output": Reply(TEXT, end="endless"),
    "wrong key (401)": Reply(status=401),
}


async def asked(data: Path, reply: Reply | None, model: str) -> tuple[str, str, float]:
    """Return the status, the reader's message and the duration."""
    with ChatServer(reply or Reply()) as server:
        url = server.url if reply else "http://127.0.0.1:9/v1"
        tools = "yes" if reply and reply.tool_calls else "no"
        llm = LlmOptions(base_url=url, tools=tools, **LIMITS)  # type: ignore[arg-type]
        app = create_app(build_services(data, model=model, llm=llm))
        async with LifespanManager(app):
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                begun = time.perf_counter()
                got = await client.post("/chat/run", json={"message": ASKED}, timeout=300)
                took = time.perf_counter() - begun
    body = got.json()
    if got.status_code != 200:
        wait = got.headers.get("retry-after")
        said = f"{body['code']}: {body['detail']}"
        return str(got.status_code), said + (f" (Retry-After: {wait})" if wait else ""), took
    notices = ", ".join(notice["code"] for notice in body["notices"]) or "whole"
    proven = sum(claim["verdict"] == "supported" for claim in body["claims"])
    return (
        "200",
        f"{body['model'].removeprefix('litellm/openai/')}: {proven} proven, {notices}",
        took,
    )


async def measure(data: Path, table: Table) -> None:
    await asked(data, FAULTS["none"], MODEL)  # warm up: LiteLLM takes seconds to load
    for name, reply in FAULTS.items():
        status, said, took = await asked(data, reply, MODEL)
        _, fallback, again = await asked(data, reply, f"{MODEL},embedded")
        table.add_row(name, status, said, f"{took:.1f} s", fallback, f"{again:.1f} s")


def seconds(command: list[str], settings: Mapping[str, str]) -> float:
    """Return the CPU seconds of a command in a new process, best of three."""

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=dict(settings))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(run() for _ in range(3))


def startup(data: Path, table: Table) -> None:

    here = {**os.environ, "CITEWELL_DATA_DIR": str(data)}
    citewell = [sys.executable, "-m", "citewell"]
    subprocess.run(
        [*citewell, "ingest", str(data / "book")], check=True, capture_output=True, env=here
    )
    idle = seconds([sys.executable, "-c", "pass"], here)
    table.add_row(
        "import citewell",
        f"{seconds([sys.executable, '-c', 'import citewell'], here) - idle:.2f} s",
    )
    with ChatServer(Reply(TEXT)) as server:
        for model in ("embedded", "openai/told", MODEL):
            own = here | {"CITEWELL_MODEL": model, "CITEWELL_LLM__BASE_URL": server.url}
            took = seconds([*citewell, "ask", ASKED], own)
            table.add_row(f"citewell ask, CITEWELL_MODEL={model}", f"{took:.2f} s")


def main() -> None:
    logging.disable(logging.ERROR)
    faults = Table(
        "fault", "status", "the reader gets", "after", "with embedded behind it", "after"
    )
    starts = Table("in a fresh process", "CPU seconds, least of three")
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        data = Path(folder)
        ingest(write_tiny_book(data / "book"), data / "books", HashEmbedder(), book="tiny")
        asyncio.run(measure(data, faults))
        Console(width=170).print(faults)
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        write_tiny_book(Path(folder) / "book")
        startup(Path(folder), starts)
        Console(width=100).print(starts)


if __name__ == "__main__":
    main()
