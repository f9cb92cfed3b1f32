"""Data model 000: what `/agent/ask` answers, and by which rules."""

from typing import Any

import pytest

from tests.conformance.cases import case, item
from tests.conformance.sample import AMCL, CONTENTS, COVERED, DRIFT, LIE, QUOTABLE, UNCOVERED
from tests.conformance.serving import Body, Model, Service
from tests.conformance.shapes import (
    at,
    event_of,
    is_address,
    is_flag,
    is_list,
    is_object,
    is_score,
    is_text,
    is_text_or_null,
    is_utc,
    is_uuid,
    marks,
    sentences,
)
from tests.servers import Reply

ASK = "/agent/ask"
STREAM = "/agent/ask/stream"
OWN = "AMCL is a particle filter used for localisation in Nav2."


def asked(question: str = COVERED, **fields: Any) -> Body:
    return {"query_text": question, **fields}


@pytest.fixture(scope="module")
def answer(main: Service) -> Body:
    return main.ask(ASK, asked())


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("000.38", "sources[].source_url", "sources[].source_url", is_address),
        case("000.39", "sources[].chapter", "sources[].chapter", is_text),
        case("000.40", "sources[].section is optional", "sources[].section", is_text_or_null),
        case("000.41", "confidence_score is 0 to 1", "confidence_score", is_score),
        case("000.43", "grounding_validation is an object", "grounding_validation", is_object),
        case(
            "000.45",
            "grounding_validation.unsupported_claims is a list",
            "grounding_validation.unsupported_claims",
            is_list,
        ),
        case("000.47", "conversation_id is returned", "conversation_id", is_uuid),
        case("000.48", "timestamp is ISO 8601, UTC", "timestamp", is_utc),
    ],
)
def test_an_answer_has_every_field(answer: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(answer, path))


@item("000.44", "is_fully_ground and is_fully_grounded are both written, and equal")
def test_both_spellings_are_written(told: Service, model: Model, answer: Body) -> None:
    model.says(f"{AMCL} {LIE}")
    for one in (answer, told.ask(ASK, asked())):
        grounding = one["grounding_validation"]
        assert is_flag(grounding["is_fully_ground"])
        assert grounding["is_fully_ground"] is grounding["is_fully_grounded"]


@item("000.35", "response_text has 1 to 10,000 characters")
def test_a_very_long_answer_is_cut(told: Service, model: Model) -> None:
    model.says(" ".join([AMCL] * 90))

    whole = told.ask(ASK, asked())
    done = event_of(told.stream(STREAM, asked()), "done")

    assert 1 <= len(whole["response_text"]) <= 10_000
    assert 1 <= len(done["response_text"]) <= 10_000


@pytest.mark.parametrize("question", [COVERED, "What is dead reckoning?", "What is SLAM?"])
@item("000.36", "sources are those used in the response, in the order of its marks")
def test_sources_are_what_the_answer_cites(main: Service, question: str) -> None:
    found = main.ask(ASK, asked(question))

    assert marks(found["response_text"]) == list(range(1, len(found["sources"]) + 1))


@pytest.mark.parametrize("question", [COVERED, CONTENTS])
@item("000.37", "sources[].content_id is among what was retrieved; top_k, or one for each line")
def test_every_source_was_retrieved(main: Service, question: str) -> None:
    events = main.stream(STREAM, asked(question))

    sources = {source["content_id"] for source in event_of(events, "done")["sources"]}
    found = [data for name, data in events if name == "retrieved_content"]
    assert sources <= {one["id"] for data in found for one in data["content_chunks"]}
    assert len(sources) <= (5 if question == COVERED else 60)


@item("000.42", "confidence_score is the confidence in the response: 0 where it claims nothing")
def test_no_answer_no_confidence(main: Service, told: Service, model: Model) -> None:
    model.says(LIE)

    withheld = told.ask(ASK, asked())
    others = [main.ask(ASK, asked(question)) for question in ("thanks", UNCOVERED)]

    assert [one["confidence_score"] for one in (withheld, *others)] == [0.0, 0.0, 0.0]
    assert [one["sources"] for one in (withheld, *others)] == [[], [], []]
    assert LIE not in withheld["response_text"]


@pytest.mark.parametrize("question", QUOTABLE)
@item("000.46", "unsupported_claims hold unsupported claims, never what the book says itself")
def test_what_the_book_says_is_not_unsupported(main: Service, question: str) -> None:
    grounding = main.ask(ASK, asked(question))["grounding_validation"]

    assert grounding["unsupported_claims"] == []
    assert grounding["is_fully_grounded"]


@item("000.49", "every claim of response_text is supported by the sources")
def test_a_false_sentence_is_never_shown(told: Service, model: Model) -> None:
    model.says(f"{AMCL} {LIE}")

    whole = told.ask(ASK, asked())
    events = told.stream(STREAM, asked())

    assert AMCL in whole["response_text"]
    assert LIE not in whole["response_text"]
    assert LIE not in sentences(events)
    assert LIE not in event_of(events, "done")["response_text"]


