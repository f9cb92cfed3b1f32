"""Streams through a real nginx that compresses what it passes on."""

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from citewell.api.app import create_app
from citewell.wiring import Services
from tests.api.live_server import ASKED, Gated, numbers, read_some, served
from tests.api.nginx import nginx_before
from tests.api.sse import parse_sse

pytestmark = pytest.mark.slow


async def test_a_stream_cut_in_the_middle_is_resumed_through_nginx_with_gzip(
    tiny: Services, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    gated = Gated(tiny.answerer, gate.wait)
    app = create_app(replace(tiny, answerer=gated))
    async with served(app) as upstream, httpx.AsyncClient(timeout=60) as client:
        with nginx_before(upstream, tmp_path) as address:
            # The gate is shut: what is read here was not held back until the end.
            before = await read_some(client, f"{address}/chat/stream", 2)
            gate.set()
            after = await client.post(
                f"{address}/chat/stream", json=ASKED, headers={"last-event-id": before[-1][0]}
            )
            identity = before[0][0].partition(":")[0]
            again = await client.get(f"{address}/streams/{identity}")

    events = [*before, *parse_sse(after.text)]
    assert after.headers["server"].startswith("nginx")
    assert after.headers["content-encoding"] == "gzip"
    assert numbers(events) == list(range(1, len(events) + 1))
    assert (events[0][1], events[-1][1]) == ("start", "done")
    told = "".join(data["text"] for _, name, data in events if name == "sentence")
    assert told == events[-1][2]["response"]
    assert parse_sse(again.text) == events
    assert gated.begun == 1


async def test_a_reader_who_leaves_nginx_for_good_stops_the_work(
    tiny: Services, tmp_path: Path
) -> None:
    from tests.api.live_server import with_streams

    gated = Gated(tiny.answerer, asyncio.Event().wait)
    app = create_app(replace(with_streams(tiny, grace_seconds=0), answerer=gated))
    async with served(app) as upstream, httpx.AsyncClient(timeout=60) as client:
        with nginx_before(upstream, tmp_path) as address:
            await read_some(client, f"{address}/chat/stream", 2)
            await gated.closed.wait()
