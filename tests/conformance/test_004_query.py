"""Data model 004: what `/query` is asked and answers."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conformance.cases import case, item, kept
from tests.conformance.sample import (
    AMCL,
    CONTENTS,
    COVERED,
    DRIFT,
    SMALL_TALK,
    UNCOVERED,
    question_of,
)
from tests.conformance.serving import ROOT, Body, Model, Service, copied, serving
from tests.conformance.shapes import (
    at,
    event_of,
    is_count,
    is_score,
    is_sha256,
    is_text,
    is_utc,
    is_uuid,
    marks,
)
from tests.servers import Reply

QUERY = "/query"
STREAM = "/query/stream"
BOOK = ROOT / "examples" / "physical-ai"
SCHEMA = {
    "type": "object",
    "properties": {
        "response": {"type": "string", "minLength": 1},
        "sources": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "source_file": {"type": "string"},
                    "section_title": {"type": "string"},
                    "chunk_id": {"type": "string"},
                    "similarity_score": {"type": "number", "minimum": 0.0, "maximum": 1.0},
                },
                "required": ["source_file", "section_title", "chunk_id", "similarity_score"],
            },
        },
        "execution_time_ms": {"type": "number", "minimum": 0},
        "timestamp": {"type": "string", "format": "date-time"},
        "query_id": {"type": "string"},
    },
    "required": ["response", "sources", "execution_time_ms", "timestamp", "query_id"],
}


def asked(query: Any = COVERED, **fields: Any) -> Body:
    return {"query": query, **fields}


@pytest.mark.parametrize(
    "body",
    [
        case("004.02", "query of 1 character is accepted", asked("a")),
        case("004.03", "query of 1,000 is accepted", asked(question_of(1000))),
        case("004.10", "timestamp is accepted", asked(timestamp="2025-12-17T14:23:45.123Z")),
        case("004.11", "further fields are ignored, as the schema says", asked(lang="en", n=[1])),
        case("004.66", "fields added since are optional", asked(session_id=None)),
    ],
)
def test_what_the_data_model_allows_is_accepted(main: Service, body: Body) -> None:
    assert main.ask(QUERY, body)["response"]
    assert main.stream(STREAM, body)[-1][0] == "done"


@pytest.mark.parametrize(
    ("bodies", "field"),
    [
        case("004.01", "query is required", [{}, asked(None), asked(5)], "query"),
        case("004.04", "query of 1,001 is refused", [asked(question_of(1001))], "query"),
        case("004.05", "query empty or blank is refused", [asked(""), asked(" \n")], "query"),
        case(
            "004.06",
            "query of special characters alone is refused",
            [asked("!!!"), asked("?? -- ##"), asked("🤖🤖")],
            "query",
        ),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(
    main: Service, bodies: list[Body], field: str
) -> None:
    for body in bodies:
        for path in (QUERY, STREAM):
            reply = main.post(path, body)
            assert reply.status_code == 422, (body, reply.text)
            assert field in reply.text


@item("004.07", "user_context is an object or null")
def test_the_users_context_is_an_object(main: Service) -> None:
    for right in ({"level": "beginner", "read": [1, 2]}, {}, None):
        assert main.ask(QUERY, asked(user_context=right))["response"]
    for wrong in ("beginner", ["beginner"], 5):
        assert main.post(QUERY, asked(user_context=wrong)).status_code == 422


def nested(depth: int) -> Body:
    inner: Body = {}
    for _ in range(depth):
        inner = {"in": inner}
    return inner


@item("004.08", "user_context has up to 10,000 bytes and 20 levels")
@kept("10,000 bytes")
def test_the_users_context_is_limited(main: Service) -> None:
    assert main.ask(QUERY, asked(user_context={"note": "n" * 9_900}))["response"]
    for wrong in ({"note": "n" * 10_100}, nested(30)):
        assert main.post(QUERY, asked(user_context=wrong)).status_code == 422


@item("004.09", "user_context reaches the agent, as data")
def test_the_users_context_reaches_the_agent(told: Service, model: Model) -> None:
    model.says(AMCL)
    told.ask(QUERY, asked(user_context={"background": "zoologist from Tromsø"}))
    system = [m for m in model.requests[0]["messages"] if m["role"] in ("system", "developer")]

    assert "zoologist from Troms" in model.prompts()
    assert "zoologist" not in str(system)


@pytest.fixture(scope="module")
def answer(main: Service) -> Body:
    return main.ask(QUERY, asked())


def is_excerpt(value: Any) -> bool:
    return is_text(value) and len(value) <= 500


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("004.12", "response is not empty", "response", is_text),
        case("004.16", "timestamp is a date-time", "timestamp", is_utc),
        case("004.20", "sources[].section_title", "sources[].section_title", is_text),
        case("004.21", "sources[].chunk_id is a UUID", "sources[].chunk_id", is_uuid),
        case(
            "004.22",
            "sources[].similarity_score is 0 to 1, and calibrated",
            "sources[].similarity_score",
            is_score,
            marks=[kept("similarity_score", "calibrated")],
        ),
        case(
            "004.23", "sources[].content_preview is short", "sources[].content_preview", is_excerpt
        ),
    ],
)
def test_an_answer_has_every_field(answer: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(answer, path))


@pytest.mark.parametrize("question", [COVERED, "What is dead reckoning?", "What is SLAM?"])
@item("004.13", "sources are the sections used in the response")
def test_sources_are_what_the_answer_cites(main: Service, question: str) -> None:
    found = main.ask(QUERY, asked(question))

    assert marks(found["response"]) == list(range(1, len(found["sources"]) + 1))


@item("004.14", "sources are empty where nothing relevant was found")
def test_a_refusal_has_no_sources(main: Service) -> None:
    assert main.ask(QUERY, asked(UNCOVERED))["sources"] == []


@item("004.15", "execution_time_ms is not negative")
def test_the_time_it_took_is_told(answer: Body) -> None:
    assert answer["execution_time_ms"] >= 0


@item("004.17", "query_id is unique, and leads to the answer")
def test_an_answer_can_be_tracked(main: Service) -> None:
    ids = [main.ask(QUERY, asked())["query_id"] for _ in range(2)]

    assert ids[0] != ids[1]
    assert main.get(f"/answers/{ids[0]}")["question"] == COVERED


@pytest.mark.parametrize("question", [COVERED, UNCOVERED, CONTENTS, *SMALL_TALK])
@item("004.18", "every response fits the data model's JSON Schema")
def test_a_response_fits_the_schema(main: Service, question: str) -> None:
    jsonschema.validate(main.ask(QUERY, asked(question)), SCHEMA)


@item("004.19", "sources[].source_file is a document that there is")
def test_source_files_exist(main: Service) -> None:
    for question in (COVERED, "What is SLAM?", "What is a URDF model?"):
        for name in at(main.ask(QUERY, asked(question)), "sources[].source_file"):
            assert (BOOK / name).is_file()


@pytest.fixture(scope="module")
def chunks(main: Service) -> Body:
    found: Body = event_of(main.stream(STREAM, asked()), "chunks")
    return found


def is_position(value: Any) -> bool:
    return is_count(value) and value >= 1


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("004.24", "RetrievedChunk.chunk_id", "chunks[].chunk_id", is_uuid),
        case("004.25", "RetrievedChunk.source_file", "chunks[].source_file", is_text),
        case("004.26", "RetrievedChunk.section_title", "chunks[].section_title", is_text),
        case("004.27", "RetrievedChunk.content", "chunks[].content", is_text),
        case("004.29", "RetrievedChunk.chunk_sequence", "chunks[].chunk_sequence", is_position),
        case("004.30", "RetrievedChunk.total_chunks", "chunks[].total_chunks", is_position),
        case(
            "004.31",
            "RetrievedChunk.processing_timestamp",
            "chunks[].processing_timestamp",
            is_utc,
        ),
        case("004.32", "RetrievedChunk.token_count", "chunks[].token_count", is_count),
        case("004.33", "RetrievedChunk.similarity_score", "chunks[].similarity_score", is_score),
    ],
)
def test_a_chunk_has_every_field(chunks: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(chunks, path))


@item("004.28", "RetrievedChunk.content_hash is the SHA-256 of the content")
def test_the_hash_is_that_of_the_content(chunks: Body) -> None:
    for one in chunks["chunks"]:
        assert is_sha256(one["content_hash"])
        assert one["content_hash"] == hashlib.sha256(one["content"].encode()).hexdigest()


@item("004.34", "RetrievedChunk.rank counts from 1")
def test_ranks_count_from_one(chunks: Body) -> None:
    ranks = at(chunks, "chunks[].rank")

    assert ranks == list(range(1, len(ranks) + 1))


@item("004.35", "chunk_sequence is at most total_chunks")
def test_no_chunk_comes_after_the_last(chunks: Body) -> None:
    assert all(one["chunk_sequence"] <= one["total_chunks"] for one in chunks["chunks"])


@item("004.36", "rank is the place in the results, which are ranked by more than the score")
@kept("rank")
def test_the_rank_is_the_place(chunks: Body) -> None:
    assert at(chunks, "chunks[].rank")[:2] == [1, 2]
    assert len({one["chunk_id"] for one in chunks["chunks"]}) == len(chunks["chunks"])


AGAIN = Reply(tool_calls=[("search_textbook", '{"query": "Why does dead reckoning drift?"}')])


@item("004.52", "retrieval is a function tool of the agent")
def test_retrieval_is_a_tool(told: Service, model: Model) -> None:
    model.says(AGAIN, AMCL)
    told.ask(QUERY, asked())
    tools = {tool["function"]["name"] for tool in model.requests[0]["tools"]}

    assert "search_textbook" in tools


@item("004.53", "the agent runs in a loop: tools, then an answer")
def test_the_agent_runs_in_a_loop(told: Service, model: Model) -> None:
    model.says(AGAIN, f"{AMCL} {DRIFT}")
    found = told.ask(QUERY, asked())

    assert len(model.requests) == 2
    given = json.loads(model.requests[1]["messages"][-1]["content"])
    assert "nothing ever removes it" in " ".join(str(given).replace("\\n", " ").split())
    assert DRIFT in found["response"]


@pytest.fixture(scope="module")
def litellm(
    sample_data: Path, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Answered by a model behind LiteLLM; answers are remembered."""
    data = copied(sample_data, tmp_path_factory.mktemp("litellm"))
    settings = {
        "CITEWELL_MODEL": "litellm/openai/told",
        "CITEWELL_LLM__BASE_URL": model.url,
        "CITEWELL_LLM__API_KEY": "told",
        "CITEWELL_LLM__TOOLS": "yes",
    }
    with serving(data, **settings) as service:
        yield service


