"""Whatever goes wrong, the answer has one shape."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
import uvicorn

from citewell.api.app import create_app
from citewell.api.middleware import requests as guards
from citewell.settings import ServeOptions
from citewell.wiring import Services
from tests.api.serving import ASKED, ORIGIN, limits, serving

JSON = {"content-type": "application/json"}
PROBLEM = "application/problem+json"
EACH = {"401", "403", "413", "415", "422", "429", "500", "503"}
SHAPE = {"type", "title", "status", "detail", "code", "suggested_action", "request_id"}
LARGE = b'{"message": "' + b"x" * 600_000 + b'"}'


def assert_shape(reply: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    assert set(problem) >= SHAPE
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"]
    assert problem["request_id"] == reply.headers["x-request-id"]
    return problem


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{not json", JSON, 422, "InvalidRequest"),
        (b'{"message": ""}', JSON, 422, "InvalidRequest"),
        (b'{"message": "\xff\xfe"}', JSON, 400, "BadRequest"),
        (b"[" * 50_000, JSON, 400, "BadRequest"),
        (b'{"message": "\\ud800"}', JSON, 422, "InvalidRequest"),
        (b'{"message": "a"}', {}, 415, "UnsupportedMediaType"),
        (b"message=a", {"content-type": "application/x-www-form-urlencoded"}, 415, None),
        (b'{"message": "a"}', {"content-type": "application/json; charset=utf-16"}, 415, None),
        (b"\x1f\x8b\x08", {**JSON, "content-encoding": "gzip"}, 415, None),
        (LARGE, JSON, 413, "BodyTooLarge"),
        (LARGE, {}, 413, "BodyTooLarge"),
        (LARGE * 11, JSON, 413, "BodyTooLarge"),
        (b"", {}, 422, "InvalidRequest"),
    ],
)
async def test_a_body_that_cannot_be_used_is_refused_in_the_one_shape(
    client: httpx.AsyncClient, body: bytes, headers: dict[str, str], status: int, code: str | None
) -> None:
    for path in ("/chat/run", "/chat/stream"):
        reply = await client.post(path, content=body, headers=headers)

        problem = assert_shape(reply, status, code or "UnsupportedMediaType")
        assert problem["suggested_action"]


async def test_the_wrong_field_is_named(client: httpx.AsyncClient) -> None:
    reply = await client.post("/chat/run", json={"message": "a", "top_k": 11})

    problem = assert_shape(reply, 422, "InvalidRequest")
    assert [error["field"] for error in problem["errors"]] == ["top_k"]


async def test_json_of_another_kind_and_charset_is_json_too(client: httpx.AsyncClient) -> None:
    for kind in ("application/json; charset=UTF-8", "application/problem+json"):
        reply = await client.post(
            "/chat/run", content=json.dumps(ASKED), headers={"content-type": kind}
        )
        assert reply.status_code == 200


async def test_a_wrong_method_is_told_all_that_are_right(client: httpx.AsyncClient) -> None:
    thread = await client.put("/threads/0d3d5c7e-0000-4000-8000-000000000000")
    asked = await client.get("/chat/run")

    assert_shape(thread, 405, "MethodNotAllowed")
    assert {"DELETE", "GET"} <= set(thread.headers["allow"].split(", "))
    assert asked.headers["allow"] == "POST"


async def test_what_is_not_there_is_told_in_the_one_shape(client: httpx.AsyncClient) -> None:
    assert_shape(await client.get("/nowhere"), 404, "NotFound")
    assert_shape(await client.get("/read/none/none.md"), 404, "UnknownBook")
    assert_shape(
        await client.get("/threads/0d3d5c7e-0000-4000-8000-000000000000"), 404, "UnknownThread"
    )
    assert_shape(await client.get("/threads/me and you"), 404, "UnknownThread")
    assert_shape(await client.get("/threads/me%0Ayou"), 422, "InvalidRequest")


async def test_an_unforeseen_error_has_the_headers_that_every_answer_has(tiny: Services) -> None:
    class Broken:
        def answer(self, _: object) -> None:
            raise RuntimeError("secret path")

    broken = replace(tiny, answerer=Broken())  # type: ignore[arg-type]
    named = ServeOptions(cors_origins=(ORIGIN,))
    async with serving(broken, serve=named) as client:
        reply = await client.post("/chat/run", json=ASKED, headers={"Origin": ORIGIN})

    assert_shape(reply, 500, "Unexpected")
    assert "secret" not in reply.text
    assert reply.headers["access-control-allow-origin"] == ORIGIN


async def test_the_one_shape_is_described_for_every_route(client: httpx.AsyncClient) -> None:
    schema = (await client.get("/openapi.json")).json()

    assert set(schema["components"]["schemas"]["Problem"]["required"]) == SHAPE - {"type"}
    for path, operations in schema["paths"].items():
        own = path.startswith("/v1/")  # what clients of OpenAI call is described as they know it
        shape, statuses = ("application/json", EACH - {"422"}) if own else (PROBLEM, EACH)
        for operation in operations.values():
            for status in statuses:
                content = operation["responses"][status]["content"]
                if shape not in content:
                    assert operation["tags"] == ["health"]
                elif own:
                    assert content[shape]["schema"]["$ref"].endswith("/OpenAIError")


async def test_a_body_that_does_not_arrive_is_not_waited_for(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "BODY_TIMEOUT_SECONDS", 0.001)

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"message": '
        await asyncio.Event().wait()

    assert_shape(await client.post("/chat/run", content=slow(), headers=JSON), 408, "BodyTooSlow")


async def test_a_chunked_body_is_cut_off_at_the_limit_over_a_real_socket(tiny: Services) -> None:
    """No `Content-Length` warns of it: the bytes have to be counted as they come."""
    server = uvicorn.Server(uvicorn.Config(create_app(tiny), log_level="error"))
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    serving = asyncio.create_task(server.serve([listening]))
    try:
        refused = await _send(port, chunks=600)
        taken = await _send(port, chunks=1)
    finally:
        server.should_exit = True
        await serving

    assert refused.startswith("HTTP/1.1 413 ")
    assert '"code":"BodyTooLarge"' in refused
    assert "connection: close" in refused.lower()
    assert taken.startswith("HTTP/1.1 422 "), "a short one is read and found to be no question"


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "PATCH", "QUERY"])
async def test_a_body_is_cut_off_at_the_limit_whatever_the_method(
    tiny: Services, method: str
) -> None:
    """Nothing reads the body of a GET, so nothing may gather it either."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100_000_000:
            sent += 65_536
            yield b"[" * 65_536

    async with serving(tiny, **limits(local=True)) as client:
        reply = await client.request(method, "/threads", content=endless())
        short = await client.request("GET", "/books", content=b'{"session_id": "mine"}')

    assert reply.status_code == 413
    assert sent < 2 * guards.MAX_DISCARDED_BYTES
    assert short.status_code == 200


@pytest.mark.parametrize("method", ["BREW", "A" * 60_000])
async def test_a_method_that_http_does_not_know_is_refused_and_not_remembered(
    client: httpx.AsyncClient, method: str
) -> None:
    reply = await client.request(method, "/health")
    figures = (await client.get("/metrics")).text

    assert_shape(reply, 501, "UnknownMethod")
    assert 'method="other"' in figures
    assert method[:100] not in figures


async def test_a_request_keeps_the_id_that_it_comes_with(client: httpx.AsyncClient) -> None:
    kept = await client.get("/nowhere", headers={"X-Request-ID": "edge-7f3a.42"})
    others = [
        await client.get("/nowhere", headers={"X-Request-ID": wrong})
        for wrong in ("", "two words", "x" * 129, 'a"b')
    ]

    assert kept.headers["x-request-id"] == kept.json()["request_id"] == "edge-7f3a.42"
    assert all(one.headers["x-request-id"].startswith("req_") for one in others)


async def _send(port: int, *, chunks: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /chat/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    writer.write(chunk * chunks + b"0\r\n\r\n")
    reply = (await reader.read()).decode()
    writer.close()
    return reply
