"""Some hundreds of requests that nobody would send, with keys and limits on: nothing breaks."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.api.serving import ORIGIN, access, bearer, limits, new_key, serving
from tests.servers import build_services

REQUESTS = 400
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "x" * 500]
PATHS = [
    *("/chat/run", "/chat/stream", "/agent/ask", "/assistant/chat", "/workflows/book/chat"),
    *("/query", "/search", "/search_book", "/v1/chat/completions", "/v1/models", "/mcp", "/books"),
    *("/threads", "/threads/{}", "/sessions/{}", "/conversations/{}", "/answers", "/answers/{}"),
    *("/streams/{}", "/books/{}/toc", "/books/tiny/sections/{}", "/read/tiny/{}", "/ready"),
    *("/metrics", "/feedback", "/widget.js", "/", "/nowhere/{}", "/docs", "/health/{}"),
]
TEXTS = [
    *(
        "",
        " ",
        "a",
        "What is a lens?",
        "\ud800",
        "\udfff\ud800",
        "\0",
        "\u202e",
        "💡" * 300,
        "[" * 900,
    ),
    *("1e999999999", "7" * 5_000, "../../etc/passwd", "%00", "{}", "<a@" * 300, "e.g. " * 300),
    *("0d3d5c7e-0000-4000-8000-000000000000", "null", "${x}", "'; DROP TABLE threads; --"),
]
FIELDS = [
    *("message", "query", "query_text", "queryText", "session_id", "thread_id", "conversation_id"),
    *("sessionId", "conversationId", "user_context", "context_mode", "book", "filters", "top_k"),
    *("similarity_threshold", "messages", "model", "stream", "timestamp", "verdict", "near"),
]


def _value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 3 else 6)
    if kind == 6:
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 7:
        return {
            chance.choice(FIELDS): _value(chance, depth + 1) for _ in range(chance.randrange(4))
        }
    plain = (
        chance.randint(-(2**70), 2**70),
        chance.random(),
        True,
        None,
        chance.choice([-1, 0, 1]),
    )
    return plain[kind] if kind < len(plain) else chance.choice(TEXTS)


def _body(chance: random.Random) -> bytes:
    named = {field: _value(chance) for field in chance.sample(FIELDS, chance.randrange(1, 6))}
    if chance.random() < 0.7:
        named[chance.choice(FIELDS[:4])] = chance.choice(TEXTS)
    sent = json.dumps(named).encode()
    spoilt = (sent, sent, sent, sent[:-1], b"[" * 5_000, b"\xff\xfe", b"", sent * 200)
    return chance.choice(spoilt)


def _requests(keys: list[dict[str, str]], seed: int = 7) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    for _ in range(REQUESTS):
        named = httpx.QueryParams({"q": chance.choice(TEXTS).encode("utf-8", "replace").decode()})
        place = chance.choice(
            ["x", "%ED%A0%80", "%00", "..%2f", "a" * 3_000, "tiny", "%F0%9F%92%A1"]
        )
        headers: dict[str, str | bytes] = {
            **chance.choice(keys),
            "content-type": "application/json",
        }
        if chance.random() < 0.2:
            headers[
                chance.choice(["last-event-id", "x-request-id", "x-citewell-reader", "host"])
            ] = chance.choice([b"", b"x", b"a b", "é".encode(), b"9" * 2_000])
        yield {
            "method": chance.choice(["POST"] * 10 + METHODS),
            "url": f"{chance.choice(PATHS).format(place)}?{named}",
            "headers": headers,
            "content": _body(chance),
        }


async def test_no_request_breaks_the_service_or_puts_it_to_sleep(tiny_copy: Path) -> None:
    services = build_services(tiny_copy)
    secret, admin = await new_key(services), await new_key(services, "ask", "admin")
    widget = await new_key(services, origins=(ORIGIN,))
    keys = [bearer(secret), bearer(admin), bearer(widget, Origin=ORIGIN), bearer("cw_wrong"), {}]
    counted = limits(
        per_key="9000/minute", per_session="9000/minute", per_ip="9000/minute", wrong_keys="20/hour"
    )
    seen: set[int] = set()
    async with serving(services, **access(mode="keys"), **counted) as client:
        for request in _requests(keys):
            reply = await client.request(**request)
            seen.add(reply.status_code)

            assert reply.status_code not in (500, 507), (request, reply.text)
            assert "Traceback" not in reply.text
            assert (await client.get("/health")).status_code == 200

    assert {200, 401, 404, 405, 413, 422, 429, 501} <= seen