@item("004.54", "any model of LiteLLM writes the answers")
def test_a_model_of_litellm_answers(litellm: Service, model: Model) -> None:
    model.says(AGAIN, f"{AMCL} {DRIFT}")

    assert AMCL in litellm.ask(QUERY, asked())["response"]
    assert len(model.requests) == 2


@item("004.65", "identical queries are answered from a cache")
def test_an_answer_is_remembered(litellm: Service, model: Model) -> None:
    model.says(DRIFT)
    question = asked("Why does dead reckoning drift?")
    first, second = (litellm.ask(QUERY, question) for _ in range(2))

    assert first["response"] == second["response"]
    assert len(model.requests) == 1


def retrieved_in(events: list[tuple[str, Any]]) -> list[Body]:
    """Return every chunk that a stream said was retrieved, in whatever search."""
    return [one for name, data in events if name == "chunks" for one in data["chunks"]]


@item("004.55", "sources are among the chunks retrieved, in their words")
def test_every_source_was_retrieved(main: Service) -> None:
    for question in (COVERED, CONTENTS, "What is SLAM?"):
        events = main.stream(STREAM, asked(question))
        retrieved = {one["chunk_id"] for one in retrieved_in(events)}
        assert {one["chunk_id"] for one in event_of(events, "done")["sources"]} <= retrieved


