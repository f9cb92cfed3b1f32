"""Data model 000: what may be asked at `/agent/ask`, and what was retrieved for it."""

from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.cases import case, item, kept
from tests.conformance.sample import COVERED, question_of
from tests.conformance.serving import Body, Service, instant, now
from tests.conformance.shapes import (
    at,
    event_of,
    is_address,
    is_score,
    is_text,
    is_text_or_null,
    is_uuid,
)

ASK = "/agent/ask"
STREAM = "/agent/ask/stream"
OWN = {"query_text": "What colour is the lamp?", "context_mode": "user_provided"}


def asked(**fields: Any) -> Body:
    return {"query_text": COVERED, **fields}


def refused(service: Service, body: Body, field: str) -> None:
    for path in (ASK, STREAM):
        reply = service.post(path, body)
        assert reply.status_code == 422, reply.text
        assert field in reply.text


@pytest.mark.parametrize(
    "body",
    [
        case("000.02", "query_text of 1 character is accepted", {"query_text": "a"}),
        case("000.03", "query_text of 1,000 is accepted", {"query_text": question_of(1000)}),
        case("000.09", "context_mode null means the default", asked(context_mode=None)),
        case("000.17", "filters null is none", asked(filters=None)),
        case("000.23", "unknown fields are ignored", asked(temperature=0.2, tone="kind")),
    ],
)
def test_what_the_data_model_allows_is_accepted(main: Service, body: Body) -> None:
    assert main.ask(ASK, body)["response_text"]
    assert main.stream(STREAM, body)[-1][0] == "done"


