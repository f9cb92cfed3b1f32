"""What stands before the body of a request is bounded before anything parses it."""

import json
from pathlib import Path
from time import perf_counter

import httpx
import pytest

from citewell.telemetry import TracingOptions, close_tracing, open_tracing
from citewell.wiring import Services
from tests.api.serving import ASKED, access, new_key, serving
from tests.servers import build_services

SECONDS = 0.5
"""An idle machine takes milliseconds; what is read in quadratic time takes many seconds."""
SIGNS = '\\"' * 30_000
TOKEN = "r" * 32
NAME = "citewell_reader"


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


async def timed(client: httpx.AsyncClient, path: str, **sent: object) -> tuple[int, float]:
    begun = perf_counter()
    reply = await client.request("GET", path, **sent)  # type: ignore[arg-type]
    return reply.status_code, perf_counter() - begun


@pytest.mark.parametrize("name", ["a", NAME])
@pytest.mark.parametrize("path", ["/health", "/threads", "/", "/nowhere"])
async def test_a_cookie_of_any_size_holds_nobody_up(
    services: Services, path: str, name: str
) -> None:
    await new_key(services)
    async with serving(services) as client:
        for length in (4_000, 15_000, 60_000):
            cookie = f'{name}="{SIGNS[:length]}"'
            status, seconds = await timed(client, path, headers={"Cookie": cookie})
            split = [("Cookie", cookie[:3_500])] * (length // 3_500)
            again, more = await timed(client, path, headers=split)

            assert max(seconds, more) < SECONDS
            assert (status == 431) is (length > 16_000)
            assert again in (status, 431)


async def test_a_large_head_is_refused_with_a_reason_on_every_route(services: Services) -> None:
    async with serving(services) as client:
        for path in ("/health", "/chat/run", "/openapi.json", "/widget.js"):
            large = await client.get(path, headers={"X-Api-Key": "a" * 16_000})
            long = await client.get(f"{path}?{'a=1&' * 2_001}")

            assert (large.status_code, large.json()["code"]) == (431, "HeadersTooLarge")
            assert (long.status_code, long.json()["code"]) == (414, "AddressTooLong")
            assert large.json()["request_id"] == large.headers["x-request-id"]
        asked = {"Content-Type": "application/json", "Cookie": "a=1; " * 1_000}
        reply = await client.post("/chat/run", content=json.dumps(ASKED), headers=asked)

    assert reply.status_code == 200


@pytest.mark.parametrize(
    "kind", ['application/json; a="' + ";" * 15_000, "application/json" + ";" * 15_000]
)
async def test_a_content_type_is_read_once(services: Services, kind: str) -> None:
    async with serving(services) as client:
        begun = perf_counter()
        body = json.dumps({"message": " "})
        reply = await client.post("/chat/run", content=body, headers={"Content-Type": kind})

    assert reply.status_code == 422
    assert perf_counter() - begun < SECONDS


@pytest.mark.parametrize(
    ("sent", "known"),
    [
        (f"{NAME}={TOKEN}", True),
        (f"theme=dark; {NAME}={TOKEN}; other=1", True),
        (f"{NAME}={TOKEN};theme=dark", True),
        (f'theme="a; b"; {NAME}={TOKEN}', True),
        (f"{NAME}={'s' * 32}; {NAME}={TOKEN}", True),
        (f"x{NAME}={TOKEN}", False),
        (f"{NAME}={TOKEN}!", False),
        (f"{NAME}=short", False),
        ("", False),
    ],
)
async def test_the_readers_cookie_is_found_among_others(
    services: Services, sent: str, known: bool
) -> None:
    async with serving(services, **access(mode="open")) as client:
        owner = {"X-Citewell-Reader": TOKEN}
        session = (await client.post("/chat/run", json=ASKED, headers=owner)).json()["session_id"]
        read = await client.get(f"/threads/{session}", headers={"Cookie": sent} if sent else {})

    assert read.status_code == (200 if known else 404)


async def test_tracing_reads_no_baggage(services: Services) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    options = TracingOptions(endpoint="http://127.0.0.1:9/v1/traces")
    provider = open_tracing(options)
    assert provider
    try:
        from opentelemetry import baggage, propagate

        found = propagate.extract({"baggage": "a=1", "traceparent": f"00-{'1' * 32}-{'2' * 16}-01"})
    finally:
        close_tracing(provider)
    assert not baggage.get_all(found)