@item("000.50", "unsupported_claims are not empty if the response is not fully grounded")
def test_what_is_not_grounded_is_named(told: Service, model: Model) -> None:
    for said in (AMCL, f"{AMCL} {LIE}", LIE):
        model.says(said)
        grounding = told.ask(ASK, asked())["grounding_validation"]
        assert grounding["is_fully_grounded"] or grounding["unsupported_claims"]
        if LIE in said:
            assert any("Moon" in claim for claim in grounding["unsupported_claims"])


@item("000.63", "one request leads to many chunks")
def test_a_question_finds_many_chunks(main: Service) -> None:
    events = main.stream(STREAM, asked())

    assert len(event_of(events, "retrieved_content")["content_chunks"]) > 1


@item("000.64", "the chunks lead to one response")
def test_there_is_one_response(main: Service) -> None:
    names = [name for name, _ in main.stream(STREAM, asked())]

    assert (names.count("retrieved_content"), names.count("done"), names[-1]) == (1, 1, "done")


@item("000.74", "rule 1: all content of the response is traceable to what was retrieved")
def test_what_is_said_stands_in_what_was_retrieved(main: Service) -> None:
    for question in (COVERED, "What is dead reckoning?"):
        events = main.stream(STREAM, asked(question))
        text = " ".join(
            " ".join(at(event_of(events, "retrieved_content"), "content_chunks[].text")).split()
        )
        for _, data in [one for one in events if one[0] == "sentence"]:
            said = data["text"].split(" [")[0]
            assert " ".join(said.split()) in text


@item("000.75", "rule 2: every fact references a source, also where the model forgot it")
def test_every_sentence_gets_its_mark(told: Service, model: Model) -> None:
    model.says(AMCL)

    found = told.ask(ASK, asked())

    assert found["response_text"].startswith(f"{AMCL} [1]")
    assert len(found["sources"]) == 1


def tools(model: Model) -> set[str]:
    offered = [tool for request in model.requests for tool in request.get("tools") or []]
    return {tool["function"]["name"] for tool in offered}


@item("000.76", "rule 3: the requested context mode is respected")
def test_the_readers_own_text_is_the_only_source(
    main: Service, told: Service, model: Model
) -> None:
    own = {"context_mode": "user_provided", "user_context": OWN}
    found = main.ask(ASK, asked("What is AMCL used for?", **own))
    model.says(AMCL)
    told.ask(ASK, asked("What is AMCL used for?", **own))

    assert "localisation in Nav2" in found["response_text"]
    assert "KLD" not in str(found)
    assert "KLD" not in model.prompts()
    assert tools(model) <= {"read_selection"}


@item("000.77", "a text of the reader's that does not answer is not made to answer")
def test_a_selection_that_does_not_answer_is_refused(main: Service) -> None:
    question = "How many particles does AMCL keep by default?"

    found = main.ask(ASK, asked(question, context_mode="user_provided", user_context=OWN))

    assert (found["confidence_score"], found["sources"]) == (0.0, [])


@item("000.78", "rule 4: nothing is said that was not retrieved")
def test_an_invention_is_withheld(told: Service, model: Model) -> None:
    model.says(f"{DRIFT} The inventor of dead reckoning was Captain Nemo.")

    found = told.ask(ASK, asked("Why does dead reckoning drift?"))

    assert DRIFT in found["response_text"]
    assert "Nemo" not in found["response_text"]
    assert "Nemo" in str(found["grounding_validation"]["unsupported_claims"])


@item("000.79", "rule 5: responses of low confidence are rejected or flagged")
def test_what_the_book_does_not_cover_is_rejected(main: Service) -> None:
    found = main.ask(ASK, asked(UNCOVERED))

    assert found["confidence_score"] == 0.0
    assert found["sources"] == []
    assert found["response_text"].startswith("I couldn't find that in the book")


@item("000.80", "streamed and whole say the same")
def test_the_stream_ends_with_the_whole_answer(main: Service) -> None:
    for question in (COVERED, UNCOVERED, "thanks"):
        whole = main.ask(ASK, asked(question))
        done = event_of(main.stream(STREAM, asked(question)), "done")
        for name in ("conversation_id", "timestamp"):
            whole.pop(name), done.pop(name)
        assert done == whole


@item("000.81", "the agent has its tools and their results come back to it")
def test_the_agent_calls_its_tools(told: Service, model: Model) -> None:
    model.says(Reply(tool_calls=[("search_textbook", '{"query": "dead reckoning"}')]), AMCL)

    told.ask(ASK, asked())

    assert {"search_textbook", "read_section", "table_of_contents"} <= tools(model)
    assert len(model.requests) == 2
    assert "Dead reckoning" in str(model.requests[1]["messages"][-1])
