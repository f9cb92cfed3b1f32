"""Text that JSON can carry and a database cannot keep, at every door, on SQLite and PostgreSQL."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from citewell.options import AnswerOptions
from citewell.wiring import Services
from tests.api.serving import ASKED, limits, serving
from tests.api.sse import parse_sse
from tests.servers import build_services
from tests.servers.scripted import streams

JSON = {"content-type": "application/json"}
SESSION = "0d3d5c7e-0000-4000-8000-000000000000"
SENT = [
    ("POST", "/chat/run", {"message": "BAD"}),
    ("POST", "/chat/stream", {"message": "BAD"}),
    ("POST", "/chat/run", {**ASKED, "session_id": "BAD"}),
    ("POST", "/chat/run", {**ASKED, "book": "BAD"}),
    ("POST", "/chat/run", {**ASKED, "filters": {"chapter": "BAD"}}),
    ("POST", "/chat/run", {**ASKED, "user_context": {"page": "BAD"}}),
    ("POST", "/chat/run", {**ASKED, "user_context": "BAD" * 9, "context_mode": "user_provided"}),
    ("POST", "/agent/ask", {"query_text": "BAD"}),
    ("POST", "/agent/ask", {"query_text": "a lens", "conversation_id": "BAD"}),
    ("POST", "/assistant/chat", {"message": "BAD"}),
    ("POST", "/workflows/book/chat", {"queryText": "BAD", "sessionId": "tab"}),
    ("POST", "/workflows/book/chat", {"queryText": "a lens", "sessionId": "BAD"}),
    ("POST", "/query", {"query": "BAD"}),
    ("POST", "/query", {"query": "a lens", "user_context": {"BAD": 1}}),
    ("POST", "/search", {"query": "BAD"}),
    ("POST", "/search_book", {"query": "BAD"}),
    ("PATCH", f"/threads/{SESSION}", {"topic_summary": "BAD"}),
]
ADDRESSES = [
    "/threads/{}",
    "/threads/{}/messages",
    "/agent/sessions/{}",
    "/sessions/{}",
    "/conversations/{}",
    "/answers/{}",
    "/streams/{}",
    "/books/{}/toc",
    "/read/tiny/{}",
]


@pytest.fixture
def services(tiny_copy: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setenv("CITEWELL_DATABASE_URL", url)
    return build_services(tiny_copy)


@pytest.mark.parametrize("bad", [r"light\u0000house", r"light\ud800house", r"\udfff\ud800house"])
@pytest.mark.parametrize("limited", [False, True])
async def test_what_cannot_be_kept_is_refused_wherever_it_is_sent(
    services: Services, bad: str, limited: bool
) -> None:
    # Limits look for the conversation in the body, before the route does.
    counted = limits(local=limited, per_ip="", per_session="1000/hour")
    async with serving(services, **counted) as client:
        now = datetime.now(UTC).isoformat()
        for method, path, body in SENT:
            timed = {**body, "timestamp": now} if path.startswith("/workflows") else body
            content = json.dumps(timed).replace("BAD", bad)
            reply = await client.request(method, path, content=content, headers=JSON)

            assert (reply.status_code, reply.json().get("code")) == (422, "InvalidRequest"), content


NAMES = ("session_id", "thread_id", "conversation_id", "sessionId", "conversationId")


@pytest.mark.parametrize("name", NAMES)
async def test_half_a_character_in_a_conversations_id_is_counted_and_refused_where_it_is_read(
    tiny: Services, name: str
) -> None:
    content = json.dumps(ASKED)[:-1] + rf', "{name}": "\ud800"}}'
    async with serving(tiny, **limits(local=True)) as client:
        replies = [
            await client.request(method, path, content=content, headers=JSON)
            for method, path in (("POST", "/chat/run"), ("PATCH", f"/threads/{SESSION}"))
        ]

    # Fields that a contract does not know are ignored.
    asked = 422 if name == "session_id" else 200
    assert [reply.status_code for reply in replies] == [asked, 422]


@pytest.mark.parametrize("bad", ["light%00house", "light%ED%A0%80house", "light%FFhouse"])
async def test_addresses_with_such_text_lead_nowhere(services: Services, bad: str) -> None:
    async with serving(services) as client:
        for path in ADDRESSES:
            assert (await client.get(path.format(bad))).status_code in (404, 422), path
        last = {"last-event-id": b"light\x00\xed\xa0\x80house:1"}
        resumed = await client.post("/chat/stream", json=ASKED, headers=last)

    assert (resumed.status_code, resumed.json()["code"]) == (404, "UnknownStream")


async def test_what_a_model_writes_can_always_be_kept_sent_and_read_again(
    tiny_copy: Path, services: Services
) -> None:
    """Some servers cut a character in two, which JSON allows and UTF-8 does not."""
    lens = "A Fresnel lens is a lens made of concentric rings of glass. [1] "
    said = [lens, "Bright\0 \ud83d", "\ude00 and cut \ud83d", " off \udc00."]
    options = AnswerOptions(unsupported="allow")
    made = build_services(tiny_copy, model=lambda _: streams(said, pause=0), options=options)
    async with serving(made) as client:
        streamed = parse_sse((await client.post("/chat/stream", json=ASKED)).text)
        done: dict[str, Any] = streamed[-1][2]
        thread = (await client.get(f"/threads/{done['session_id']}")).json()
        receipt = (await client.get(f"/answers/{done['answer_id']}")).json()
        again = parse_sse((await client.get(f"/streams/{done['answer_id']}")).text)

    assert streamed[-1][1] == "done"
    assert done["notices"] == []
    assert "Bright� 😀 and cut � off �." in done["response"]
    assert thread["messages"][1]["content"] == receipt["response"] == done["response"]
    assert again == streamed
