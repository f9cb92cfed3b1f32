"""What callers may send, whatever the contract: only what can be kept and written again."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.live_server import ASKED, numbers
from tests.api.serving import serving
from tests.api.sse import parse_sse
from tests.api.test_errors_api import assert_shape
from tests.servers import build_services

SESSION = "0d3d5c7e-0000-4000-8000-000000000000"
NUL = "light\0house"


def _workflow(**fields: Any) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {"queryText": "a lens", "timestamp": now, "sessionId": "tab", **fields}


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/chat/run", {"message": NUL}, "message"),
        ("POST", "/chat/stream", {"message": NUL}, "message"),
        ("POST", "/chat/run", {**ASKED, "book": NUL}, "book"),
        ("POST", "/chat/run", {**ASKED, "filters": {"chapter": NUL}}, "filters.chapter"),
        ("POST", "/chat/run", {**ASKED, "user_context": {"page": [NUL]}}, "user_context"),
        ("POST", "/agent/ask", {"query_text": NUL}, "query_text"),
        (
            "POST",
            "/agent/ask",
            {"query_text": "a", "context_mode": "user_provided", "user_context": NUL * 9},
            "user_context",
        ),
        ("POST", "/assistant/chat", {"message": NUL}, "message"),
        ("POST", "/search", {"query": NUL}, "query"),
        ("POST", "/search_book", {"query": NUL}, "query"),
        ("POST", "/workflows/book/chat", _workflow(queryText=NUL), "queryText"),
        ("POST", "/workflows/book/chat", _workflow(sessionId=NUL), "sessionId"),
        ("POST", "/query", {"query": NUL}, "query"),
        ("POST", "/query", {"query": "a", "user_context": {NUL: 1}}, "user_context"),
        ("PATCH", f"/threads/{SESSION}", {"topic_summary": NUL}, "topic_summary"),
    ],
)
async def test_the_one_character_that_postgresql_cannot_keep_is_refused_by_its_field(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any], field: str
) -> None:
    reply = await client.request(method, path, json=body)

    problem = assert_shape(reply, 422, "InvalidRequest")
    assert problem["errors"] == [{"field": field, "message": "must not contain the character NUL"}]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/chat/run", {**ASKED, "top_k": "3"}, "top_k"),
        ("/chat/run", {**ASKED, "top_k": True}, "top_k"),
        ("/chat/run", {**ASKED, "similarity_threshold": "0.5"}, "similarity_threshold"),
        ("/chat/run", {**ASKED, "stream": "true"}, "stream"),
        ("/chat/run", {**ASKED, "stream": 1}, "stream"),
        ("/search", {"query": "a", "top_k": "3"}, "top_k"),
        ("/search_book", {"query": "a", "topK": False}, "topK"),
        ("/workflows/book/chat", _workflow(timestamp=datetime.now(UTC).timestamp()), "timestamp"),
        ("/chat/run", {**ASKED, "session_id": SESSION.replace("-", "")}, "session_id"),
        ("/chat/run", {**ASKED, "session_id": f"urn:uuid:{SESSION}"}, "session_id"),
    ],
)
async def test_what_is_documented_as_one_type_is_not_taken_as_another(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    problem = assert_shape(await client.post(path, json=body), 422, "InvalidRequest")

    assert [error["field"] for error in problem["errors"]] == [field]


async def test_a_whole_number_may_be_written_with_a_point(client: httpx.AsyncClient) -> None:
    assert (await client.post("/search", json={"query": "a lens", "top_k": 1.0})).is_success


@pytest.mark.parametrize(
    "body",
    [
        b'{"message": "a", "user_context": {"\\udfff": 1}}',
        b'{"message": "a", "filters": {"\\ud800": "x"}}',
        b'{"message": "a", "top_k": 1e400}',
        b'{"message": "a", "similarity_threshold": NaN}',
        b'{"message": "a", "user_context": {"a": -Infinity}}',
        b'{"message": "a", "user_context": {"a": ' + b"[" * 300 + b"]" * 300 + b"}}",
    ],
)
async def test_what_json_can_hold_but_nobody_can_write_is_refused(
    client: httpx.AsyncClient, body: bytes
) -> None:
    reply = await client.post(
        "/chat/run", content=body, headers={"content-type": "application/json"}
    )

    assert_shape(reply, 422, "InvalidRequest")


async def test_a_stream_of_before_does_not_go_on_behind_an_event_of_an_absurd_number(
    tiny_data: Path,
) -> None:
    """Streams of a process that has ended are read from the database, which cannot count so far."""
    async with serving(build_services(tiny_data)) as before:
        events = parse_sse((await before.post("/chat/stream", json=ASKED)).text)
    stream = events[0][0].partition(":")[0]

    async with serving(build_services(tiny_data)) as client:
        address, last = f"/streams/{stream}", f"{stream}:{'9' * 40}"
        absurd = await client.get(address, headers={"last-event-id": last})
        real = await client.get(address, headers={"last-event-id": events[0][0]})

    assert_shape(absurd, 404, "UnknownStream")
    assert numbers(parse_sse(real.text)) == numbers(events)[1:]
