"""The chat for other people's pages: its script, and the questions that it asks."""

import gzip
import re
from pathlib import Path

import httpx
import pytest

from citewell.api.routes.static import widget_paths
from citewell.wiring import Services
from tests.api.serving import ASKED, ORIGIN, bearer, new_key, serving
from tests.api.sse import parse_sse
from tests.servers import build_services

ELSEWHERE = {"Origin": "https://any.example"}
MOST = 60_000
"""Bytes that the chat may weigh, packed, without the reader of formulas."""


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


async def test_any_site_may_load_the_script_without_a_key(services: Services) -> None:
    await new_key(services, "ask")
    async with serving(services) as client:
        for address in ("/widget.js", "/widget-math.js"):
            reply = await client.get(address, headers=ELSEWHERE)

            assert reply.status_code == 200
            assert reply.headers["content-type"].startswith("text/javascript")
            assert reply.headers["access-control-allow-origin"] == "*"
            assert reply.headers["cross-origin-resource-policy"] == "cross-origin"
            assert reply.headers["x-content-type-options"] == "nosniff"


async def test_it_is_sent_packed_and_only_when_it_has_changed(client: httpx.AsyncClient) -> None:
    packed = await client.get("/widget.js", headers={"Accept-Encoding": "gzip"})
    whole = await client.get("/widget.js", headers={"Accept-Encoding": "identity"})
    tag = packed.headers["etag"]
    again = await client.get(
        "/widget.js", headers={"Accept-Encoding": "gzip", "If-None-Match": f"W/{tag}"}
    )

    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in whole.headers
    assert packed.content == whole.content
    assert whole.headers["etag"] != tag
    assert "max-age" in packed.headers["cache-control"]
    assert (again.status_code, again.content) == (304, b"")


def test_the_chat_is_light_and_loads_formulas_only_when_an_answer_has_some() -> None:
    sizes = {
        address: len(gzip.compress(file.read_bytes())) for address, file in widget_paths().items()
    }
    print(*(f"{at} {size / 1000:.1f} kB gzipped" for at, size in sizes.items()))  # noqa: T201

    assert set(sizes) == {"/widget.js", "/widget-math.js"}
    assert sizes["/widget.js"] <= MOST


def test_the_script_asks_nobody_else() -> None:
    named = {
        host
        for file in widget_paths().values()
        for host in re.findall(r"https?://([\w.-]+)", file.read_text("utf-8"))
    }

    # Names of formats, and addresses in messages of libraries; none is fetched.
    assert named <= {"www.w3.org", "github.com", "lit.dev"}, named


@pytest.mark.parametrize("address", ["/widget/run", "/widget/stream"])
async def test_a_question_may_have_two_thousand_characters(
    client: httpx.AsyncClient, address: str
) -> None:
    question = "What is a Fresnel lens made of? ".ljust(2000, "!")
    taken = await client.post(address, json={"message": question})
    refused = await client.post(address, json={"message": f"{question}!"})

    assert taken.status_code == 200
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "message"


async def test_it_is_asked_with_a_publishable_key_on_its_own_site_alone(services: Services) -> None:
    key = await new_key(services, "ask", origins=(ORIGIN,))
    async with serving(services) as client:
        here = await client.post("/widget/stream", json=ASKED, headers=bearer(key, Origin=ORIGIN))
        there = await client.post("/widget/stream", json=ASKED, headers=bearer(key, **ELSEWHERE))

    assert here.headers["access-control-allow-origin"] == ORIGIN
    assert [name for _, name, _ in parse_sse(here.text)][-1] == "done"
    assert there.status_code == 403


async def test_its_conversations_are_those_of_the_native_contract(
    client: httpx.AsyncClient,
) -> None:
    first = (await client.post("/widget/run", json=ASKED)).json()
    second = await client.post("/chat/run", json={**ASKED, "session_id": first["session_id"]})
    thread = (await client.get(f"/threads/{first['session_id']}")).json()

    assert second.status_code == 200
    assert thread["message_count"] == 4
