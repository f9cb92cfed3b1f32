"""The agent contract, field by field and rule by rule."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from citewell.api.contracts.agent import (
    AgentRequest,
    AgentResponse,
    ConversationSession,
    GroundingValidation,
    RetrievedContent,
    retrieved_content,
    session_state,
)
from citewell.options import AnswerOptions
from citewell.wiring import with_answer_cache
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
from tests.verify.samples import hit_of

PATH = "/agent/ask"
OWN = "The harbour lamp of Aru burns whale oil, and its keeper is called Ito."


def query(text: str = COVERED, **more: Any) -> Body:
    return {"query_text": text, **more}


@pytest.mark.parametrize(
    "change",
    [
        {"query_text": "x"},
        {"query_text": "x" * 1000},
        {"context_mode": "retrieval_pipeline"},
        {"context_mode": "user_provided", "user_context": OWN},
        {"user_context": None},
        {"filters": {"chapter": "The lens", "section": ["Orders of lenses"]}},
        {"conversation_id": "a-name.of:my_own"},
        {"conversation_id": str(uuid.uuid4())},
        {"conversation_id": "x" * 200},
        {"conversation_id": "Größe: two words/and a slash?"},
        {"thread_id": "thread_abc123"},
        {"conversation_id": "same", "thread_id": "same"},
        {"conversation_id": "one of mine", "thread_id": "thread_of_openai"},
        {"context_mode": "user_provided", "user_context": "x"},
        {"user_context": "x" * 64_001},
        {"user_id": "ada@example.org"},
    ],
)
async def test_what_the_contract_allows_is_taken(client: httpx.AsyncClient, change: Body) -> None:
    assert (await ask(client, PATH, query() | change))["response_text"]


REFUSED: list[tuple[Body, str]] = [
    ({"query_text": ""}, "query_text"),
    ({"query_text": "  "}, "query_text"),
    ({"query_text": "x" * 1001}, "query_text"),
    ({"query_text": None}, "query_text"),
    ({"context_mode": "memory"}, "context_mode"),
    ({"context_mode": "user_provided"}, "user_context"),
    ({"context_mode": "user_provided", "user_context": " \n"}, "user_context"),
    ({"context_mode": "user_provided", "user_context": "x" * 64_001}, "user_context"),
    ({"filters": {"colour": "red"}}, "filters"),
    ({"filters": ["The lens"]}, "filters"),
    ({"filters": {"chapter": 7}}, "filters.chapter"),
    ({"filters": {"chapter": {"prefix": 7}}}, "filters.chapter"),
    ({"filters": {"chapter": ["x"] * 21}}, "filters.chapter"),
    ({"conversation_id": ""}, "conversation_id"),
    ({"conversation_id": " "}, "conversation_id"),
    ({"conversation_id": "two\nlines"}, "conversation_id"),
    ({"conversation_id": "x" * 201}, "conversation_id"),
    ({"thread_id": 7}, "thread_id"),
    ({"user_id": ""}, "user_id"),
]


@pytest.mark.parametrize(("change", "field"), REFUSED)
async def test_what_it_does_not_allow_is_refused_by_name(
    client: httpx.AsyncClient, change: Body, field: str
) -> None:
    await assert_refused(client, PATH, query() | change, field)


async def test_only_the_question_is_required(client: httpx.AsyncClient) -> None:
    await assert_refused(client, PATH, {}, "query_text")
    assert {n for n, f in AgentRequest.model_fields.items() if f.is_required()} == {"query_text"}
    assert {field for _, field in REFUSED} >= set(AgentRequest.model_fields)


async def test_an_answer_has_every_field_and_sources_in_the_order_of_its_marks(
    client: httpx.AsyncClient,
) -> None:
    body = await ask(client, PATH, query())

    assert f"{LENS} [1]" in body["response_text"]
    first = body["sources"][0]
    assert (first["chapter"], first["section"]) == ("The lens", "What a Fresnel lens is")
    assert first["source_url"] == "https://tiny.example/lamps/lens#what-a-fresnel-lens-is"
    assert uuid.UUID(first["content_id"])
    assert 0.6 <= body["confidence_score"] <= 1
    assert body["grounding_validation"] == {
        "is_fully_ground": True,
        "is_fully_grounded": True,
        "unsupported_claims": [],
    }
    assert uuid.UUID(body["conversation_id"])
    assert datetime.fromisoformat(body["timestamp"]).tzinfo


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("response_text", ""),
        ("response_text", "x" * 10_001),
        ("sources", MISSING),
        ("sources.0.content_id", MISSING),
        ("sources.0.source_url", None),
        ("sources.0.chapter", MISSING),
        ("sources.0.section", 7),
        ("confidence_score", 1.1),
        ("confidence_score", -0.1),
        ("grounding_validation", None),
        ("grounding_validation.is_fully_grounded", False),
        ("grounding_validation.unsupported_claims", "one"),
        ("conversation_id", MISSING),
        ("timestamp", "yesterday"),
    ],
)
async def test_an_answer_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    assert_unfit(AgentResponse, await ask(client, PATH, query()), place, value)


async def test_a_very_long_answer_is_cut_to_ten_thousand_characters(tiny_data: Path) -> None:
    text = "\n".join([f"- {LENS} [1]"] * 200)
    async with serving(build_services(tiny_data, model=says(text))) as client:
        body = await ask(client, PATH, query())

    assert len(body["response_text"]) == 10_000


def test_both_spellings_of_fully_grounded_have_one_value() -> None:
    for ground, grounded in ((True, False), (False, True)):
        with pytest.raises(ValidationError):
            GroundingValidation(
                is_fully_ground=ground, is_fully_grounded=grounded, unsupported_claims=["x"]
            )


async def test_what_the_book_does_not_support_is_named_and_the_answer_is_flagged(
    tiny_data: Path,
) -> None:
    marking = AnswerOptions(unsupported="mark")
    model = says(f"{LENS} [1] {INVENTED} [1]")
    async with serving(build_services(tiny_data, model=model, options=marking)) as client:
        body = await ask(client, PATH, query())
        flagged = (await client.get("/answers?state=flagged&limit=1")).json()

    assert body["grounding_validation"] == {
        "is_fully_ground": False,
        "is_fully_grounded": False,
        "unsupported_claims": [INVENTED],
    }
    assert flagged[0]["thread_id"] == body["conversation_id"]


async def test_what_is_not_in_the_book_is_withheld_by_default(tiny_data: Path) -> None:
    model = says(f"{LENS} [1] {INVENTED} [1]")
    async with serving(build_services(tiny_data, model=model)) as client:
        body = await ask(client, PATH, query())

    assert body["response_text"] == f"{LENS} [1]"
    assert body["grounding_validation"]["is_fully_grounded"] is True
    assert body["grounding_validation"]["unsupported_claims"] == [INVENTED]


async def test_an_answer_that_holds_is_delivered(client: httpx.AsyncClient) -> None:
    body = await ask(client, PATH, query())

    (logged,) = (await client.get("/answers?state=delivered&limit=1")).json()

    assert logged["thread_id"] == body["conversation_id"]


async def test_too_little_confidence_is_refused_without_sources(client: httpx.AsyncClient) -> None:
    body = await ask(client, PATH, query(UNCOVERED))

    assert body["response_text"].startswith("I couldn't find that in the book.")
    assert (body["sources"], body["confidence_score"]) == ([], 0.0)


async def test_the_readers_own_text_is_the_only_source_where_that_was_asked(
    client: httpx.AsyncClient,
) -> None:
    own = {"context_mode": "user_provided", "user_context": OWN}

    answered = await ask(client, PATH, query("What does the harbour lamp of Aru burn?", **own))
    refused = await ask(client, PATH, query(**own))

    assert "whale oil" in answered["response_text"]
    assert [source["source_url"] for source in answered["sources"]] == [""]
    assert "selected text doesn't answer" in refused["response_text"]
    assert refused["sources"] == []


async def test_filters_keep_other_chapters_out(client: httpx.AsyncClient) -> None:
    asked = query("What turns the lens?", filters={"chapter": "The keeper"})

    body = await ask(client, PATH, asked)

    assert {source["chapter"] for source in body["sources"]} == {"The keeper"}


async def test_the_stream_shows_what_was_retrieved_and_ends_with_the_whole_answer(
    client: httpx.AsyncClient,
) -> None:
    whole = await ask(client, PATH, query())
    events = await ask_streamed(client, f"{PATH}/stream", query())

    names = [name for name, _ in events]
    assert names[:2] == ["start", "retrieved_content"]
    assert set(names[2:-1]) == {"sentence"}
    done = events[-1][1]
    moving = ("conversation_id", "timestamp")
    assert {n: v for n, v in done.items() if n not in moving} == {
        n: v for n, v in whole.items() if n not in moving
    }
    found = events[1][1]
    assert found["retrieval_metadata"]["query"] == COVERED
    assert found["retrieval_metadata"]["source_count"] == len(found["content_chunks"])
    assert {s["content_id"] for s in done["sources"]} <= {c["id"] for c in found["content_chunks"]}


async def test_a_follow_up_is_shown_as_it_was_asked_and_as_it_was_searched_for(
    client: httpx.AsyncClient,
) -> None:
    await ask(client, PATH, query("What is a Fresnel lens?", conversation_id="asked"))
    follow_up = query("What is it made of?", conversation_id="asked")

    events = await ask_streamed(client, f"{PATH}/stream", follow_up)

    about = events[1][1]["retrieval_metadata"]
    assert about["query"] == "What is it made of?"
    assert "Fresnel lens" in about["searched_for"]


async def test_an_answer_given_again_is_shown_with_the_question_as_it_was_asked_now(
    tiny_copy: Path,
) -> None:
    services = with_answer_cache(build_services(tiny_copy), "embedded")
    async with serving(services) as client:
        await ask(client, PATH, query())
        events = await ask_streamed(client, f"{PATH}/stream", query(f"  {COVERED.rstrip('?')}"))

    assert events[1][1]["retrieval_metadata"]["query"] == COVERED.rstrip("?")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("content_chunks", []),
        ("content_chunks", [0] * 21),
        ("content_chunks.0.id", MISSING),
        ("content_chunks.0.text", "too short"),
        ("content_chunks.0.text", "x" * 5_001),
        ("content_chunks.0.source_url", None),
        ("content_chunks.0.chapter", MISSING),
        ("content_chunks.0.section", 7),
        ("content_chunks.0.similarity_score", 1.01),
        ("content_chunks.0.similarity_score", -0.01),
        ("retrieval_metadata", MISSING),
        ("retrieval_metadata.query", None),
        ("retrieval_metadata.timestamp", "yesterday"),
        ("retrieval_metadata.source_count", 0),
    ],
)
async def test_what_was_retrieved_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    events = await ask_streamed(client, f"{PATH}/stream", query())

    assert_unfit(RetrievedContent, events[1][1], place, value)


def test_passages_of_any_length_are_shown_within_the_limits() -> None:
    hits = tuple(hit_of(text) for text in (*["Long enough."] * 30, "Short.", "x" * 9_000))

    found = retrieved_content("Why?", "Why so?", hits, datetime.now(UTC))

    assert found
    assert len(found.content_chunks) == 20
    assert found.content_chunks[-2].text.rstrip().endswith("Short.")
    assert len(found.content_chunks[-1].text) == 5_000
    assert retrieved_content("Why?", "Why so?", (), datetime.now(UTC)) is None


async def test_a_session_shows_its_history_mode_and_filters(client: httpx.AsyncClient) -> None:
    lens = {"filters": {"chapter": "The lens"}}
    first = await ask(client, PATH, query(conversation_id="mine", **lens))
    begun = (await client.get("/agent/sessions/mine")).json()
    own = {"context_mode": "user_provided", "user_context": OWN}
    await ask(client, PATH, query("What burns?", thread_id="mine", **own))

    shown = (await client.get("/agent/sessions/mine")).json()

    assert shown["session_id"] == shown["openai_thread_id"] == "mine"
    assert shown["created_at"] == begun["created_at"] <= shown["last_interaction"]
    assert begun["active_filters"] == {"chapter": ["The lens"]}
    assert shown["active_filters"] is None
    assert (begun["context_mode"], shown["context_mode"]) == ("retrieval_pipeline", "user_provided")
    assert [m["role"] for m in shown["conversation_history"]] == ["user", "assistant"] * 2
    assert shown["conversation_history"][1]["content"] == first["response_text"]
    assert (shown["state"], shown["user_id"]) == ("active", None)
    assert (await client.delete("/agent/sessions/mine")).status_code == 204


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("session_id", MISSING),
        ("openai_thread_id", MISSING),
        ("created_at", "yesterday"),
        ("last_interaction", None),
        ("user_id", 7),
        ("context_mode", "memory"),
        ("active_filters", "The lens"),
        ("conversation_history", [{}] * 101),
        ("conversation_history.0.role", "system"),
        ("conversation_history.0.content", None),
        ("conversation_history.0.timestamp", "yesterday"),
        ("state", "paused"),
    ],
)
async def test_a_session_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    chosen = (await ask(client, PATH, query()))["conversation_id"]

    assert_unfit(
        ConversationSession, (await client.get(f"/agent/sessions/{chosen}")).json(), place, value
    )


async def test_a_thread_beside_the_conversation_is_kept_with_the_session(
    client: httpx.AsyncClient,
) -> None:
    both = {"conversation_id": "kept/here", "thread_id": "thread_abc", "user_id": "ada"}
    first = await ask(client, PATH, query(**both))
    await ask(client, PATH, query("thanks", conversation_id="kept/here"))

    shown = (await client.get("/agent/sessions/kept%2Fhere")).json()

    assert first["conversation_id"] == shown["session_id"] == "kept/here"
    assert shown["openai_thread_id"] == "thread_abc"
    assert shown["user_id"] == "ada"
    assert len(shown["conversation_history"]) == 4
    assert (await client.get("/agent/sessions/thread_abc")).json() == shown
    assert (await client.delete("/agent/sessions/thread_abc")).status_code == 204
    assert (await client.get("/agent/sessions/kept%2Fhere")).status_code == 404


async def test_a_session_shows_its_last_hundred_messages(client: httpx.AsyncClient) -> None:
    for _ in range(51):
        await ask(client, PATH, query("thanks", conversation_id="long"))

    shown = (await client.get("/agent/sessions/long")).json()

    assert len(shown["conversation_history"]) == 100
    assert (await client.delete("/agent/sessions/long")).status_code == 204


async def test_a_session_is_gone_after_a_day_without_a_message(
    client: httpx.AsyncClient, hands: Hands
) -> None:
    chosen = (await ask(client, PATH, query()))["conversation_id"]
    hands.ahead = timedelta(hours=23)
    resting = (await client.get(f"/agent/sessions/{chosen}")).json()
    hands.ahead = timedelta(hours=25)

    gone = await client.get(f"/agent/sessions/{chosen}")
    await ask(client, PATH, query("What does the keeper do in fog?", conversation_id=chosen))
    hands.ahead = timedelta()
    anew = (await client.get(f"/agent/sessions/{chosen}")).json()

    assert resting["state"] == "inactive"
    assert (gone.status_code, gone.json()["code"]) == (404, "UnknownThread")
    assert len(anew["conversation_history"]) == 2


def test_a_session_is_created_then_active_then_inactive_then_expired() -> None:
    after = [(0, 0), (2, 0), (2, 0.9), (2, 1.1), (2, 23.9), (2, 24.1)]

    states = [session_state(n, timedelta(hours=hours)) for n, hours in after]

    assert states == ["created", "active", "active", "inactive", "inactive", "expired"]


async def test_sessions_are_deleted_for_good_and_kept_apart_from_other_contracts(
    client: httpx.AsyncClient,
) -> None:
    chosen = (await ask(client, PATH, query()))["conversation_id"]
    other = (await ask(client, "/query", {"query": COVERED}))["session_id"]

    assert (await client.delete(f"/agent/sessions/{chosen}")).status_code == 204
    for unknown in (chosen, other):
        assert (await client.get(f"/agent/sessions/{unknown}")).status_code == 404
        assert (await client.delete(f"/agent/sessions/{unknown}")).status_code == 404
    reply = await client.post(PATH, json=query(conversation_id=other))
    assert reply.json()["code"] == "UnknownThread"
