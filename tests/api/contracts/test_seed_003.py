"""The chat contract, field by field and rule by rule; what it does beyond is in `test_chat.py`."""

import uuid
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import pytest

from citewell.api.contracts.chat import ChatRequest, ChatResponse
from citewell.api.routes.threads import ConversationThread
from citewell.options import AnswerOptions
from tests.api.contracts.serving import (
    COVERED,
    INVENTED,
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

PATH = "/chat/run"


def query(text: str = COVERED, **more: Any) -> Body:
    return {"message": text, **more}


@pytest.mark.parametrize(
    "change",
    [
        {"message": "x"},
        {"message": "x" * 1000},
        {"message": " " + "x" * 1000 + "\n"},
        {"session_id": str(uuid.uuid4())},
        {"session_id": None},
        {"stream": False},
        {"top_k": 1},
        {"top_k": 10},
        {"similarity_threshold": 0.0},
        {"similarity_threshold": 1.0},
        {"filters": {"chapter": "The lens"}},
        {"book": "tiny"},
        {"context_mode": "retrieval_pipeline"},
        {"context_mode": "user_provided", "user_context": "A lens is made of old glass."},
        {"user_context": {"level": "beginner"}},
        {"context_mode": "user_provided", "user_context": "x"},
        {"user_context": "x" * 64_001},
        {"user_id": "ada"},
        {"metadata": {"tags": ["ros2"]}},
    ],
)
async def test_what_the_contract_allows_is_taken(client: httpx.AsyncClient, change: Body) -> None:
    assert (await ask(client, PATH, query() | change))["response"]


REFUSED: list[tuple[Body, str]] = [
    ({"message": ""}, "message"),
    ({"message": " \t\n"}, "message"),
    ({"message": "x" * 1001}, "message"),
    ({"message": None}, "message"),
    ({"session_id": "no-uuid"}, "session_id"),
    ({"session_id": str(uuid.uuid1())}, "session_id"),
    ({"stream": "perhaps"}, "stream"),
    ({"top_k": 0}, "top_k"),
    ({"top_k": 11}, "top_k"),
    ({"top_k": 2.5}, "top_k"),
    ({"similarity_threshold": -0.01}, "similarity_threshold"),
    ({"similarity_threshold": 1.01}, "similarity_threshold"),
    ({"filters": {"colour": "red"}}, "filters"),
    ({"book": "x" * 65}, "book"),
    ({"context_mode": "memory"}, "context_mode"),
    ({"context_mode": "user_provided"}, "user_context"),
    ({"context_mode": "user_provided", "user_context": {"text": "A lens."}}, "user_context"),
    ({"context_mode": "user_provided", "user_context": "x" * 64_001}, "user_context"),
    ({"user_id": ""}, "user_id"),
    ({"metadata": ["tags"]}, "metadata"),
    ({"metadata": {"note": "x" * 10_001}}, "metadata"),
]


@pytest.mark.parametrize(("change", "field"), REFUSED)
async def test_what_it_does_not_allow_is_refused_by_name(
    client: httpx.AsyncClient, change: Body, field: str
) -> None:
    await assert_refused(client, PATH, query() | change, field)


async def test_only_the_message_is_required_and_the_rest_has_the_contracts_defaults(
    client: httpx.AsyncClient,
) -> None:
    await assert_refused(client, PATH, {}, "message")
    assert {field for _, field in REFUSED} >= set(ChatRequest.model_fields)
    asked = ChatRequest(message="x")
    defaults = (asked.session_id, asked.stream, asked.top_k, asked.similarity_threshold)
    assert defaults == (None, False, 5, 0.7)


async def test_an_answer_has_every_field(client: httpx.AsyncClient) -> None:
    body = await ask(client, PATH, query())

    assert f"{LENS} [1]" in body["response"]
    assert body["confidence"] == fmean(s["similarity_score"] for s in body["retrieved"])
    assert body["status"] == "answered"
    assert uuid.UUID(body["session_id"]).version == 4
    assert datetime.fromisoformat(body["timestamp"]).utcoffset() == timedelta()
    assert (body["confidence_level"], body["should_answer"]) == ("medium", True)
    first = body["sources"][0]
    assert first["chunk_text"].startswith(LENS)
    assert (first["chapter"], first["section"]) == ("The lens", "What a Fresnel lens is")
    assert first["url"] == "https://tiny.example/lamps/lens#what-a-fresnel-lens-is"
    assert first["chunk_index"] == 1
    assert body["query_id"] == body["answer_id"]
    assert body["usage"] is None
    assert body["grounding"] == {"is_fully_grounded": True, "unsupported_claims": []}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("response", ""),
        ("confidence", 1.1),
        ("confidence", -0.1),
        ("sources", MISSING),
        ("sources.0.chunk_text", "x" * 501),
        ("sources.0.similarity_score", 1.1),
        ("sources.0.chapter", MISSING),
        ("sources.0.section", MISSING),
        ("sources.0.url", MISSING),
        ("sources.0.chunk_index", MISSING),
        ("sources.0.content_hash", MISSING),
        ("session_id", MISSING),
        ("timestamp", "yesterday"),
        ("confidence_level", "sure"),
        ("should_answer", MISSING),
        ("metrics.average_similarity", 1.1),
        ("metrics.min_similarity", -0.1),
        ("metrics.max_similarity", 1.1),
        ("metrics.num_chunks", -1),
        ("metrics.chunk_diversity", 1.1),
        ("metrics.confidence_level", "sure"),
        ("metrics.should_answer", MISSING),
        ("metrics.has_sufficient_context", "perhaps"),
        ("grounding.is_fully_grounded", MISSING),
        ("query_id", MISSING),
    ],
)
async def test_an_answer_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    assert_unfit(ChatResponse, await ask(client, PATH, query()), place, value)


