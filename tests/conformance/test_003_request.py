"""Data model 003: what `/chat/run` and `/chat/stream` are asked."""

from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid1, uuid4, uuid5

import pytest

from tests.conformance.cases import case, item, kept
from tests.conformance.sample import COVERED, question_of
from tests.conformance.serving import Body, Service
from tests.conformance.shapes import at, event_of, is_score, is_uuid4

RUN = "/chat/run"
STREAM = "/chat/stream"


def asked(message: Any = COVERED, **fields: Any) -> Body:
    return {"message": message, **fields}


@pytest.mark.parametrize(
    "body",
    [
        case(
            "003.01",
            "the request of the data model's example",
            {
                "message": "How do ROS 2 nodes communicate?",
                "session_id": "550e8400-e29b-41d4-a716-446655440000",
                "stream": False,
                "top_k": 5,
                "similarity_threshold": 0.7,
            },
        ),
        case("003.03", "message of 1 character is accepted", asked("a")),
        case("003.04", "message of 1,000 is accepted", asked(question_of(1000))),
        case("003.15", "top_k 1 is accepted", asked(top_k=1)),
        case("003.16", "top_k 10 is accepted", asked(top_k=10)),
        case(
            "003.19",
            "null means the default",
            asked(top_k=None, stream=None, similarity_threshold=None, session_id=None),
        ),
        case("003.21", "similarity_threshold 0.0 is accepted", asked(similarity_threshold=0.0)),
        case("003.22", "similarity_threshold 1.0 is accepted", asked(similarity_threshold=1.0)),
        case("003.27", "unknown fields are ignored", asked(user="me", temperature=1)),
    ],
)
def test_what_the_data_model_allows_is_accepted(main: Service, body: Body) -> None:
    answer = main.ask(RUN, body)

    assert answer["response"]
    assert len(answer["sources"]) <= (body.get("top_k") or 5)
    assert main.stream(STREAM, body)[-1][0] == "done"


