"""How often anyone may come: per key, conversation and address, in memory and over Redis."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import SecretStr

from citewell.api.middleware.callers import client_address
from citewell.auth import rate_limits as counting
from citewell.domain import Question
from citewell.events import Event
from citewell.settings import ServeOptions
from citewell.wiring import Services
from tests.api.serving import ASKED, ORIGIN, access, bearer, limits, new_key, serving
from tests.redis_server import RedisServer
from tests.servers import build_services

PUBLIC = {"serve": ServeOptions(host="0.0.0.0")}
TRUSTED = (ip_network("10.0.0.0/8"),)
OPEN = {**PUBLIC, **access(mode="open")}


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


def redis(server: RedisServer) -> dict[str, SecretStr]:
    return {"redis_url": SecretStr(server.url)}


async def test_a_key_has_so_many_requests_and_is_told_how_many_are_left(
    services: Services,
) -> None:
    mine, others = await new_key(services), await new_key(services)
    async with serving(services, **limits(per_key="2/hour")) as client:
        replies = [await client.get("/books", headers=bearer(mine)) for _ in range(3)]
        other = await client.get("/books", headers=bearer(others))

    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert [reply.headers["ratelimit-limit"] for reply in replies] == ["2", "2", "2"]
    assert [reply.headers["ratelimit-remaining"] for reply in replies] == ["1", "0", "0"]
    refused = replies[-1]
    assert refused.json()["code"] == "RateLimited"
    assert refused.json()["detail"] == "More than 2 requests an hour came with this key."
    assert 0 < int(refused.headers["retry-after"]) <= 3600
    assert refused.headers["ratelimit-reset"] == refused.headers["retry-after"]
    assert other.status_code == 200


async def test_by_default_a_key_has_100_a_minute_and_an_address_100_an_hour(
    services: Services,
) -> None:
    secret, widget = await new_key(services), await new_key(services, origins=(ORIGIN,))
    async with serving(services) as client:
        keyed = await client.get("/books", headers=bearer(secret))
        public = await client.get("/books", headers=bearer(widget, Origin=ORIGIN))

    assert (keyed.headers["ratelimit-limit"], keyed.headers["ratelimit-remaining"]) == ("100", "99")
    assert int(keyed.headers["ratelimit-reset"]) <= 60
    assert public.headers["ratelimit-limit"] == "100"


async def test_a_conversation_has_so_many_requests_whether_in_the_body_or_the_path(
    services: Services,
) -> None:
    secret, session = await new_key(services), str(uuid4())
    async with serving(services, **limits(per_session="2/hour")) as client:
        body = {**ASKED, "session_id": session}
        asked = await client.post("/assistant/chat", json=body, headers=bearer(secret))
        read = await client.get(f"/assistant/sessions/{session}", headers=bearer(secret))
        streamed = await client.post("/assistant/chat/stream", json=body, headers=bearer(secret))
        elsewhere = await client.post("/assistant/chat", json=ASKED, headers=bearer(secret))

    assert (asked.status_code, read.status_code, elsewhere.status_code) == (200, 200, 200)
    assert (asked.headers["ratelimit-limit"], asked.headers["ratelimit-remaining"]) == ("2", "1")
    assert (streamed.status_code, streamed.json()["code"]) == (429, "RateLimited")
    assert streamed.headers["ratelimit-remaining"] == "0"
    assert "in this conversation" in streamed.json()["detail"]


async def test_nobody_uses_up_what_another_has_in_a_conversation_of_the_same_name(
    services: Services,
) -> None:
    mine, others = await new_key(services), await new_key(services)
    body = {**ASKED, "session_id": str(uuid4())}
    async with serving(services, **limits(per_session="1/hour")) as client:
        first = await client.post("/assistant/chat", json=body, headers=bearer(others))
        second = await client.post("/assistant/chat", json=body, headers=bearer(mine))

    assert first.status_code == 200
    assert second.status_code == 404, "not 429: it is another's, and so unknown"


async def test_guessing_keys_is_limited_by_address_and_right_ones_are_let_in(
    services: Services,
) -> None:
    secret = await new_key(services)
    settings = {**PUBLIC, **access(trusted_proxies=TRUSTED), **limits(wrong_keys="2/hour")}
    async with serving(services, address="10.0.0.2", **settings) as client:

        async def status(key: str, address: str = "203.0.113.1") -> int:
            headers = bearer(key, **{"X-Forwarded-For": address})
            return (await client.get("/books", headers=headers)).status_code

        guessed = [await status(f"cw_{number}") for number in range(4)]
        right, elsewhere = await status(secret), await status("cw_5", "203.0.113.2")
        headers = {"X-API-Key": "cw_6", "X-Forwarded-For": "203.0.113.1"}
        refused = await client.post("/chat/run", content=b"{", headers=headers)

    assert guessed == [401, 401, 429, 429]
    assert (right, elsewhere) == (200, 401)
    assert (refused.status_code, refused.json()["code"]) == (429, "RateLimited")
    assert "with wrong keys from this address" in refused.json()["detail"]
    assert 0 < int(refused.headers["retry-after"]) <= 3600


async def test_callers_without_a_secret_key_share_what_their_address_has(
    services: Services,
) -> None:
    settings = {**OPEN, **limits(per_ip="2/hour")}
    async with serving(services, address="198.51.100.7", **settings) as client:
        forged = {"X-Forwarded-For": "203.0.113.1"}
        replies = [
            await client.get("/books"),
            await client.get("/books", headers=forged),
            await client.post("/chat/run", content=b"{", headers=forged),
        ]
        health = await client.get("/health")
        page = await client.get("/")

    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert "from this address" in replies[-1].json()["detail"]
    assert (health.status_code, page.status_code) == (200, 200)


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("198.51.100.7", "203.0.113.1", "198.51.100.7"),
        ("10.0.0.2", "203.0.113.1", "203.0.113.1"),
        ("10.0.0.2", "1.2.3.4, 203.0.113.1, 10.0.0.9", "203.0.113.1"),
        ("10.0.0.2", "10.0.0.8", "10.0.0.8"),
        ("10.0.0.2", "", "10.0.0.2"),
        ("10.0.0.2", "nonsense", "nonsense"),
        ("2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.7", "", "198.51.100.7"),
    ],
)
def test_an_address_is_believed_only_if_a_trusted_proxy_tells_it(
    peer: str, forwarded: str, client: str
) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {"type": "http", "client": (peer, 1), "headers": headers}

    assert client_address(scope, TRUSTED) == client


async def test_readers_behind_a_trusted_proxy_are_told_apart(services: Services) -> None:
    settings = {**PUBLIC, **access(mode="open", trusted_proxies=TRUSTED), **limits(per_ip="1/hour")}
    async with serving(services, address="10.0.0.2", **settings) as client:
        replies = [
            await client.get("/books", headers={"X-Forwarded-For": address})
            for address in ("203.0.113.1", "203.0.113.2", "203.0.113.1")
        ]

    assert [reply.status_code for reply in replies] == [200, 200, 429]


async def test_limits_can_be_turned_off_or_hold_for_the_operator_too(services: Services) -> None:
    off = limits(per_ip="", per_session="", per_key="")
    async with serving(services, **OPEN, **off) as client:
        assert "ratelimit-limit" not in (await client.get("/books")).headers
    async with serving(services, **limits(per_ip="1/hour", local=True)) as client:
        replies = [await client.get("/books") for _ in range(2)]

    assert [reply.status_code for reply in replies] == [200, 429]


class Waiting:
    """A pipeline that answers when it is told to."""

    def __init__(self, services: Services) -> None:
        self.answerer = services.answerer
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        self.begun.set()
        await self.go_on.wait()
        async for event in self.answerer.answer(question):
            yield event


async def test_a_question_too_many_at_once_is_asked_to_come_back(services: Services) -> None:
    waiting = Waiting(services)
    services = replace(services, answerer=waiting)
    async with serving(services, **OPEN, **limits(answers_at_once=1)) as client:
        first = asyncio.create_task(client.post("/chat/stream", json=ASKED))
        await waiting.begun.wait()
        second = await client.post("/chat/run", json=ASKED)
        read = await client.get("/books")
        waiting.go_on.set()
        answered = await first
        third = await client.post("/chat/run", json=ASKED)

    assert (second.status_code, second.json()["code"]) == (503, "TooBusy")
    assert second.headers["retry-after"] == "1"
    assert (answered.status_code, read.status_code, third.status_code) == (200, 200, 200)


@pytest.mark.smoke
async def test_processes_count_together_over_redis(
    services: Services, redis_server: RedisServer
) -> None:
    settings = {**OPEN, **redis(redis_server), **limits(per_ip="3/hour")}
    async with serving(services, **settings) as one, serving(services, **settings) as two:
        replies = [await client.get("/books") for client in (one, two, one, two, one)]

    assert [reply.status_code for reply in replies] == [200, 200, 200, 429, 429]
    assert [reply.headers["ratelimit-remaining"] for reply in replies] == list("21000")
    assert int(replies[-1].headers["retry-after"]) > 0


async def test_while_redis_is_down_each_process_counts_for_itself_and_says_so_once(
    services: Services,
    redis_server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {**OPEN, **redis(redis_server), **limits(per_ip="2/hour")}
    async with serving(services, **settings) as client:
        counted = await client.get("/books")
        redis_server.stop()
        down = [await client.get("/books") for _ in range(3)]
        redis_server.start()
        monkeypatch.setattr(counting, "REDIS_RETRY_SECONDS", -1.0)
        still = await client.get("/books")
        ready = await client.get("/ready")

    assert (counted.status_code, counted.headers["ratelimit-remaining"]) == (200, "1")
    assert [reply.status_code for reply in down] == [200, 200, 429]
    assert still.status_code == 429, "a Redis that failed is left alone for a moment"
    said = [r.getMessage() for r in caplog.records if r.name == "citewell.auth"]
    assert len(said) == 1
    assert said[0].startswith("Redis does not answer, this process counts by itself until it does")
    assert ready.status_code == 200


async def test_a_redis_that_is_back_counts_again(
    services: Services,
    redis_server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "REDIS_RETRY_SECONDS", 0.0)
    caplog.set_level(logging.WARNING, "citewell.auth")
    settings = {**OPEN, **redis(redis_server), **limits(per_ip="2/hour")}
    async with serving(services, **settings) as client:
        redis_server.stop()
        down = [await client.get("/books") for _ in range(2)]
        redis_server.start()
        back = await client.get("/books")

    assert [reply.headers["ratelimit-remaining"] for reply in down] == ["1", "0"]
    assert (back.status_code, back.headers["ratelimit-remaining"]) == (200, "1")
    assert "Redis answers again" in caplog.text


async def test_an_operator_may_want_no_request_that_is_not_counted(
    services: Services, redis_server: RedisServer
) -> None:
    settings = {**OPEN, **redis(redis_server), **limits(without_redis="refuse")}
    async with serving(services, **settings) as client:
        before = await client.get("/books")
        redis_server.stop()
        refused = await client.get("/books")
        page = await client.get("/")
        ready = await client.get("/ready")

    assert (before.status_code, page.status_code) == (200, 200)
    assert ready.json()["parts"]["redis"]["detail"] == "Redis does not answer."
    assert (refused.status_code, refused.json()["code"]) == (503, "LimitsUnavailable")
    assert refused.headers["retry-after"] == "5"
