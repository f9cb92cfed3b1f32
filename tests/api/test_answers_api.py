"""The log of answers over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from agents.testing import ScriptedModel, assistant_message
from asgi_lifespan import LifespanManager

from citewell.api.app import create_app
from citewell.ingest.pipeline import ingest
from tests.api.sse import parse_sse
from tests.servers import HashEmbedder, build_services

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
ALTERED = "A first-order lens has a focal length of 940 mm."
LENS_QUESTION = {"message": "What is a Fresnel lens?"}


@pytest.fixture
async def client(tiny_book: Path, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A service of its own, whose model adds something wrong to every other answer."""
    said = [f"{LENS} [1]", f"{LENS} [1] {ALTERED} [2]"]

    def model(_: object) -> ScriptedModel:
        said.append(said.pop(0))
        return ScriptedModel([[assistant_message(said[-1])]])

    ingest(tiny_book, tmp_path / "books", HashEmbedder(), book="tiny")
    app = create_app(build_services(tmp_path, model=model))
    async with LifespanManager(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def test_flagged_answers_can_be_asked_for(client: httpx.AsyncClient) -> None:
    good = (await client.post("/chat/run", json=LENS_QUESTION)).json()
    bad = (await client.post("/chat/run", json=LENS_QUESTION)).json()

    (flagged,) = (await client.get("/answers?state=flagged")).json()
    (delivered,) = (await client.get("/answers?state=delivered")).json()

    assert (flagged["answer_id"], delivered["answer_id"]) == (bad["answer_id"], good["answer_id"])
    assert flagged["unsupported_claims"] == bad["unsupported_claims"] == [ALTERED]
    assert (flagged["response"], flagged["question"]) == (
        bad["response"],
        "What is a Fresnel lens?",
    )
    assert flagged["thread_id"] == bad["session_id"]


async def test_a_streamed_answer_is_delivered_too(client: httpx.AsyncClient) -> None:
    reply = await client.post("/chat/stream", json=LENS_QUESTION)

    assert parse_sse(reply.text)[-1][1] == "done"
    assert [entry["state"] for entry in (await client.get("/answers")).json()] == ["delivered"]


async def test_a_contradicted_claim_is_withheld_with_what_the_book_says(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/chat/run", json=LENS_QUESTION)
    events = parse_sse((await client.post("/chat/stream", json=LENS_QUESTION)).text)

    (withheld,) = [data["claim"] for _, event, data in events if event == "withheld"]
    assert (withheld["text"], withheld["verdict"]) == (ALTERED, "contradicted")
    assert "920 mm" in withheld["citations"][0]["quote"]


async def test_answers_come_in_pages_the_newest_first(client: httpx.AsyncClient) -> None:
    asked = [(await client.post("/chat/run", json=LENS_QUESTION)).json() for _ in range(3)]
    expected = [body["answer_id"] for body in reversed(asked)]

    pages = [(await client.get(f"/answers?limit=2&offset={o}")).json() for o in (0, 2, 4)]

    assert [[entry["answer_id"] for entry in page] for page in pages] == [
        expected[:2],
        expected[2:],
        [],
    ]


async def test_a_thread_shows_the_state_of_its_answers(client: httpx.AsyncClient) -> None:
    body = (await client.post("/chat/run", json=LENS_QUESTION)).json()

    thread = (await client.get(f"/threads/{body['session_id']}")).json()

    assert [message["state"] for message in thread["messages"]] == [None, "delivered"]


@pytest.mark.parametrize(
    ("query", "field"),
    [("state=lost", "query.state"), ("limit=0", "query.limit"), ("offset=-1", "query.offset")],
)
async def test_a_bad_query_is_a_problem_that_names_it(
    client: httpx.AsyncClient, query: str, field: str
) -> None:
    reply = await client.get(f"/answers?{query}")

    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["errors"][0]["field"] == field