@item("004.56", "sources are among the chunks retrieved also where the model searched again")
def test_every_source_of_a_second_search_was_retrieved(told: Service, model: Model) -> None:
    model.says(AGAIN, f"{AMCL} {DRIFT}")
    events = told.stream(STREAM, asked())
    chunks = retrieved_in(events)
    sources = event_of(events, "done")["sources"]

    assert len(sources) >= 2
    assert {one["chunk_id"] for one in sources} <= {one["chunk_id"] for one in chunks}


@item("004.57", "scores of sources are those of the retrieval")
def test_scores_are_those_of_the_retrieval(main: Service) -> None:
    for question in (COVERED, CONTENTS, *SMALL_TALK):
        events = main.stream(STREAM, asked(question))
        scores = {one["chunk_id"]: one["similarity_score"] for one in retrieved_in(events)}
        for source in event_of(events, "done")["sources"]:
            assert source["similarity_score"] == scores[source["chunk_id"]]
            assert source["similarity_score"] < 1.0, question


@item("004.58", "a query takes less than 30 seconds")
def test_a_query_is_answered_in_time(main: Service) -> None:
    taken = [
        main.ask(QUERY, asked(f"What is {what}?"))["execution_time_ms"]
        for what in ("a robot", "a sensor", "a URDF model", "SLAM", "a quaternion")
    ]

    assert max(taken) < 30_000


@item("004.62", "a chunk has less than 1 MB")
def test_chunks_are_small(main: Service, keeper: Service) -> None:
    for service, question in ((main, COVERED), (keeper, "Show the listing of lantern program 2")):
        found = event_of(service.stream(STREAM, asked(question)), "chunks")
        assert all(len(content.encode()) < 1_000_000 for content in at(found, "chunks[].content"))


@item("004.63", "a response has less than 10 MB, however long the model writes")
def test_a_response_is_not_too_large(told: Service, model: Model) -> None:
    model.says(" ".join([AMCL] * 300))
    reply = told.post(QUERY, asked(user_context={"note": "n" * 9_900}))

    assert reply.status_code == 200
    assert len(reply.content) < 10_000_000


@item("004.64", "there are fewer than 100 sources")
def test_there_are_few_sources(main: Service, keeper: Service) -> None:
    for service in (main, keeper):
        for question in (CONTENTS, "What is this book about?", COVERED):
            assert len(service.ask(QUERY, asked(question))["sources"]) < 100


@item("004.67", "streamed and whole say the same")
def test_the_stream_ends_with_the_whole_answer(main: Service) -> None:
    for question in (COVERED, UNCOVERED, "thanks"):
        whole = main.ask(QUERY, asked(question))
        done = event_of(main.stream(STREAM, asked(question)), "done")
        for one in (whole, done):
            for name in ("query_id", "timestamp", "execution_time_ms"):
                del one[name]
            one.pop("session_id", None)
        assert done == whole