async def test_passages_are_shown_up_to_five_hundred_characters(tmp_path: Path) -> None:
    from citewell.ingest.pipeline import ingest
    from tests.servers import HashEmbedder

    (tmp_path / "book").mkdir()
    long = " ".join(f"The lamp number {n} has a lens." for n in range(60))
    (tmp_path / "book/lamps.md").write_text(f"# Lamps\n\n{long}\n", "utf-8")
    ingest(tmp_path / "book", tmp_path / "data/books", HashEmbedder(), book="lamps")

    async with serving(build_services(tmp_path / "data")) as client:
        body = await ask(client, PATH, query("Which lamp number has a lens?"))

    assert max(len(source["chunk_text"]) for source in body["sources"]) == 500


async def test_the_measures_agree_with_each_other_and_with_the_sources(
    client: httpx.AsyncClient,
) -> None:
    body = await ask(client, PATH, query())

    scores = [one["similarity_score"] for one in body["retrieved"]]
    assert len(set(scores)) > 1
    cited = {quote["chunk_id"] for claim in body["claims"] for quote in claim["citations"]}
    assert {source["chunk_id"] for source in body["sources"]} == cited
    assert cited < {one["chunk_id"] for one in body["retrieved"]}
    metrics = body["metrics"]
    assert metrics["min_similarity"] == min(scores)
    assert metrics["max_similarity"] == max(scores)
    assert metrics["average_similarity"] == body["confidence"]
    assert metrics["num_chunks"] == len(scores)
    assert 0 <= metrics["chunk_diversity"] <= 1
    assert metrics["confidence_level"] == body["confidence_level"]
    assert metrics["should_answer"] is body["should_answer"] is True
    assert metrics["has_sufficient_context"] is True
    hashes = [one["content_hash"] for one in body["retrieved"]]
    assert len(set(hashes)) == len(hashes)


async def test_passages_below_the_threshold_are_not_used(client: httpx.AsyncClient) -> None:
    loose = await ask(client, PATH, query(similarity_threshold=0.0, top_k=4))
    scores = sorted((s["similarity_score"] for s in loose["retrieved"]), reverse=True)
    between = (scores[-2] + scores[-1]) / 2

    strict = await ask(client, PATH, query(similarity_threshold=between, top_k=4))

    assert loose["metrics"]["num_chunks"] == len(scores) == 4
    assert strict["metrics"]["num_chunks"] == len(strict["retrieved"]) == 3
    assert strict["metrics"]["min_similarity"] == scores[-2] > scores[-1]


