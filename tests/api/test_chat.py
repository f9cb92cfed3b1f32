"""The native contract, asked over HTTP."""

import uuid
from typing import Any

import httpx
import pytest

from tests.api.sse import parse_sse

COVERED = "What is a Fresnel lens made of?"
UNCOVERED = "Who invented the submarine telegraph?"
MOVING = ("timestamp", "timings", "answer_id", "query_id", "session_id")


def _still(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in MOVING}


async def test_a_covered_question_is_answered_with_a_quote_that_the_page_holds(
    client: httpx.AsyncClient, tiny_book: Any
) -> None:
    reply = await client.post("/chat/run", json={"message": COVERED})

    body = reply.json()
    assert reply.status_code == 200
    assert body["should_answer"] is True
    assert "concentric rings of glass" in body["response"]
    source = (tiny_book / "docs/lamps/01-lens.md").read_text("utf-8")
    quotes = [q for claim in body["claims"] for q in claim["citations"]]
    assert quotes
    for quote in quotes:
        assert quote["quote"] in source
        assert quote["url"].startswith("https://tiny.example/lamps/lens#")
        assert ":~:text=" in quote["url"]


async def test_an_uncovered_question_is_refused_and_the_nearest_passages_are_shown(
    client: httpx.AsyncClient,
) -> None:
    body = (await client.post("/chat/run", json={"message": UNCOVERED})).json()

    assert body["should_answer"] is False
    assert body["confidence_level"] == "insufficient"
    assert body["response"].startswith("I couldn't find that in the book.")
    assert (body["claims"], body["sources"]) == ([], [])
    assert body["retrieved"]


async def test_every_field_of_the_contract_is_there(client: httpx.AsyncClient) -> None:
    body = (await client.post("/chat/run", json={"message": COVERED})).json()

    assert uuid.UUID(body["session_id"]).version == 4
    assert 0 <= body["confidence"] <= 1
    assert body["timestamp"].endswith("Z")
    assert body["metrics"]["confidence_level"] == body["confidence_level"]
    assert body["metrics"]["should_answer"] == body["should_answer"]
    low, mean, high = (body["metrics"][f"{n}_similarity"] for n in ("min", "average", "max"))
    assert low <= mean <= high
    for source in body["sources"]:
        assert {
            "chunk_text",
            "similarity_score",
            "chapter",
            "section",
            "url",
            "chunk_index",
        } <= set(source)
        assert len(source["chunk_text"]) <= 500


async def test_the_stream_ends_with_the_answer_that_the_whole_reply_gives(
    client: httpx.AsyncClient,
) -> None:
    whole = (await client.post("/chat/run", json={"message": COVERED})).json()
    streamed = await client.post("/chat/stream", json={"message": COVERED})

    events = parse_sse(streamed.text)
    names = [name for _, name, _ in events]
    assert names[:2] == ["start", "retrieved"]
    assert names[-1] == "done"
    assert set(names[2:-1]) == {"sentence"}
    done = events[-1][2]
    places = range(1, len(events) + 1)
    assert [place for place, _, _ in events] == [f"{done['answer_id']}:{n}" for n in places]
    assert _still(done) == _still(whole)
    assert (
        "".join(data["text"] for _, name, data in events if name == "sentence") == done["response"]
    )


async def test_streaming_can_be_asked_for_in_the_body(client: httpx.AsyncClient) -> None:
    reply = await client.post("/chat/run", json={"message": COVERED, "stream": True})

    assert reply.headers["content-type"].startswith("text/event-stream")
    assert parse_sse(reply.text)[-1][1] == "done"


async def test_a_stream_is_never_stored_or_held_back_by_proxies(client: httpx.AsyncClient) -> None:
    reply = await client.post("/chat/stream", json={"message": COVERED})

    assert reply.headers["cache-control"] == "no-store, no-transform"
    assert reply.headers["x-accel-buffering"] == "no"


async def test_claims_point_at_their_place_in_the_answer(client: httpx.AsyncClient) -> None:
    body = (await client.post("/chat/run", json={"message": COVERED})).json()

    for claim in body["claims"]:
        assert body["response"][claim["start"] : claim["end"]] == claim["text"]


