"""The workflow contract, field by field and rule by rule."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.answer.no_context import RAG_DISABLED, RAG_UNAVAILABLE
from citewell.api.contracts.workflow import (
    AgentWorkflow,
    Conversation,
    RAGContext,
    SearchBookRequest,
    UserQuery,
    WorkflowMessage,
    WorkflowResponse,
    conversation_state,
    is_recent,
)
from citewell.errors import EmbedderUnreachable
from citewell.options import WorkflowOptions
from tests.api.contracts.serving import (
    COVERED,
    LENS,
    MISSING,
    UNCOVERED,
    Body,
    ask,
    ask_streamed,
    assert_refused,
    assert_unfit,
    says,
    serving,
)
from tests.servers import HashEmbedder, build_services

PATH = "/workflows/book/chat"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def query(text: str = COVERED, **more: Any) -> Body:
    now = datetime.now(UTC).isoformat()
    return {"queryText": text, "sessionId": "tab-1", "timestamp": now, **more}


@pytest.mark.parametrize(
    "change",
    [
        {"queryText": "x"},
        {"queryText": "x" * 2000},
        {"conversationId": str(uuid.uuid4())},
        {"conversationId": None},
        {"timestamp": (datetime.now(UTC) - timedelta(minutes=50)).isoformat()},
        {"sessionId": "s" * 128},
    ],
)
async def test_what_the_contract_allows_is_taken(client: httpx.AsyncClient, change: Body) -> None:
    body = await ask(client, PATH, query() | change)

    assert body["workflowId"] == "book"


REFUSED: list[tuple[Body, str]] = [
    ({"queryText": ""}, "queryText"),
    ({"queryText": " \n"}, "queryText"),
    ({"queryText": "x" * 2001}, "queryText"),
    ({"queryText": None}, "queryText"),
    ({"conversationId": "no-uuid"}, "conversationId"),
    ({"timestamp": None}, "timestamp"),
    ({"timestamp": "yesterday"}, "timestamp"),
    ({"timestamp": "2020-01-01T00:00:00Z"}, "timestamp"),
    ({"timestamp": "2999-01-01T00:00:00Z"}, "timestamp"),
    ({"timestamp": "2026-01-01T00:00:00"}, "timestamp"),
    ({"sessionId": ""}, "sessionId"),
    ({"sessionId": None}, "sessionId"),
    ({"timestamp": str(int(datetime.now(UTC).timestamp()))}, "timestamp"),
    ({"timestamp": datetime.now(UTC).timestamp()}, "timestamp"),
]


@pytest.mark.parametrize(("change", "field"), REFUSED)
async def test_what_it_does_not_allow_is_refused_by_name(
    client: httpx.AsyncClient, change: Body, field: str
) -> None:
    await assert_refused(client, PATH, query() | change, field)


@pytest.mark.parametrize("missing", ["queryText", "timestamp", "sessionId"])
async def test_required_fields_cannot_be_left_out(client: httpx.AsyncClient, missing: str) -> None:
    body = query()
    del body[missing]

    await assert_refused(client, PATH, body, missing)


def test_every_field_of_a_query_has_a_case_that_is_refused() -> None:
    assert {field for _, field in REFUSED} >= set(UserQuery.model_fields)


def test_a_query_is_recent_for_an_hour_and_clocks_may_differ_a_little() -> None:
    assert is_recent(NOON - timedelta(minutes=59), NOON)
    assert is_recent(NOON + timedelta(minutes=4), NOON)
    assert not is_recent(NOON - timedelta(minutes=61), NOON)
    assert not is_recent(NOON + timedelta(minutes=6), NOON)


async def test_a_reply_from_the_book_says_so_and_shows_its_passages(
    client: httpx.AsyncClient,
) -> None:
    body = await ask(client, PATH, query())

    assert LENS in body["responseText"]
    assert body["ragContextIncluded"] is True
    assert body["error"] is None
    assert isinstance(body["responseTime"], int)
    assert uuid.UUID(body["threadId"])
    context = body["ragContext"]
    assert context["query"] == COVERED
    assert any(LENS in chunk for chunk in context["chunks"])
    assert "docs/lamps/01-lens.md" in context["sourceFiles"]
    assert datetime.fromisoformat(context["retrievedAt"]).tzinfo


async def test_what_the_book_does_not_say_is_not_said_as_if_it_did(
    client: httpx.AsyncClient,
) -> None:
    body = await ask(client, PATH, query(UNCOVERED))

    assert body["responseText"].startswith("I couldn't find that in the book.")
    assert (body["ragContextIncluded"], body["ragContext"]) == (False, None)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("responseText", ""),
        ("responseText", MISSING),
        ("workflowId", MISSING),
        ("threadId", 7),
        ("ragContextIncluded", MISSING),
        ("responseTime", -1),
        ("responseTime", 1.5),
        ("error", 7),
        ("ragContext.chunks", "text"),
        ("ragContext.query", MISSING),
        ("ragContext.retrievedAt", "yesterday"),
        ("ragContext.sourceFiles", "text"),
    ],
)
async def test_a_reply_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    assert_unfit(WorkflowResponse, await ask(client, PATH, query()), place, value)


async def test_the_stream_ends_with_the_reply_that_the_whole_gives(
    client: httpx.AsyncClient,
) -> None:
    whole = await ask(client, PATH, query())
    events = await ask_streamed(client, f"{PATH}/stream", query())

    names = [name for name, _ in events]
    assert names[:2] == ["start", "ragContext"]
    assert set(names[2:-1]) == {"sentence"}
    assert events[0][1]["workflowId"] == "book"
    done = events[-1][1]
    assert (
        "".join(data["text"] for name, data in events if name == "sentence")
        == (done["responseText"])
    )
    moving = ("threadId", "responseTime", "ragContext")
    assert {n: v for n, v in done.items() if n not in moving} == {
        n: v for n, v in whole.items() if n not in moving
    }


async def test_a_conversation_shows_its_messages(client: httpx.AsyncClient) -> None:
    first = await ask(client, PATH, query())
    chosen = first["threadId"]
    begun = (await client.get(f"/conversations/{chosen}")).json()
    await ask(client, PATH, query(UNCOVERED, conversationId=chosen))

    shown = (await client.get(f"/conversations/{chosen}")).json()

    assert (begun["state"], shown["state"]) == ("initial", "active")
    assert (begun["messageCount"], shown["messageCount"]) == (2, 4)
    assert shown["conversationId"] == chosen
    assert shown["createdAt"] <= shown["lastActivityAt"]
    assert shown["ragContextAvailable"] is True
    assert shown["workflowId"] == "book"
    assert [m["role"] for m in shown["messages"]] == ["user", "assistant"] * 2
    assert [m["ragContextUsed"] for m in shown["messages"]] == [None, True, None, False]
    asked, said = shown["messages"][:2]
    assert (asked["content"], said["content"]) == (COVERED, first["responseText"])
    assert uuid.UUID(said["id"])
    assert {m["conversationId"] for m in shown["messages"]} == {chosen}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("conversationId", MISSING),
        ("createdAt", "yesterday"),
        ("lastActivityAt", None),
        ("messageCount", -1),
        ("ragContextAvailable", None),
        ("state", "paused"),
        ("workflowId", 7),
        ("messages.0.id", MISSING),
        ("messages.0.content", ""),
        ("messages.0.role", "system"),
        ("messages.0.timestamp", "yesterday"),
        ("messages.0.conversationId", 7),
        ("messages.1.ragContextUsed", "perhaps"),
        ("messages.1.error", 7),
    ],
)
async def test_a_conversation_has_no_other_shape(
    client: httpx.AsyncClient, place: str, value: Any
) -> None:
    thread = (await ask(client, PATH, query()))["threadId"]

    shown = (await client.get(f"/conversations/{thread}")).json()

    assert set(shown["messages"][0]) == set(WorkflowMessage.model_fields)
    assert_unfit(Conversation, shown, place, value)


async def test_deleting_ends_a_conversation(client: httpx.AsyncClient) -> None:
    place = f"/conversations/{(await ask(client, PATH, query()))['threadId']}"

    assert (await client.delete(place)).status_code == 204

    assert (await client.get(place)).json()["code"] == "UnknownThread"
    assert (await client.delete(place)).status_code == 404
    assert (await client.get("/conversations/no-uuid")).status_code == 422


def test_a_conversation_is_active_after_its_first_exchange() -> None:
    assert [conversation_state(n) for n in (1, 2, 3)] == ["initial", "initial", "active"]


async def test_conversations_of_other_contracts_are_not_shown_or_continued(
    client: httpx.AsyncClient,
) -> None:
    other = (await ask(client, "/chat/run", {"message": COVERED}))["session_id"]

    assert (await client.get(f"/conversations/{other}")).status_code == 404
    reply = await client.post(PATH, json=query(conversationId=other))
    assert reply.json()["code"] == "UnknownThread"


async def test_the_book_can_be_searched(client: httpx.AsyncClient) -> None:
    body = await ask(client, "/search_book", {"query": COVERED, "topK": 2})

    assert RAGContext.model_validate(body).query == COVERED
    assert len(body["chunks"]) == 2
    assert LENS in body["chunks"][0]
    narrow = {"query": COVERED, "filters": {"chapter": "The keeper"}, "book": "tiny"}
    assert (await ask(client, "/search_book", narrow))["sourceFiles"] == [
        "docs/lamps/02-keeper.mdx"
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"topK": 0}, "topK"),
        ({"topK": 11}, "topK"),
        ({"filters": {"colour": "red"}}, "filters"),
        ({"book": "x" * 65}, "book"),
    ],
)
async def test_a_search_of_the_book_has_limits(
    client: httpx.AsyncClient, change: Body, field: str
) -> None:
    reply = await client.post("/search_book", json={"query": COVERED, **change})

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == field
    assert field in SearchBookRequest.model_fields


async def test_workflows_are_those_of_the_settings(tiny_data: Path) -> None:
    keeper = WorkflowOptions(
        id="keeper",
        name="Keeper",
        description="Knows the keeper.",
        filters={"chapter": "The keeper"},  # type: ignore[dict-item]
    )
    bare = WorkflowOptions(id="bare", ragIntegrationEnabled=False)  # type: ignore[call-arg]
    async with serving(build_services(tiny_data, workflows=(keeper, bare))) as client:
        listed = (await client.get("/workflows")).json()
        asked = await ask(client, "/workflows/keeper/chat", query("What turns the lens?"))
        unknown = await client.post("/workflows/book/chat", json=query())

    assert listed == [
        {
            "workflowId": "keeper",
            "name": "Keeper",
            "description": "Knows the keeper.",
            "ragIntegrationEnabled": True,
        },
        {
            "workflowId": "bare",
            "name": None,
            "description": None,
            "ragIntegrationEnabled": False,
        },
    ]
    assert asked["ragContext"]["sourceFiles"] == ["docs/lamps/02-keeper.mdx"]
    assert (unknown.status_code, unknown.json()["code"]) == (404, "UnknownWorkflow")
    for place in ("workflowId", "ragIntegrationEnabled"):
        assert_unfit(AgentWorkflow, listed[0], place, MISSING)
    for place in ("name", "description"):
        assert_unfit(AgentWorkflow, listed[0], place, 7)


async def test_the_model_is_told_what_the_workflow_adds_after_what_always_holds(
    tiny_data: Path,
) -> None:
    model = says(f"{LENS} [1]")(None)
    workflow = WorkflowOptions(id="book", instructions="Answer in verse.")
    services = build_services(tiny_data, model=lambda _: model, workflows=(workflow,))
    async with serving(services) as client:
        await ask(client, PATH, query())

    told = model.first_call.system_instructions
    assert told.startswith("You answer questions about one book")
    assert told.endswith("Answer in verse.")


async def test_without_rag_the_reply_says_that_book_context_is_unavailable(
    tiny_data: Path,
) -> None:
    bare = WorkflowOptions(id="book", rag_integration_enabled=False)
    async with serving(build_services(tiny_data, workflows=(bare,))) as client:
        body = await ask(client, PATH, query())
        shown = (await client.get(f"/conversations/{body['threadId']}")).json()
        events = await ask_streamed(client, f"{PATH}/stream", query())

    assert body["responseText"] == RAG_DISABLED
    assert (body["ragContextIncluded"], body["ragContext"], body["error"]) == (False, None, None)
    assert shown["ragContextAvailable"] is False
    assert shown["messages"][1]["ragContextUsed"] is False
    assert [name for name, _ in events] == ["start", "sentence", "done"]


class Unreachable(HashEmbedder):
    """An embedder whose server goes down once the service runs."""

    def embed_query(self, text: str) -> Any:
        if text != "ready":
            raise EmbedderUnreachable("The embedder does not answer.")
        return super().embed_query(text)


class Another(HashEmbedder):
    """An embedder that did not build the index, so that it cannot be opened."""

    id = "another@1"


@pytest.mark.parametrize("embedder", [Unreachable, Another])
async def test_with_the_index_down_the_reply_says_so_and_names_the_error(
    tiny_data: Path, embedder: type[HashEmbedder]
) -> None:
    async with serving(build_services(tiny_data, embedder=embedder())) as client:
        body = await ask(client, PATH, query())
        shown = (await client.get(f"/conversations/{body['threadId']}")).json()
        native = await client.post("/chat/run", json={"message": COVERED})

    assert body["responseText"] == RAG_UNAVAILABLE
    assert body["ragContextIncluded"] is False
    assert (
        body["error"] == shown["messages"][1]["error"] == "The book cannot be searched right now."
    )
    assert shown["messageCount"] == 2
    assert native.status_code == 503
