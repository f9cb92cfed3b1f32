"""The chapter that a reader of the page has open: a hint, asked over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.ingest.pipeline import ingest
from citewell.wiring import with_answer_cache
from tests.api.serving import serving
from tests.servers import HashEmbedder, build_services

HARBOUR, CAPE, REEF = "The harbour light", "The cape light", "The reef light"
PAGES = {
    HARBOUR: "The lamp burns colza oil that is pressed from the seeds of a field behind the mole.",
    CAPE: "Under pressure, paraffin is what the lamp burns since the year of the great gale.",
    REEF: "The tower is white. Divers look after the foundation twice in every summer.",
}
BURNS = "What does the lamp burn?"
HOLDS = ("answerability", "average_similarity", "num_chunks", "confidence_level")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A book of three lights, two of which burn something, asked where answers are remembered."""
    book = tmp_path / "lights"
    book.mkdir()
    for number, (chapter, text) in enumerate(PAGES.items(), start=1):
        (book / f"{number}.md").write_text(f"# {chapter}\n\n{text}\n", "utf-8")
    ingest(book, tmp_path / "data" / "books", HashEmbedder(), book="lights")
    services = build_services(tmp_path / "data")
    async with serving(with_answer_cache(services, "embedded")) as client:
        yield client


async def ask(
    client: httpx.AsyncClient, question: str, near: object = None, address: str = "/widget/run"
) -> dict[str, Any]:
    page = {"page": "https://lights.example/", "title": "A page", "chapter": near}
    reply = await client.post(address, json={"message": question, "user_context": page})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


def first(body: dict[str, Any]) -> str:
    chapter: str = body["retrieved"][0]["chapter"]
    return chapter


@pytest.mark.parametrize(("near", "other"), [(HARBOUR, CAPE), (CAPE, HARBOUR)])
async def test_of_passages_that_answer_alike_the_open_chapter_comes_first(
    client: httpx.AsyncClient, near: str, other: str
) -> None:
    body = await ask(client, BURNS, near)

    assert first(body) == near
    assert body["response"].startswith(PAGES[near])
    assert PAGES[other] in body["response"]


async def test_a_clearly_better_passage_of_another_chapter_stays_first(
    client: httpx.AsyncClient,
) -> None:
    asked = "What does the lamp burn since the gale?"
    body = await ask(client, asked, HARBOUR)

    assert first(body) == CAPE
    assert body["response"].startswith(PAGES[CAPE])


@pytest.mark.parametrize("question", [BURNS, "Who invented the submarine telegraph?"])
async def test_whether_the_book_answers_does_not_depend_on_the_page(
    client: httpx.AsyncClient, question: str
) -> None:
    bodies = [await ask(client, question, near) for near in (None, *PAGES, "No chapter", 7)]

    measured = [{name: body["metrics"][name] for name in HOLDS} for body in bodies]
    found = [{source["chunk_id"] for source in body["retrieved"]} for body in bodies]
    assert measured == [measured[0]] * len(bodies)
    assert found == [found[0]] * len(bodies)


async def test_readers_of_two_chapters_are_not_given_each_others_answer(
    client: httpx.AsyncClient,
) -> None:
    harbour, cape, again = [await ask(client, BURNS, one) for one in (HARBOUR, CAPE, HARBOUR)]

    assert first(harbour) == first(again) == HARBOUR
    assert first(cape) == CAPE
    assert cape["cache_age_seconds"] is None
    assert again["cache_age_seconds"] is not None


async def test_the_record_names_the_chapter_and_is_replayed_with_it(
    client: httpx.AsyncClient,
) -> None:
    for near in (HARBOUR, CAPE):
        answer = (await ask(client, BURNS, near))["answer_id"]
        receipt = (await client.get(f"/answers/{answer}")).json()
        replay = (await client.post(f"/answers/{answer}/replay")).json()

        assert receipt["near"] == near
        assert replay["passages"] == []


async def test_the_native_contract_keeps_the_object_and_does_not_lean_on_it(
    client: httpx.AsyncClient,
) -> None:
    bodies = [await ask(client, BURNS, near, "/chat/run") for near in (HARBOUR, CAPE)]

    assert first(bodies[0]) == first(bodies[1])
