"""Data model 002: what `/workflows/{workflowId}/chat` is asked and answers."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.cases import case, item, kept
from tests.conformance.sample import AMCL, COVERED, LIE, UNCOVERED, question_of
from tests.conformance.serving import Body, Model, Service, now, serving
from tests.conformance.shapes import (
    at,
    event_of,
    is_count,
    is_flag,
    is_text,
    is_text_or_null,
    is_utc,
    is_uuid,
)

CHAT = "/workflows/book/chat"
STREAM = "/workflows/book/chat/stream"
BARE = "/workflows/bare/chat"


def asked(text: Any = COVERED, **fields: Any) -> Body:
    return {"queryText": text, "sessionId": "tab-1", "timestamp": now().isoformat(), **fields}


def refused(service: Service, body: Body, field: str) -> None:
    for path in (CHAT, STREAM):
        reply = service.post(path, body)
        assert reply.status_code == 422, reply.text
        assert field in reply.text


@pytest.mark.parametrize(
    "fields",
    [
        case("002.49", "queryText of 2,000 is accepted", {"queryText": question_of(2000)}),
        case("002.51", "conversationId is optional", {"conversationId": None}),
        case("002.58", "unknown fields are ignored", {"locale": "en", "page": {"at": 1}}),
    ],
)
def test_what_the_data_model_allows_is_accepted(main: Service, fields: Body) -> None:
    assert main.ask(CHAT, asked(**fields))["responseText"]
    assert main.stream(STREAM, asked(**fields))[-1][0] == "done"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        case(
            "002.47", "queryText is required", [{"queryText": None}, {"queryText": 5}], "queryText"
        ),
        case(
            "002.48",
            "queryText empty or blank is refused",
            [{"queryText": ""}, {"queryText": " \n"}],
            "queryText",
        ),
        case(
            "002.50",
            "queryText of 2,001 is refused",
            [{"queryText": question_of(2001)}],
            "queryText",
        ),
        case(
            "002.56", "sessionId is required", [{"sessionId": None}, {"sessionId": 7}], "sessionId"
        ),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(
    main: Service, wrong: list[Body], field: str
) -> None:
    for fields in wrong:
        refused(main, asked(**fields), field)
    left_out = asked()
    del left_out[field]
    refused(main, left_out, field)


@item("002.52", "timestamp is a required datetime")
def test_the_timestamp_is_required(main: Service) -> None:
    body = asked()
    del body["timestamp"]
    refused(main, body, "timestamp")
    for wrong in (None, "soon", "", "2026-13-41T00:00:00Z"):
        refused(main, asked(timestamp=wrong), "timestamp")


@item("002.53", "timestamp is current or recent")
def test_the_timestamp_is_recent(main: Service) -> None:
    for minutes in (-61, 60 * 24, 6):
        stamp = (now() + timedelta(minutes=minutes)).isoformat()
        refused(main, asked(timestamp=stamp), "timestamp")
    for minutes in (-5, 0):
        stamp = (now() + timedelta(minutes=minutes)).isoformat()
        assert main.ask(CHAT, asked(timestamp=stamp))["responseText"]
    stamp = now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert main.ask(CHAT, asked(timestamp=stamp))["responseText"]


@item("002.54", "timestamp names its zone")
@kept("zone")
def test_a_timestamp_without_a_zone_is_refused(main: Service) -> None:
    refused(main, asked(timestamp=now().replace(tzinfo=None).isoformat()), "timestamp")


@item("002.55", "timestamp is no count of seconds, as a number or as a text")
def test_seconds_are_no_timestamp(main: Service) -> None:
    seconds = int(now().timestamp())
    for wrong in (seconds, str(seconds), seconds * 1000, float(seconds)):
        refused(main, asked(timestamp=wrong), "timestamp")


@item("002.57", "sessionId is a string of 1 to 128 characters")
@kept("sessionId", "128")
def test_a_session_id_is_any_text_up_to_128_characters(main: Service) -> None:
    for right in ("s", "läse-zeichen 7", "s" * 128):
        assert main.ask(CHAT, asked(sessionId=right))["responseText"]
    for wrong in ("", "s" * 129):
        refused(main, asked(sessionId=wrong), "sessionId")


@pytest.fixture(scope="module")
def answer(main: Service) -> Body:
    return main.ask(CHAT, asked())


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("002.25", "RAGContext.chunks are strings", "ragContext.chunks[]", is_text),
        case("002.29", "RAGContext.retrievedAt is when", "ragContext.retrievedAt", is_utc),
        case("002.30", "RAGContext.sourceFiles are names", "ragContext.sourceFiles[]", is_text),
        case("002.32", "responseText", "responseText", is_text),
        case("002.33", "workflowId", "workflowId", is_text),
        case("002.34", "threadId is the conversation", "threadId", is_uuid),
        case("002.36", "responseTime is whole, not negative", "responseTime", is_count),
    ],
)
def test_an_answer_has_every_field(answer: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(answer, path))


@item("002.26", "RAGContext.chunks is not empty where retrieval succeeded")
def test_what_was_found_is_there(main: Service, answer: Body) -> None:
    streamed = event_of(main.stream(STREAM, asked()), "ragContext")

    assert answer["ragContext"]["chunks"]
    assert streamed["chunks"]
    assert main.ask("/search_book", {"query": COVERED})["chunks"]


FOLLOW_UP = "How does it recover from kidnapping?"


@item("002.27", "RAGContext.query is the original question, whole and from /search_book")
def test_the_question_is_the_original_one(main: Service, answer: Body) -> None:
    later = main.ask(CHAT, asked(FOLLOW_UP, conversationId=answer["threadId"]))

    assert answer["ragContext"]["query"] == COVERED
    assert later["ragContext"]["query"] == FOLLOW_UP
    assert main.ask("/search_book", {"query": COVERED})["query"] == COVERED


@item("002.28", "RAGContext.query is the original question in the stream")
def test_the_stream_names_the_original_question(main: Service) -> None:
    conversation = main.ask(CHAT, asked())["threadId"]
    first = main.stream(STREAM, asked())
    later = main.stream(STREAM, asked(FOLLOW_UP, conversationId=conversation))

    assert event_of(first, "ragContext")["query"] == COVERED
    assert event_of(later, "ragContext")["query"] == FOLLOW_UP


@item("002.31", "RAGContext is retrieved from /search_book, topK 1 to 10")
def test_the_book_can_be_searched(main: Service) -> None:
    found = main.ask("/search_book", {"query": COVERED, "topK": 2})

    assert len(found["chunks"]) == 2
    assert {"query", "retrievedAt", "sourceFiles"} <= found.keys()
    assert len(main.ask("/search_book", {"query": COVERED, "topK": 10})["chunks"]) == 10
    for wrong in (0, 11):
        assert main.post("/search_book", {"query": COVERED, "topK": wrong}).status_code == 422


@item("002.35", "ragContextIncluded: whether context was in the input of the workflow")
def test_the_answer_says_whether_it_had_context(main: Service, told: Service, model: Model) -> None:
    model.says(LIE)
    for service, question in ((main, COVERED), (main, "hello"), (told, COVERED)):
        events = service.stream(STREAM, asked(question))
        sent = [data["chunks"] for name, data in events if name == "ragContext"]
        assert event_of(events, "done")["ragContextIncluded"] is any(sent), question
    assert model.requests, "the withheld answer had context"


@item("002.37", "error is optional, and says why the book could not be used")
def test_an_error_is_there_only_where_there_was_one(answer: Body) -> None:
    assert answer["error"] is None


@item("002.38", "responseText is never empty")
def test_there_is_always_a_reply(main: Service) -> None:
    for question in (COVERED, UNCOVERED, "thanks", "???"):
        for path in (CHAT, BARE):
            assert main.ask(path, asked(question))["responseText"].strip()


@item("002.39", "workflowId is one that there is")
def test_an_unknown_workflow_is_not_found(main: Service) -> None:
    assert main.post("/workflows/none/chat", asked()).status_code == 404
    assert main.post("/workflows/none/chat/stream", asked()).status_code == 404


@pytest.fixture(scope="module")
def workflows(main: Service) -> dict[str, Body]:
    return {one["workflowId"]: one for one in main.get("/workflows")}


@item("002.40", "AgentWorkflow.workflowId is declared in the settings")
@kept("workflowId", "workflow")
def test_workflows_are_those_of_the_settings(workflows: dict[str, Body]) -> None:
    assert set(workflows) == {"book", "safety", "bare"}


@item("002.41", "AgentWorkflow.name is optional")
def test_a_workflow_may_have_a_name(workflows: dict[str, Body]) -> None:
    assert workflows["safety"]["name"] == "Safety officer"
    assert is_text_or_null(workflows["bare"]["name"] or None)


@item("002.42", "AgentWorkflow.description is optional")
def test_a_workflow_may_have_a_description(workflows: dict[str, Body]) -> None:
    assert workflows["safety"]["description"] == "Answers from the chapter on safety."
    assert is_text_or_null(workflows["bare"]["description"] or None)


@item("002.43", "AgentWorkflow.ragIntegrationEnabled")
def test_a_workflow_says_whether_it_uses_the_book(workflows: dict[str, Body]) -> None:
    assert all(is_flag(one["ragIntegrationEnabled"]) for one in workflows.values())
    assert workflows["safety"]["ragIntegrationEnabled"]
    assert not workflows["bare"]["ragIntegrationEnabled"]


@item("002.44", "with RAG off: a helpful reply, never as if grounded")
def test_without_the_book_nothing_is_claimed(main: Service) -> None:
    answer = main.ask(BARE, asked())

    assert "unavailable" in answer["responseText"]
    assert answer["ragContextIncluded"] is False
    assert not answer["ragContext"]
    assert "KLD" not in answer["responseText"]


@item("002.45", "with RAG off and a language model: it is not asked to answer from memory")
@kept("ragIntegrationEnabled", "RAG off", "without the book")
def test_without_the_book_no_model_is_asked(told: Service, model: Model) -> None:
    model.says(AMCL)

    assert AMCL not in told.ask(BARE, asked())["responseText"]
    assert model.requests == []


@item("002.46", "filters and instructions of the configuration are in force")
def test_a_workflow_is_configured_in_the_settings(
    main: Service, told: Service, model: Model
) -> None:
    question = "What is a safety function of a robot?"
    events = main.stream("/workflows/safety/chat/stream", asked(question))
    model.says("NOT IN THE BOOK")
    told.ask("/workflows/safety/chat", asked(question))

    files = event_of(events, "ragContext")["sourceFiles"]
    assert all("safety" in name for name in files)
    assert "Answer for people who are new to robots." in model.prompts()


@item("002.59", "flow: query, context, workflow, response, message")
def test_a_query_goes_all_the_way(main: Service) -> None:
    events = main.stream(STREAM, asked())
    names = [name for name, _ in events]
    conversation = main.get(f"/conversations/{event_of(events, 'done')['threadId']}")

    assert names.index("ragContext") < names.index("sentence") < names.index("done")
    assert [one["content"] for one in conversation["messages"]] == [
        COVERED,
        event_of(events, "done")["responseText"],
    ]


@item("002.60", "with the index down it still replies, and says why")
def test_a_dead_index_is_no_dead_workflow(tmp_path: Path) -> None:
    with serving(tmp_path, CITEWELL_INDEX_URL="http://127.0.0.1:9", CITEWELL_BOOK="any") as service:
        answer = service.ask(CHAT, asked())

    assert "unavailable" in answer["responseText"]
    assert is_text(answer["error"])
    assert answer["ragContextIncluded"] is False


@item("002.68", "error attributes: what failed says so without failing")
def test_errors_are_attributes(main: Service) -> None:
    answer = main.ask(BARE, asked(conversationId=str(uuid4())))
    conversation = main.get(f"/conversations/{answer['threadId']}")

    assert "error" in answer
    assert all("error" in message for message in conversation["messages"])


@item("002.69", "streamed and whole say the same")
def test_the_stream_ends_with_the_whole_answer(main: Service) -> None:
    for question in (COVERED, UNCOVERED, "thanks"):
        whole = main.ask(CHAT, asked(question))
        done = event_of(main.stream(STREAM, asked(question)), "done")
        for one in (whole, done):
            del one["threadId"], one["responseTime"]
            (one["ragContext"] or {}).pop("retrievedAt", None)
        assert done == whole
