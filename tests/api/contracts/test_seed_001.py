"""The assistant contract, field by field and rule by rule."""

import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents.testing import ScriptedModel, assistant_message

from citewell.answer.context import fit_to_budget
from citewell.api.contracts.assistant import (
    AssistantRequest,
    AssistantResponse,
    SearchRequest,
    SearchResponse,
)
from citewell.options import CONTEXT_TOKENS, AnswerOptions
from tests.api.contracts.serving import (
    COVERED,
    LENS,
    MISSING,
    UNCOVERED,
    Body,
    Hands,
    ask,
    ask_streamed,
    assert_refused,
    assert_unfit,
    says,
    serving,
)
from tests.servers import build_services
from tests.verify.samples import hit_of

PATH = "/assistant/chat"


def query(text: str = COVERED, session: str | None = None) -> Body:
    return {"message": text} | ({"session_id": session} if session else {})


@pytest.mark.parametrize(
    "change",
    [
        {"message": "x"},
        {"message": "x" * 500},
        {"message": "  " + "x" * 500 + "\n"},
        {"session_id": str(uuid.uuid4())},
        {"session_id": None},
    ],
)
async def test_what_the_contract_allows_is_taken(client: httpx.AsyncClient, change: Body) -> None:
    assert (await ask(client, PATH, query() | change))["message"]


REFUSED: list[tuple[Body, str]] = [
    ({"message": ""}, "message"),
    ({"message": " \n "}, "message"),
    ({"message": "x" * 501}, "message"),
    ({"message": None}, "message"),
    ({"session_id": "no-uuid"}, "session_id"),
    ({"session_id": str(uuid.uuid1())}, "session_id"),
]


@pytest.mark.parametrize(("change", "field"), REFUSED)
async def test_what_it_does_not_allow_is_refused_by_name(
    client: httpx.AsyncClient, change: Body, field: str
) -> None:
    await assert_refused(client, PATH, query() | change, field)


async def test_only_the_message_is_required(client: httpx.AsyncClient) -> None:
    await assert_refused(client, PATH, {}, "message")
    assert {field for _, field in REFUSED} >= set(AssistantRequest.model_fields)


async def test_an_answer_has_every_field(client: httpx.AsyncClient) -> None:
    body = await ask(client, PATH, query())

    assert f"{LENS} [1]" in body["message"]
    assert uuid.UUID(body["session_id"]).version == 4
    first = body["sources"][0]
    assert (first["title"], first["slug"]) == ("The lens", "/lamps/lens")
    assert uuid.UUID(first["chunk_id"])
    assert 0.6 <= first["score"] <= 1
    assert len(body["sources"]) <= body["metadata"]["context_chunks"] <= 5
    assert isinstance(body["metadata"]["response_time_ms"], int)
    assert body["metadata"]["tokens_used"] is None


async def test_tokens_are_told_where_the_model_counts_them(tiny_data: Path) -> None:
    async with serving(build_services(tiny_data, model=says(f"{LENS} [1]", tokens=321))) as client:
        body = await ask(client, PATH, query())

    assert body["metadata"]["tokens_used"] == 321


async def test_a_refusal_has_no_sources(client: httpx.AsyncClient) -> None:
    body = await ask(client, PATH, query(UNCOVERED))

    assert body["message"].startswith("I couldn't find that in the book.")
    assert (body["sources"], body["metadata"]["context_chunks"]) == ([], 0)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("session_id", MISSING),
        ("message", ""),
        ("message", MISSING),
        ("sources", MISSING),
        ("sources.0.chunk_id", MISSING),
        ("sources.0.title", 7),
        ("sources.0.slug", MISSING),
        ("sources.0.score", 1.1),
        ("sources.0.score", -0.1),
        ("metadata", MISSING),
        ("metadata.response_time_ms", -1),
        ("metadata.response_time_ms", 1.5),
        ("metadata.tokens_used", -1),
        ("metadata.context_chunks", MISSING),
    ],
)
async def test_an_answer_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    assert_unfit(AssistantResponse, await ask(client, PATH, query()), place, value)


async def test_the_stream_ends_with_the_whole_answer(client: httpx.AsyncClient) -> None:
    whole = await ask(client, PATH, query())
    events = await ask_streamed(client, f"{PATH}/stream", query())

    names = [name for name, _ in events]
    assert names[:2] == ["start", "retrieved"]
    assert set(names[2:-1]) == {"sentence"}
    done = events[-1][1]
    assert (done["message"], done["sources"]) == (whole["message"], whole["sources"])
    assert events[0][1] == {"session_id": done["session_id"]}
    retrieved = [one["chunk_id"] for one in events[1][1]["retrieved"]]
    assert {one["chunk_id"] for one in done["sources"]} < set(retrieved)


async def test_a_follow_up_is_understood_in_its_session(client: httpx.AsyncClient) -> None:
    first = await ask(client, PATH, query("What is a Fresnel lens?"))
    follow_up = "What is it made of?"

    within = await ask(client, PATH, query(follow_up, first["session_id"]))
    outside = await ask(client, PATH, query(follow_up))

    assert within["session_id"] == first["session_id"]
    assert f"{LENS} [1]" in within["message"]
    assert f"{LENS} [1]" not in outside["message"]


