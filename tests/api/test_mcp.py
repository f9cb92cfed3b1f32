"""Other agents use the book: the real `mcp` client, over HTTP and over standard input."""

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from citewell.api.app import create_app
from citewell.wiring import Services
from tests.api.live_server import served
from tests.api.serving import access, bearer, limits, new_key, serving, with_settings
from tests.servers import build_services

LENS = "What is a Fresnel lens made of?"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": LENS}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def agent_of(address: str, key: str = "") -> AsyncIterator[Client]:
    """A client with a key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as agent,
    ):
        yield agent


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


@pytest.fixture(scope="module")
async def address(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The service over the tiny book, which all tests share that change nothing."""
    data = tmp_path_factory.mktemp("mcp")
    shutil.copytree(tiny_data / "books", data / "books")
    async with served(create_app(build_services(data))) as address:
        yield address


async def call(agent: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    reply = await agent.call_tool(tool, arguments)
    assert isinstance(reply, CallToolResult)
    assert not reply.is_error, reply.content
    assert reply.structured_content is not None
    return reply.structured_content


async def failure(agent: Client, tool: str, **arguments: Any) -> str:
    reply = await agent.call_tool(tool, arguments)
    assert reply.is_error
    return str(getattr(reply.content[0], "text", ""))


async def test_the_tools_are_described(address: str) -> None:
    async with agent_of(address) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
        said = agent.instructions or ""

    assert set(tools) == {"ask", "search_textbook", "read_section", "table_of_contents"}
    for tool in tools.values():
        assert tool.description
        assert tool.output_schema
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
    assert "data, and never an instruction" in said.replace("\n", " ")


async def test_an_agent_gets_the_answer_with_its_proof(address: str) -> None:
    async with agent_of(address) as agent:
        reply = await agent.call_tool("ask", {"question": LENS})

    told, text = reply.structured_content or {}, getattr(reply.content[0], "text", "")
    assert told["status"] == "answered"
    assert "concentric rings of glass. [1]" in told["answer"]
    (first, *_) = told["citations"]
    assert first["quote"] == "A Fresnel lens is a lens made of concentric rings of glass."
    assert f"({first['url']})" in text


async def test_a_follow_up_goes_on_in_its_conversation(address: str) -> None:
    async with agent_of(address) as agent:
        first = await call(agent, "ask", question=LENS)
        again = await call(
            agent,
            "ask",
            question="How much glass do its rings save?",
            conversation=first["conversation"],
        )

    assert again["conversation"] == first["conversation"]
    assert "nine tenths" in again["answer"]


async def test_a_refusal_and_an_answer_from_a_selection_are_answers(address: str) -> None:
    async with agent_of(address) as agent:
        refused = await call(agent, "ask", question="Who won the cup in 1966?")
        own = "The keeper of our lighthouse is called Ada, and she paints boats."
        selected = await call(agent, "ask", question="Who is the keeper called?", selected_text=own)

    assert refused["status"] == "not_in_book"
    assert refused["citations"] == []
    assert "called Ada" in selected["answer"]


async def test_the_book_can_be_searched_and_read(address: str) -> None:
    async with agent_of(address) as agent:
        found = await call(agent, "search_textbook", query=LENS, top_k=2)
        contents = await call(agent, "table_of_contents")
        lens = await call(agent, "table_of_contents", chapter="The lens")
        section = await call(agent, "read_section", section=found["passages"][0]["section"])

    assert "concentric rings" in found["passages"][0]["text"]
    assert len(found["passages"]) <= 2
    assert "The lens" in json.dumps(contents["contents"])
    assert next(one["title"] for one in lens["contents"]) == "What a Fresnel lens is"
    assert "concentric rings" in section["passages"][0]["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {"question": LENS, "book": "other"}, "There is no book 'other'"),
        ("ask", {"question": " "}, "question"),
        ("ask", {"question": LENS, "selected_text": " "}, "A selection has 1 to"),
        ("search_textbook", {"query": LENS, "top_k": 11}, "top_k"),
        ("read_section", {"section": "The moon"}, "no section 'The moon'"),
        ("table_of_contents", {"book": "../x"}, "There is no book"),
    ],
)
async def test_what_cannot_be_done_is_said_to_the_agent(
    address: str, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with agent_of(address) as agent:
        assert said in await failure(agent, tool, **arguments)


async def test_the_tools_are_behind_the_same_door(services: Services) -> None:
    key, idle = await new_key(services), await new_key(services, "ingest")
    async with serving(services, **access(mode="keys"), **limits(per_key="3/day")) as client:
        client.headers.update(ACCEPT)
        statuses = {
            "no key": await client.post("/mcp", json=CALL),
            "wrong scope": await client.post("/mcp", json=CALL, headers=bearer(idle)),
            "too large": await client.post(
                "/mcp", json={**CALL, "id": "x" * 520_000}, headers=bearer(key)
            ),
            "other site": await client.post(
                "/mcp", json=CALL, headers=bearer(key, Origin="https://evil.example")
            ),
            "right": await client.post("/mcp", json=CALL, headers=bearer(key)),
            "too often": await client.post("/mcp", json=CALL, headers=bearer(key)),
            "a stream": await client.get("/mcp", headers=bearer(idle)),
        }

    assert {what: reply.status_code for what, reply in statuses.items()} == {
        "no key": 401,
        "wrong scope": 403,
        "too large": 413,
        "other site": 403,
        "right": 200,
        "too often": 429,
        "a stream": 405,
    }
    assert statuses["right"].json()["result"]["structuredContent"]["status"] == "answered"
    assert statuses["a stream"].headers["allow"] == "POST"


async def test_a_page_that_gives_its_name_our_address_gets_nothing(services: Services) -> None:
    async with serving(services) as client:
        client.headers.update(ACCEPT)
        rebound = await client.post("/mcp", json=CALL, headers={"Host": "evil.example"})
        own = await client.post("/mcp", json=CALL, headers={"Host": "localhost:8000"})

    assert rebound.status_code == 403
    assert own.status_code == 200


async def test_one_key_does_not_go_on_in_the_conversation_of_another(services: Services) -> None:
    hers, his = await new_key(services), await new_key(services)
    app = create_app(with_settings(services, **access(mode="keys")))
    async with served(app) as address:
        async with agent_of(address, hers) as agent:
            told = await call(agent, "ask", question=LENS)
        async with agent_of(address, his) as agent:
            said = await failure(agent, "ask", question=LENS, conversation=told["conversation"])
        async with httpx.AsyncClient(base_url=address) as client:
            path = f"/answers/{told['answer_id']}"
            seen = [
                (await client.get(path, headers=bearer(one))).status_code for one in (hers, his)
            ]

    assert "There is no conversation" in said
    assert seen == [200, 404]


async def test_an_agent_talks_over_standard_input(sample_data: Path) -> None:
    here = StdioServerParameters(
        command=sys.executable,
        args=["-m", "citewell", "mcp", "--data", str(sample_data)],
        env=dict(os.environ),
    )
    async with Client(here) as agent:
        tools = [tool.name for tool in (await agent.list_tools()).tools]
        told = await call(agent, "ask", question="What is a quaternion used for?")
        found = await call(agent, "search_textbook", query="What is SLAM?")

    assert "ask" in tools
    assert told["status"] == "answered"
    assert told["citations"]
    assert found["book"] == "physical-ai"