async def test_a_chapter_filter_keeps_other_chapters_out(client: httpx.AsyncClient) -> None:
    asked = {"message": "clockwork lens", "filters": {"chapter": "The keeper"}}

    body = (await client.post("/chat/run", json=asked)).json()

    assert {source["chapter"] for source in body["sources"]} == {"The keeper"}


async def test_several_sections_may_be_searched(client: httpx.AsyncClient) -> None:
    sections = ["What a Fresnel lens is", "Orders of lenses"]
    asked = {"message": "lens", "filters": {"section": sections}}

    body = (await client.post("/chat/run", json=asked)).json()

    assert {passage["section"] for passage in body["retrieved"]} == set(sections)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"url": {"prefix": "https://tiny.example/lamps/lens"}}, {"The lens"}),
        ({"url": "https://tiny.example/lamps/lens#orders"}, {"The lens"}),
        ({"source_file": "docs/lamps/02-keeper.mdx"}, {"The keeper"}),
        ({"source_file": {"prefix": "docs/lamps/"}}, {"The lens", "The keeper"}),
        ({"chapter": [{"prefix": "The k"}, "Welcome"]}, {"The keeper", "Welcome"}),
        ({"chapter": {"prefix": "The "}, "source_file": "docs/lamps/01-lens.md"}, {"The lens"}),
        ({"url": {"prefix": "http://"}}, set()),
    ],
)
async def test_a_search_may_be_kept_to_addresses_files_and_beginnings(
    client: httpx.AsyncClient, filters: dict[str, Any], expected: set[str]
) -> None:
    asked = {"message": "clockwork lens", "top_k": 10, "filters": filters}

    body = (await client.post("/chat/run", json=asked)).json()

    assert {passage["chapter"] for passage in body["retrieved"]} == expected


async def test_an_unknown_filter_is_refused_with_the_known_ones(client: httpx.AsyncClient) -> None:
    asked = {"message": COVERED, "filters": {"chapter": "The lens", "colour": "red"}}

    reply = await client.post("/chat/run", json=asked)

    assert reply.status_code == 422
    said = reply.json()["errors"][0]["message"]
    assert said == "there is no filter 'colour'; known: chapter, section, url, source_file"


async def test_top_k_limits_the_sources(client: httpx.AsyncClient) -> None:
    body = (await client.post("/chat/run", json={"message": COVERED, "top_k": 1})).json()

    assert len(body["sources"]) == len(body["retrieved"]) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"message": ""}, "message"),
        ({"message": "   \n"}, "message"),
        ({"message": "x" * 1001}, "message"),
        ({"message": None}, "message"),
        ({"session_id": "not-a-uuid"}, "session_id"),
        ({"session_id": str(uuid.uuid1())}, "session_id"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 11}, "top_k"),
        ({"similarity_threshold": 1.1}, "similarity_threshold"),
        ({"similarity_threshold": -0.1}, "similarity_threshold"),
        ({"filters": {"colour": "red"}}, "filters"),
        ({"filters": "The lens"}, "filters"),
    ],
)
async def test_bad_input_is_refused_and_the_field_is_named(
    client: httpx.AsyncClient, change: dict[str, Any], field: str
) -> None:
    for path in ("/chat/run", "/chat/stream"):
        reply = await client.post(path, json={"message": COVERED, **change})

        assert reply.status_code == 422
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("length", [1, 1000])
async def test_messages_of_every_allowed_length_are_taken(
    client: httpx.AsyncClient, length: int
) -> None:
    reply = await client.post("/chat/run", json={"message": "x" * length})

    assert reply.status_code == 200


async def test_an_unknown_book_has_a_status_even_when_streamed(client: httpx.AsyncClient) -> None:
    for path in ("/chat/run", "/chat/stream"):
        reply = await client.post(path, json={"message": COVERED, "book": "missing"})

        assert reply.status_code == 404
        assert reply.json()["code"] == "UnknownBook"
        assert "tiny" in reply.json()["detail"]