async def test_a_session_goes_on_for_thirty_minutes_and_then_another_begins(
    client: httpx.AsyncClient, hands: Hands
) -> None:
    first = (await ask(client, PATH, query("What is a Fresnel lens?")))["session_id"]
    hands.ahead = timedelta(minutes=29)
    within = await ask(client, PATH, query("What is it made of?", first))
    hands.ahead = timedelta(minutes=31)

    after = await ask(client, PATH, query("What is it made of?", first))

    assert within["session_id"] == first
    assert after["session_id"] != first
    assert (await client.get(f"/assistant/sessions/{first}")).json()["state"] == "expired"
    assert uuid.UUID(after["session_id"]).version == 4
    assert f"{LENS} [1]" not in after["message"]


async def test_a_session_slides_over_its_last_ten_turns(client: httpx.AsyncClient) -> None:
    first = (await ask(client, PATH, query("What is a Fresnel lens?")))["session_id"]
    for _ in range(5):
        last = await ask(client, PATH, query("What does the keeper do in fog?", first))

    body = await ask(client, PATH, query("What is it made of?", first))
    kept = (await client.get(f"/assistant/sessions/{first}")).json()

    assert last["session_id"] == body["session_id"] == first
    assert len(kept["turns"]) == 10
    assert kept["turns"][-1]["content"] == body["message"]
    assert f"{LENS} [1]" not in body["message"]


async def test_of_sixteen_exchanges_a_model_is_told_the_last_ten_turns_and_no_more(
    tiny_data: Path,
) -> None:
    told: list[str] = []

    class Listening(ScriptedModel):
        async def stream_response(self, *given: Any, **named: Any) -> Any:
            told.append(json.dumps(given[1] if len(given) > 1 else named["input"]))
            async for event in super().stream_response(*given, **named):
                yield event

    def model(_: Any) -> Listening:
        return Listening([[assistant_message(f"{LENS} [1]")]])

    session = str(uuid.uuid4())
    async with serving(build_services(tiny_data, model=model)) as client:
        for number in range(1, 17):
            asked = f"What is a Fresnel lens of order {number} made of?"
            await ask(client, PATH, query(asked, session))

    heard = [n for n in range(1, 17) if f"of order {n} made" in told[-1]]
    assert len(told) == 16
    assert heard == [11, 12, 13, 14, 15, 16]
    assert told[-1].count('"assistant"') == 5


async def test_turns_are_kept_in_order_with_role_and_time(client: httpx.AsyncClient) -> None:
    first = await ask(client, PATH, query())
    await ask(client, PATH, query("thanks", first["session_id"]))

    address = f"/assistant/sessions/{first['session_id']}"
    kept = (await client.get(address)).json()

    assert [turn["role"] for turn in kept["turns"]] == ["user", "assistant"] * 2
    assert kept["turns"][0]["content"] == COVERED
    times = [turn["timestamp"] for turn in kept["turns"]]
    assert times == sorted(times)
    assert (kept["created_at"], kept["last_activity"]) == (times[0], times[-1])
    assert (kept["session_id"], kept["state"]) == (first["session_id"], "active")
    assert (await client.delete(address)).status_code == 204
    assert (await client.get(address)).status_code == 404


async def test_a_session_of_another_contract_is_not_continued(client: httpx.AsyncClient) -> None:
    other = (await ask(client, "/chat/run", {"message": COVERED}))["session_id"]

    reply = await client.post(PATH, json=query(session=other))

    assert (reply.status_code, reply.json()["code"]) == (404, "UnknownThread")


def test_the_context_has_four_thousand_tokens_at_most() -> None:
    hits = [hit_of("Text.", token_count=1_500, identity=str(n)) for n in range(5)]

    assert AnswerOptions().context_tokens == CONTEXT_TOKENS == 4_000
    assert fit_to_budget(hits, CONTEXT_TOKENS) == hits[:2]
    assert fit_to_budget(hits, 1_000) == hits[:1]
    assert fit_to_budget(hits[2:], CONTEXT_TOKENS, already_shown=hits[:2]) == []
    assert fit_to_budget(hits, 6_000, already_shown=hits[:2]) == hits[2:4]


async def test_the_book_can_be_searched(client: httpx.AsyncClient) -> None:
    body = await ask(client, "/search", {"query": COVERED})

    assert body["query"] == COVERED
    assert LENS in body["results"][0]["text"]
    assert len(body["results"]) == 4  # all that the tiny book has, of five by default
    assert SearchRequest(query="x").top_k == 5
    narrow = {"query": COVERED, "filters": {"chapter": "The keeper"}, "top_k": 1, "book": "tiny"}
    (only,) = (await ask(client, "/search", narrow))["results"]
    assert (only["chapter"], only["slug"]) == ("The keeper", "/lamps/keeper")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "x" * 501}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 11}, "top_k"),
        ({"filters": {"colour": "red"}}, "filters"),
        ({"book": "x" * 65}, "book"),
    ],
)
async def test_a_search_has_limits(client: httpx.AsyncClient, change: Body, field: str) -> None:
    reply = await client.post("/search", json={"query": COVERED, **change})

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == field


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("query", MISSING),
        ("results", MISSING),
        ("results.0.chunk_id", MISSING),
        ("results.0.score", 1.1),
        ("results.0.text", MISSING),
        ("results.0.url", MISSING),
    ],
)
async def test_a_search_result_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    assert_unfit(SearchResponse, await ask(client, "/search", {"query": COVERED}), place, value)