@pytest.mark.parametrize(
    ("bodies", "field"),
    [
        case("003.02", "message is a required string", [{}, asked(None), asked(5)], "message"),
        case("003.05", "message of 1,001 is refused", [asked(question_of(1001))], "message"),
        case("003.06", "message empty or blank is refused", [asked(""), asked(" \t\n")], "message"),
        case(
            "003.08",
            "session_id is a UUID of version 4, and nothing else",
            [
                asked(session_id=wrong)
                for wrong in (
                    "mine",
                    "",
                    5,
                    str(uuid1()),
                    str(uuid5(NAMESPACE_URL, "a")),
                    "01890a5d-ac96-774b-bcce-b302099a8057",
                    str(UUID(int=0)),
                    uuid4().hex,
                    f"urn:uuid:{uuid4()}",
                )
            ],
            "session_id",
        ),
        case("003.14", "top_k 0 is refused", [asked(top_k=0), asked(top_k=-1)], "top_k"),
        case("003.17", "top_k 11 is refused", [asked(top_k=11)], "top_k"),
        case(
            "003.18",
            "top_k is a whole number",
            [asked(top_k=wrong) for wrong in ("5", 5.5, True)],
            "top_k",
        ),
        case(
            "003.23",
            "similarity_threshold outside 0 to 1 is refused",
            [asked(similarity_threshold=wrong) for wrong in (-0.01, 1.01, "NaN")],
            "similarity_threshold",
        ),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(
    main: Service, bodies: list[Body], field: str
) -> None:
    for body in bodies:
        for path in (RUN, STREAM):
            reply = main.post(path, body)
            assert reply.status_code == 422, (body, reply.text)
            assert field in reply.text


@item("003.07", "session_id left out is made, a UUID of version 4")
def test_a_session_id_is_made(main: Service) -> None:
    made = [main.ask(RUN, asked())["session_id"] for _ in range(2)]

    assert all(is_uuid4(one) for one in made)
    assert made[0] != made[1]


@item("003.09", "session_id in upper case is the same thread everywhere")
def test_an_upper_case_id_is_the_same_thread(main: Service) -> None:
    name = str(uuid4())

    assert main.ask(RUN, asked(session_id=name.upper()))["session_id"] == name
    assert main.get(f"/threads/{name.upper()}")["thread_id"] == name
    assert main.get(f"/threads/{name.upper()}/messages")
    patched = main.client.patch(f"/threads/{name.upper()}", json={"topic_summary": "AMCL"})
    assert patched.status_code == 200
    assert main.status("DELETE", f"/threads/{name.upper()}") == 204
    assert main.status("GET", f"/threads/{name}") == 404


@item("003.10", "stream is a bool, false by default")
def test_streaming_is_off_by_default(main: Service) -> None:
    for body in (asked(), asked(stream=False)):
        assert main.post(RUN, body).headers["content-type"].startswith("application/json")
    for wrong in ("true", 1):
        assert main.post(RUN, asked(stream=wrong)).status_code == 422


@item("003.11", "stream true on /chat/run gives server-sent events")
def test_run_can_stream(main: Service) -> None:
    reply = main.post(RUN, asked(stream=True))

    assert reply.headers["content-type"].startswith("text/event-stream")
    assert "event: done" in reply.text


@item("003.12", "/chat/stream gives server-sent events")
def test_stream_streams(main: Service) -> None:
    reply = main.post(STREAM, asked())

    assert reply.headers["content-type"].startswith("text/event-stream")
    assert "event: sentence" in reply.text


@item("003.13", "top_k is 5 by default")
def test_five_chunks_are_retrieved(main: Service) -> None:
    answers = [main.ask(RUN, asked(similarity_threshold=0.0, **k)) for k in ({}, {"top_k": 5})]

    assert len(answers[0]["retrieved"]) == 5
    assert at(answers[0], "retrieved[].chunk_id") == at(answers[1], "retrieved[].chunk_id")


@item("003.20", "similarity_threshold is 0.7 by default")
def test_the_threshold_is_seven_tenths(main: Service) -> None:
    question = "What does a robot cost?"
    answers = [main.ask(RUN, asked(question, **t)) for t in ({}, {"similarity_threshold": 0.7})]

    assert answers[0]["metrics"] == answers[1]["metrics"]


@item("003.24", "similarity_threshold is on the calibrated scale; the cosine stands beside it")
@kept("similarity_threshold", "calibrated")
def test_the_threshold_is_calibrated(main: Service) -> None:
    answer = main.ask(RUN, asked(top_k=10, similarity_threshold=0.0))

    for one in answer["retrieved"]:
        assert is_score(one["similarity_score"])
        assert -1 <= one["cosine"] <= 1
        assert one["similarity_score"] != one["cosine"]


@item("003.25", "similarity_threshold lets chunks through one by one")
def test_the_threshold_filters_chunk_by_chunk(main: Service) -> None:
    everything = main.ask(RUN, asked(top_k=10, similarity_threshold=0.0))
    scores = sorted(at(everything, "retrieved[].similarity_score"), reverse=True)
    threshold = (scores[4] + scores[5]) / 2

    some = main.ask(RUN, asked(top_k=10, similarity_threshold=threshold))

    assert scores[0] - scores[-1] > 0.1, "passages of one question have scores of their own"
    assert some["metrics"]["num_chunks"] == 5
    assert some["metrics"]["min_similarity"] >= threshold


@item("003.26", "nothing below the threshold is a source")
def test_sources_pass_the_threshold(main: Service) -> None:
    for question in (COVERED, "What is SLAM?", "Who won the 1998 World Cup?", "What is a joint?"):
        for threshold in (0.0, 0.7, 0.9):
            body = asked(question, similarity_threshold=threshold)
            for source in main.ask(RUN, body)["sources"]:
                assert source["similarity_score"] >= threshold


@item("003.28", "a request creates or continues its thread")
def test_a_request_continues_its_thread(main: Service) -> None:
    name = main.ask(RUN, asked())["session_id"]
    main.ask(RUN, asked("thanks", session_id=name))

    assert len(main.get(f"/threads/{name}")["messages"]) == 4


@item("003.110", "streamed and whole say the same")
def test_the_stream_ends_with_the_whole_answer(main: Service) -> None:
    for question in (COVERED, "Who won the 1998 World Cup?", "thanks", "list the chapters"):
        whole = main.ask(RUN, asked(question))
        done = event_of(main.stream(STREAM, asked(question)), "done")
        for one in (whole, done):
            for name in ("session_id", "timestamp", "answer_id", "query_id"):
                del one[name]
            for name in ("timings", "cache_age_seconds"):
                one.pop(name, None)
        assert done == whole