async def test_an_uncovered_question_is_insufficient_and_not_answered(
    client: httpx.AsyncClient,
) -> None:
    body = await ask(client, PATH, query(UNCOVERED))

    assert (body["confidence_level"], body["should_answer"]) == ("insufficient", False)
    assert body["metrics"]["has_sufficient_context"] is False
    assert (body["claims"], body["sources"], body["confidence"]) == ([], [], 0.0)
    assert body["retrieved"]


async def test_usage_and_grounding_are_told_where_another_model_writes(tiny_data: Path) -> None:
    marking = AnswerOptions(unsupported="mark")
    model = says(f"{LENS} [1] {INVENTED} [1]", tokens=99)
    async with serving(build_services(tiny_data, model=model, options=marking)) as client:
        body = await ask(client, PATH, query())

    assert body["usage"] == {"total_tokens": 99, "cost_usd": None}
    assert body["grounding"] == {"is_fully_grounded": False, "unsupported_claims": [INVENTED]}


async def test_streaming_is_chosen_by_path_or_by_flag(client: httpx.AsyncClient) -> None:
    by_path = await ask_streamed(client, "/chat/stream", query())
    by_flag = await ask_streamed(client, PATH, query(stream=True))

    assert [name for name, _ in by_path] == [name for name, _ in by_flag]
    for events in (by_path, by_flag):
        ChatResponse.model_validate(events[-1][1])


async def test_a_thread_has_every_field(client: httpx.AsyncClient) -> None:
    first = await ask(client, PATH, query(user_context={"level": "beginner"}))
    session = first["session_id"]
    await ask(client, PATH, query(UNCOVERED, session_id=session))

    thread = (await client.get(f"/threads/{session}")).json()

    assert thread["thread_id"] == session
    assert [m["role"] for m in thread["messages"]] == ["user", "assistant"] * 2
    assert [m["content"] for m in thread["messages"][:2]] == [COVERED, first["response"]]
    times = [datetime.fromisoformat(m["timestamp"]) for m in thread["messages"]]
    assert times == sorted(times)
    assert {time.utcoffset() for time in times} == {timedelta()}
    assert [m["confidence"] for m in thread["messages"]] == [None, first["confidence"], None, 0.0]
    assert datetime.fromisoformat(thread["updated_at"]) == times[-1]
    assert thread["created_at"] <= thread["updated_at"]
    assert thread["metadata"] == {}
    assert thread["messages"][1]["record"]["noted"] == {"user_context": {"level": "beginner"}}
    listed = (await client.get("/threads?limit=1")).json()
    assert listed[0]["thread_id"] == session


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("thread_id", MISSING),
        ("messages", MISSING),
        ("messages.0.role", "system"),
        ("messages.0.content", MISSING),
        ("messages.0.timestamp", "yesterday"),
        ("messages.1.confidence", "sure"),
        ("created_at", "yesterday"),
        ("updated_at", MISSING),
        ("topic_summary", 7),
        ("metadata", "text"),
    ],
)
async def test_a_thread_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    session = (await ask(client, PATH, query()))["session_id"]

    assert_unfit(ConversationThread, (await client.get(f"/threads/{session}")).json(), place, value)


async def test_a_thread_that_rested_for_hours_is_resumed(
    client: httpx.AsyncClient, hands: Hands
) -> None:
    session = (await ask(client, PATH, query("What is a Fresnel lens?")))["session_id"]
    hands.ahead = timedelta(hours=30)

    body = await ask(client, PATH, query("What is it made of?", session_id=session))

    assert body["session_id"] == session
    assert f"{LENS} [1]" in body["response"]


async def test_a_thread_of_another_contract_is_not_continued(client: httpx.AsyncClient) -> None:
    other = (await ask(client, "/assistant/chat", {"message": COVERED}))["session_id"]

    reply = await client.post(PATH, json=query(session_id=other))

    assert (reply.status_code, reply.json()["code"]) == (404, "UnknownThread")