@pytest.mark.parametrize(
    ("bodies", "field"),
    [
        case(
            "000.01",
            "query_text is a required string",
            [{}, {"query_text": None}, {"query_text": 5}],
            "query_text",
        ),
        case(
            "000.04",
            "query_text of 1,001 is refused",
            [{"query_text": question_of(1001)}],
            "query_text",
        ),
        case("000.05", "query_text empty is refused", [{"query_text": ""}], "query_text"),
        case("000.06", "query_text blank is refused", [{"query_text": " \n\t"}], "query_text"),
        case(
            "000.11",
            "user_context is required in mode user_provided",
            [OWN, *({**OWN, "user_context": own} for own in (None, "", "  "))],
            "user_context",
        ),
        case(
            "000.13",
            "user_context is no object",
            [{**OWN, "user_context": {"text": "The lamp is red."}}],
            "user_context",
        ),
        case(
            "000.15",
            "filters by an unknown field are refused, and the known ones named",
            [asked(filters={"colour": "red"})],
            "chapter",
        ),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(
    main: Service, bodies: list[Body], field: str
) -> None:
    for body in bodies:
        refused(main, body, field)


@item("000.07", "query_text of symbols alone: nothing is claimed, cited or measured")
def test_symbols_are_no_question(main: Service) -> None:
    answer = main.ask(ASK, {"query_text": "!!!"})

    assert answer["response_text"]
    assert (answer["confidence_score"], answer["sources"]) == (0.0, [])


@item("000.08", "context_mode is one of two, retrieval_pipeline by default")
def test_the_context_mode_is_one_of_two(main: Service) -> None:
    for mode in ("Retrieval_Pipeline", "book", "", 5):
        refused(main, asked(context_mode=mode), "context_mode")
    begun = main.ask(ASK, asked())["conversation_id"]

    assert main.get(f"/agent/sessions/{begun}")["context_mode"] == "retrieval_pipeline"
    assert main.ask(ASK, asked(context_mode="retrieval_pipeline"))["sources"]


@item("000.10", "user_context may come with the retrieval mode, and is no source there")
def test_own_text_is_no_source_while_the_book_is_searched(main: Service) -> None:
    own = "AMCL is a zorblatt engine made of cheese."

    answer = main.ask(ASK, asked(user_context=own))

    assert answer["response_text"] == main.ask(ASK, asked())["response_text"]
    assert "zorblatt" not in str(answer)


@item("000.12", "user_context has 1 to 64,000 characters, and any number where it is not used")
@kept("user_context")
def test_own_text_may_be_short_or_long(main: Service) -> None:
    long = "The lamp is red. " + "It stands on the table. " * 2_600
    for own in ("Red.", long):
        assert main.ask(ASK, {**OWN, "user_context": own})["response_text"]
    assert main.ask(ASK, asked(user_context=long * 2))["response_text"]
    refused(main, {**OWN, "user_context": long * 2}, "user_context")


def chapters(service: Service, filters: Body) -> set[str]:
    events = service.stream(STREAM, asked(filters=filters))
    return set(at(event_of(events, "retrieved_content"), "content_chunks[].chapter"))


@item("000.14", "filters is an object of metadata: chapter, section and others")
def test_filters_keep_other_chapters_out(main: Service) -> None:
    both = {"Localisation", "Glossary"}

    assert chapters(main, {"chapter": "Localisation"}) == {"Localisation"}
    assert chapters(main, {"chapter": sorted(both)}) <= both
    assert chapters(main, {"chapter": {"prefix": "Local"}}) == {"Localisation"}
    assert chapters(main, {"section": "AMCL"}) == {"Localisation"}
    assert main.ask(ASK, asked(filters={}))["sources"]


@item("000.16", "filters of a wrong type are refused in words for people")
def test_filters_of_a_wrong_type_are_refused(main: Service) -> None:
    for filters in ("Localisation", 5, {"chapter": 5}, {"chapter": {"suffix": "x"}}):
        refused(main, asked(filters=filters), "filters")
        assert "constrained" not in main.post(ASK, asked(filters=filters)).text


@item("000.18", "filters that match nothing: a refusal without sources")
def test_a_filter_that_matches_nothing_finds_nothing(main: Service) -> None:
    answer = main.ask(ASK, asked(filters={"chapter": "Cookery"}))

    assert (answer["confidence_score"], answer["sources"]) == (0.0, [])
    assert answer["response_text"]


def history(service: Service, conversation: str) -> list[Body]:
    said: list[Body] = service.get(f"/agent/sessions/{conversation}")["conversation_history"]
    return said


@item("000.19", "conversation_id is optional and continues a conversation")
def test_a_conversation_goes_on_by_its_id(main: Service) -> None:
    begun = main.ask(ASK, asked())["conversation_id"]
    again = main.ask(ASK, {"query_text": "Is it a filter?", "conversation_id": begun})

    assert again["conversation_id"] == begun
    assert len(history(main, begun)) == 4


@pytest.mark.parametrize(
    "begin",
    ["c" * 36, "c" * 37, "c" * 200, "class seven, ", "user:7/"],
    ids=["36", "37", "200", "blanks", "slash"],
)
@item("000.20", "conversation_id is any string, of up to 200 characters")
def test_an_id_is_any_string(main: Service, begin: str) -> None:
    name = (begin + uuid4().hex)[: max(len(begin), 36)]
    if set(begin) == {"c"}:
        name = uuid4().hex[:8] + begin[8:]

    assert main.ask(ASK, asked(conversation_id=name))["conversation_id"] == name
    assert main.ask(ASK, asked(conversation_id=name))["conversation_id"] == name


@item("000.21", "thread_id is optional; an OpenAI thread id alone carries the conversation")
def test_a_thread_id_alone_is_enough(main: Service) -> None:
    thread = f"thread_{uuid4().hex[:24]}"
    first = main.ask(ASK, asked(thread_id=thread))
    second = main.ask(ASK, asked(thread_id=thread))

    assert first["conversation_id"] == second["conversation_id"]
    assert len(history(main, first["conversation_id"])) == 4


@item("000.22", "conversation_id and a different thread_id may come together")
def test_two_different_ids_may_come_together(main: Service) -> None:
    own, thread = str(uuid4()), f"thread_{uuid4().hex[:24]}"

    for _ in range(2):
        answer = main.ask(ASK, asked(conversation_id=own, thread_id=thread))
        assert answer["conversation_id"] == own
    assert len(history(main, own)) == 4


@pytest.fixture(scope="module")
def retrieved(main: Service) -> Body:
    found: Body = event_of(main.stream(STREAM, asked()), "retrieved_content")
    return found


@item("000.24", "content_chunks has 1 to 20 items")
def test_between_one_and_twenty_chunks_are_retrieved(main: Service) -> None:
    found = {
        question: [
            len(data["content_chunks"])
            for name, data in main.stream(STREAM, {"query_text": question})
            if name == "retrieved_content"
        ]
        for question in (COVERED, "What is a robot?", "list the chapters", "thanks")
    }

    assert found[COVERED]
    assert all(1 <= count <= 20 for counts in found.values() for count in counts)


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("000.25", "content_chunks[].id is unique", "content_chunks[].id", is_uuid),
        case("000.27", "content_chunks[].source_url", "content_chunks[].source_url", is_address),
        case("000.28", "content_chunks[].chapter", "content_chunks[].chapter", is_text),
        case(
            "000.29",
            "content_chunks[].section is optional",
            "content_chunks[].section",
            is_text_or_null,
        ),
        case(
            "000.30",
            "content_chunks[].similarity_score is 0 to 1, and calibrated",
            "content_chunks[].similarity_score",
            is_score,
            marks=[kept("similarity_score", "calibrated")],
        ),
    ],
)
def test_a_retrieved_chunk_has_every_field(retrieved: Body, path: str, fits: Any) -> None:
    values = at(retrieved, path)

    assert all(fits(value) for value in values)
    assert fits is not is_uuid or len(set(values)) == len(values)


