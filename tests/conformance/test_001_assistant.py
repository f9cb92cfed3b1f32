"""Data model 001: what `/assistant/chat` is asked and answers."""

from typing import Any
from uuid import UUID, uuid1, uuid4, uuid5

import pytest

from tests.conformance.cases import case, item, kept
from tests.conformance.sample import AMCL, CONTENTS, COVERED, UNCOVERED, question_of
from tests.conformance.serving import BOUND, Body, Model, Service
from tests.conformance.shapes import (
    at,
    event_of,
    is_count,
    is_list,
    is_object,
    is_score,
    is_text_or_null,
    is_uuid,
    is_uuid4,
    marks,
)

CHAT = "/assistant/chat"
STREAM = "/assistant/chat/stream"


def asked(message: Any = COVERED, **fields: Any) -> Body:
    return {"message": message, **fields}


@pytest.mark.parametrize(
    "body",
    [
        case("001.02", "message of 1 character is accepted", asked("a")),
        case("001.03", "message of 500 is accepted", asked(question_of(500))),
        case("001.06", "message is trimmed before it is counted", asked(f"  {question_of(500)}\n")),
        case("001.08", "session_id is optional, and made as a UUID of version 4", asked()),
        case("001.11", "session_id null is none", asked(session_id=None)),
        case("001.12", "unknown fields are ignored", asked(top_k=3, stream=False, mood="good")),
    ],
)
def test_what_the_data_model_allows_is_accepted(main: Service, body: Body) -> None:
    answer = main.ask(CHAT, body)

    assert answer["message"]
    assert is_uuid4(answer["session_id"])
    assert main.stream(STREAM, body)[-1][0] == "done"


