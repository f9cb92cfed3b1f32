"""Feedback over HTTP: readers give it about their answers, operators read it."""

from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from citewell.settings import ServeOptions
from citewell.wiring import Services
from tests.api.serving import ASKED, ORIGIN, access, bearer, new_key, serving
from tests.servers import build_services


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


async def ask(client: httpx.AsyncClient, **headers: str) -> dict[str, str]:
    body: dict[str, str] = (await client.post("/chat/run", json=ASKED, headers=headers)).json()
    return body


async def test_feedback_is_listed_beside_the_answer_it_is_about(services: Services) -> None:
    async with serving(services) as client:
        answer = await ask(client)
        given = {"answer_id": answer["answer_id"], "verdict": "down", "reason": "incomplete"}
        reply = await client.post("/feedback", json={**given, "comment": "Which glass?"})
        (listed,) = (await client.get("/feedback")).json()

    assert reply.status_code == 200
    assert reply.json().items() >= {**given, "comment": "Which glass?"}.items()
    assert listed.items() >= reply.json().items()
    assert (listed["question"], listed["response"], listed["thread_id"], listed["book"]) == (
        ASKED["message"],
        answer["response"],
        answer["session_id"],
        "tiny",
    )


async def test_a_second_verdict_replaces_the_first_and_both_can_be_asked_for(
    services: Services,
) -> None:
    async with serving(services) as client:
        about = {"answer_id": (await ask(client))["answer_id"]}
        await client.post("/feedback", json={**about, "verdict": "down", "reason": "unclear"})
        await client.post("/feedback", json={**about, "verdict": "up"})
        up = (await client.get("/feedback?verdict=up")).json()
        down = (await client.get("/feedback?verdict=down")).json()

    assert [(entry["answer_id"], entry["reason"]) for entry in up] == [(about["answer_id"], None)]
    assert down == []


async def test_feedback_comes_in_pages_the_newest_first(services: Services) -> None:
    async with serving(services) as client:
        ids = [(await ask(client))["answer_id"] for _ in range(3)]
        for one in ids:
            await client.post("/feedback", json={"answer_id": one, "verdict": "up"})
        pages = [(await client.get(f"/feedback?limit=2&offset={o}")).json() for o in (0, 2, 4)]

    listed = [[entry["answer_id"] for entry in page] for page in pages]
    assert listed == [[ids[2], ids[1]], [ids[0]], []]


async def test_feedback_is_gone_with_the_conversation(services: Services) -> None:
    async with serving(services) as client:
        answer = await ask(client)
        about = {"answer_id": answer["answer_id"], "verdict": "up"}
        await client.post("/feedback", json=about)
        await client.delete(f"/threads/{answer['session_id']}")
        listed = (await client.get("/feedback")).json()
        again = await client.post("/feedback", json=about)

    assert listed == []
    assert (again.status_code, again.json()["code"]) == (404, "UnknownAnswer")


async def test_only_an_operator_reads_what_readers_think(services: Services) -> None:
    asks, admin = await new_key(services), await new_key(services, "admin")
    async with serving(services) as client:
        refused = await client.get("/feedback", headers=bearer(asks))
        allowed = await client.get("/feedback", headers=bearer(admin))

    assert (refused.status_code, refused.json()["code"]) == (403, "NotAllowed")
    assert (allowed.status_code, allowed.json()) == (200, [])


async def test_a_reader_of_the_widget_judges_their_own_answers_alone(services: Services) -> None:
    widget = bearer(await new_key(services, origins=(ORIGIN,)), Origin=ORIGIN)
    me, other = ({**widget, "X-Citewell-Reader": one * 22} for one in "ab")
    async with serving(services, **access(mode="keys")) as client:
        about = {"answer_id": (await ask(client, **me))["answer_id"], "verdict": "up"}
        theirs = await client.post("/feedback", json=about, headers=other)
        mine = await client.post("/feedback", json=about, headers=me)

    assert (theirs.status_code, mine.status_code) == (404, 200)
    assert mine.headers["access-control-allow-origin"] == ORIGIN


async def test_a_reader_known_by_the_pages_cookie_judges_what_they_asked(
    services: Services,
) -> None:
    public = {"serve": ServeOptions(host="0.0.0.0")}
    async with serving(services, **public, **access(mode="open")) as client:
        await client.get("/books")  # what the page asks first, and gets its cookie with
        about = {"answer_id": (await ask(client))["answer_id"], "verdict": "down"}
        mine = await client.post("/feedback", json=about)
        client.cookies.clear()
        theirs = await client.post("/feedback", json=about)

    assert (mine.status_code, theirs.status_code) == (200, 404)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"verdict": "sideways"}, "verdict"),
        ({"verdict": None}, "verdict"),
        ({"answer_id": "mine"}, "answer_id"),
        ({"reason": "because"}, "reason"),
        ({"comment": "x" * 2001}, "comment"),
        ({"comment": "a\0b"}, "comment"),
    ],
)
async def test_what_is_no_feedback_is_refused_by_its_fields_name(
    client: httpx.AsyncClient, change: dict[str, object], field: str
) -> None:
    body = {"answer_id": str(uuid4()), "verdict": "up"} | change
    reply = await client.post("/feedback", json=body)

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == field