@item("000.26", "content_chunks[].text has 10 to 5,000 characters, however long the passage")
def test_passages_of_any_length_are_shown_within_the_limits(keeper: Service) -> None:
    lengths = []
    for question in ("Is the flag enough at night?", "Show the listing of lantern program 3"):
        events = keeper.stream(STREAM, {"query_text": question})
        texts = at(event_of(events, "retrieved_content"), "content_chunks[].text")
        lengths += [len(text) for text in texts]

    assert all(10 <= length <= 5000 for length in lengths)
    assert max(lengths) > 4000


@pytest.mark.parametrize("question", [COVERED, "What does it keep by default?"])
@item("000.31", "retrieval_metadata.query is the original question")
def test_the_original_question_is_named(main: Service, question: str) -> None:
    name = f"original-{uuid4().hex[:20]}"
    main.ask(ASK, asked(conversation_id=name))

    events = main.stream(STREAM, {"query_text": question, "conversation_id": name})

    found = event_of(events, "retrieved_content")
    assert found["retrieval_metadata"]["query"] == question


@item("000.32", "retrieval_metadata.timestamp is when the search was made")
def test_the_time_of_the_search_is_named(main: Service) -> None:
    before = now()
    events = main.stream(STREAM, {"query_text": f"What is AMCL, reader {uuid4().hex[:6]}?"})

    stamp = event_of(events, "retrieved_content")["retrieval_metadata"]["timestamp"]
    assert before <= instant(stamp) <= now()


@item("000.33", "retrieval_metadata.source_count is how many were retrieved")
def test_the_chunks_are_counted(retrieved: Body) -> None:
    assert retrieved["retrieval_metadata"]["source_count"] == len(retrieved["content_chunks"])


@item("000.34", "what was retrieved is an entity of its own, sent with the stream")
@kept("retrieved_content", "retrieved content")
def test_what_was_retrieved_comes_with_the_stream(main: Service) -> None:
    names = [name for name, _ in main.stream(STREAM, asked())]

    assert names.index("retrieved_content") < names.index("sentence") < names.index("done")