@pytest.mark.parametrize(
    ("bodies", "field"),
    [
        case("001.01", "message is required", [{}, {"session_id": str(uuid4())}], "message"),
        case("001.04", "message of 501 is refused", [asked(question_of(501))], "message"),
        case("001.05", "message empty or blank is refused", [asked(""), asked(" \n ")], "message"),
        case("001.07", "message is a string", [asked(None), asked(5), asked(["a"])], "message"),
        case(
            "001.09",
            "session_id is a UUID of version 4, and nothing else",
            [
                asked(session_id=wrong)
                for wrong in (
                    str(uuid1()),
                    str(uuid5(UUID(int=0), "a")),
                    str(UUID(int=0)),
                    uuid4().hex,
                    f"urn:uuid:{uuid4()}",
                    "",
                    7,
                )
            ],
            "session_id",
        ),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(
    main: Service, bodies: list[Body], field: str
) -> None:
    for body in bodies:
        for path in (CHAT, STREAM):
            reply = main.post(path, body)
            assert reply.status_code == 422, (body, reply.text)
            assert field in reply.text


@item("001.10", "session_id in upper case is the same session")
def test_an_upper_case_id_is_the_same_session(main: Service) -> None:
    session = str(uuid4())

    assert main.ask(CHAT, asked(session_id=session.upper()))["session_id"] == session
    assert main.ask(CHAT, asked(session_id=session))["session_id"] == session
    assert len(main.turns(session)) == 4


@pytest.fixture(scope="module")
def answer(main: Service) -> Body:
    return main.ask(CHAT, asked())


def is_path(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("/") and "#" not in value


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("001.13", "session_id is returned", "session_id", is_uuid4),
        case("001.16", "metadata is an object", "metadata", is_object),
        case("001.17", "sources[].chunk_id", "sources[].chunk_id", is_uuid),
        case("001.18", "sources[].title is optional", "sources[].title", is_text_or_null),
        case("001.19", "sources[].slug leads to the page", "sources[].slug", is_path),
        case(
            "001.20",
            "sources[].score is 0 to 1, and calibrated",
            "sources[].score",
            is_score,
            marks=[kept("similarity_score", "score", "calibrated")],
        ),
        case(
            "001.21",
            "metadata.response_time_ms is a whole number",
            "metadata.response_time_ms",
            is_count,
        ),
        case("001.49", "an answer has many sources", "sources", is_list),
        case("001.50", "an answer has one metadata", "metadata", is_object),
    ],
)
def test_an_answer_has_every_field(answer: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(answer, path))


@item("001.14", "message has inline citations")
def test_the_message_cites(answer: Body) -> None:
    assert marks(answer["message"])


@pytest.mark.parametrize("question", [COVERED, "What is dead reckoning?", "What is SLAM?"])
@item("001.15", "sources are those used in the response")
def test_sources_are_what_the_answer_cites(main: Service, question: str) -> None:
    events = main.stream(STREAM, asked(question))

    done = event_of(events, "done")
    retrieved = at(event_of(events, "retrieved"), "retrieved[].chunk_id")
    assert marks(done["message"]) == list(range(1, len(done["sources"]) + 1))
    assert set(at(done, "sources[].chunk_id")) <= set(retrieved)


@item("001.22", "metadata.tokens_used is there where the model counts them")
def test_tokens_are_counted_where_there_are_any(told: Service, model: Model, answer: Body) -> None:
    model.says(AMCL)

    assert answer["metadata"]["tokens_used"] is None
    assert told.ask(CHAT, asked())["metadata"]["tokens_used"] > 0


@item("001.23", "metadata.context_chunks is the number of chunks used")
def test_the_chunks_used_are_counted(main: Service, answer: Body) -> None:
    used = [main.ask(CHAT, asked(q))["metadata"]["context_chunks"] for q in ("thanks", CONTENTS)]

    assert 1 <= answer["metadata"]["context_chunks"] <= 5
    assert used[0] == 0
    contents = main.ask(CHAT, asked(CONTENTS))
    assert used[1] == len(contents["sources"])  # one for each line


@item("001.38", "flow: a request is validated first, and a wrong one leaves nothing behind")
def test_a_wrong_request_begins_no_session(main: Service) -> None:
    session = str(uuid4())

    assert main.post(CHAT, asked("", session_id=session)).status_code == 422
    assert main.turns(session) == []


@item("001.40", "flow: POST /search, 1 to 500 characters, top_k 1 to 10")
def test_the_book_can_be_searched(main: Service) -> None:
    found = main.ask("/search", {"query": COVERED, "top_k": 3})

    assert len(found["results"]) == 3
    assert all(is_score(score) for score in at(found, "results[].score"))
    for wrong in ("", " ", question_of(501), None):
        assert main.post("/search", {"query": wrong}).status_code == 422
    for wrong in (0, 11):
        assert main.post("/search", {"query": COVERED, "top_k": wrong}).status_code == 422
    assert main.ask("/search", {"query": question_of(500), "top_k": 10})["results"]


@item("001.41", "flow: the prompt of the model has the context")
def test_the_model_is_given_the_passages(told: Service, model: Model) -> None:
    model.says(AMCL)
    told.ask(CHAT, asked())

    assert "KLD-sampling" in model.prompts()
    assert "AMCL" in str(model.requests[0]["messages"])


@item("001.42", "flow: the response is generated by a model that speaks as OpenAI's")
def test_the_model_writes_the_answer(told: Service, model: Model) -> None:
    said = "AMCL recovers from kidnapping by adding random particles"
    model.says(
        f"{said} when the short-term average of the particle weights falls below the long-term "
        "average."
    )

    assert told.ask(CHAT, asked("How does AMCL recover?"))["message"].startswith(said)
    assert model.requests[0]["model"] == "told"


@item("001.44", "flow: the response comes with its sources, a refusal with none")
def test_a_refusal_has_no_sources(main: Service, answer: Body) -> None:
    assert answer["sources"]
    assert main.ask(CHAT, asked(UNCOVERED))["sources"] == []


@item("001.51", "MAX_MESSAGE_LENGTH is 500, whole and streamed")
def test_five_hundred_characters_are_the_limit(main: Service) -> None:
    for path in (CHAT, STREAM):
        assert main.post(path, asked("é" * 500)).status_code == 200
        assert main.post(path, asked("é" * 501)).status_code == 422


@item("001.54", "DEFAULT_TOP_K is 5")
def test_five_chunks_are_retrieved(main: Service) -> None:
    events = main.stream(STREAM, asked("What is a robot?"))

    assert len(event_of(events, "retrieved")["retrieved"]) <= 5
    assert len(main.ask("/search", {"query": COVERED})["results"]) == 5


WORDS_A_LINE = 14


def words_of_the_book(model: Model) -> int:
    """Return how many words of the long listings the model was sent."""
    return model.prompts().count("harbour mouth") * WORDS_A_LINE


@item("001.55", "MAX_CONTEXT_TOKENS is 4,000")
def test_the_prompt_holds_four_thousand_tokens_of_the_book(told: Service, model: Model) -> None:
    model.says("Lantern program 3 sets the rotation speed of every panel of the lantern.")
    body = {
        "message": "What does the listing of lantern program 3 do?",
        "book": "keeper",
        "top_k": 10,
        "similarity_threshold": 0.0,
    }
    told.client.post("/chat/run", json=body, timeout=BOUND)

    assert 1000 < words_of_the_book(model) <= 4000


@item("001.56", "streamed and whole say the same")
def test_the_stream_ends_with_the_whole_answer(main: Service) -> None:
    for question in (COVERED, UNCOVERED, "thanks"):
        whole = main.ask(CHAT, asked(question))
        done = event_of(main.stream(STREAM, asked(question)), "done")
        for one in (whole, done):
            del one["session_id"], one["metadata"]["response_time_ms"]
        assert done == whole
