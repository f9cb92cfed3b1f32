"""Data model 003: RetrievalResult and ConfidenceMetrics, and where chunks are kept."""

import hashlib
import json
import re
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conformance.book import TWICE, write_book
from tests.conformance.cases import case, item, kept
from tests.conformance.sample import AMCL, CONTENTS, COVERED, SMALL_TALK, UNCOVERED
from tests.conformance.serving import Body, Model, Service, command, copied, serving
from tests.conformance.shapes import (
    at,
    is_address,
    is_count,
    is_score,
    is_sha256,
    is_text,
    passing,
)
from tests.servers import EmbeddingServer, Reply

RUN = "/chat/run"


def asked(message: str = COVERED, **fields: Any) -> Body:
    return {"message": message, **fields}


@pytest.fixture(scope="module")
def answer(main: Service) -> Body:
    return main.ask(RUN, asked())


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("003.73", "scores are 0 to 1", "retrieved[].similarity_score", is_score),
        case("003.79", "metadata[].chapter", "retrieved[].chapter", is_text),
        case("003.80", "metadata[].section", "retrieved[].section", is_text),
        case("003.81", "metadata[].url", "retrieved[].url", is_address),
        case("003.82", "metadata[].chunk_index", "retrieved[].chunk_index", is_count),
        case("003.86", "average_similarity", "metrics.average_similarity", is_score),
    ],
)
def test_what_was_retrieved_has_every_field(answer: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(answer, path))


FIELDS = ("chunk_text", "similarity_score", "chapter", "section", "url", "chunk_index")


@item("003.74", "each chunk has its metadata")
def test_each_chunk_has_its_metadata(answer: Body) -> None:
    for one in answer["retrieved"]:
        assert {*FIELDS, "content_hash"} <= one.keys()


@item("003.75", "chunks, scores and metadata are equally many")
def test_nothing_is_missing(answer: Body) -> None:
    lengths = {len(at(answer, f"retrieved[].{name}")) for name in FIELDS}

    assert lengths == {len(answer["retrieved"])}


@item("003.76", "average_score is the mean of the scores")
def test_the_average_is_the_mean(answer: Body) -> None:
    scores = [one["similarity_score"] for one in passing(answer)]

    assert answer["metrics"]["average_similarity"] == pytest.approx(mean(scores), abs=1e-6)


@item("003.77", "has_sufficient_context: 0.75 on average and 3 chunks")
def test_context_is_sufficient_by_rule(main: Service) -> None:
    bodies = [asked(q) for q in (COVERED, *SMALL_TALK, CONTENTS, UNCOVERED, "What does it cost?")]
    for body in (
        *bodies,
        asked(filters={"section": "AMCL"}),
        asked("How many chapters are there?"),
    ):
        metrics = main.ask(RUN, body)["metrics"]
        enough = metrics["average_similarity"] >= 0.75 and metrics["num_chunks"] >= 3
        assert metrics["has_sufficient_context"] is enough, body


@item("003.83", "metadata[].content_hash is the SHA-256 of the chunk")
def test_the_hash_is_that_of_the_content(main: Service, answer: Body) -> None:
    events = main.stream("/query/stream", {"query": COVERED})
    (chunks,) = [data["chunks"] for name, data in events if name == "chunks"]
    known = {one["chunk_id"]: one["content"] for one in chunks}

    for one in answer["retrieved"]:
        assert is_sha256(one["content_hash"])
        content = known[one["chunk_id"]].encode()
        assert one["content_hash"] == hashlib.sha256(content).hexdigest()


@item("003.84", "chunks with the same content_hash: only the best is kept")
def test_a_paragraph_that_stands_twice_is_found_once(keeper: Service) -> None:
    found = keeper.ask(RUN, asked("What is a diaphone?", top_k=10, similarity_threshold=0.0))
    hashes = at(found, "retrieved[].content_hash")

    assert len(set(hashes)) == len(hashes)
    assert [TWICE[:60] in text for text in at(found, "retrieved[].chunk_text")].count(True) == 1


@item("003.87", "min_similarity <= average_similarity <= max_similarity")
def test_the_average_lies_between_the_extremes(main: Service) -> None:
    for question in (COVERED, CONTENTS, UNCOVERED, "thanks"):
        metrics = main.ask(RUN, asked(question))["metrics"]
        low, high = metrics["min_similarity"], metrics["max_similarity"]
        assert 0 <= low <= metrics["average_similarity"] + 1e-9 <= high + 2e-9 <= 1 + 3e-9


@item("003.88", "num_chunks is how many were retrieved")
def test_chunks_are_counted(main: Service, answer: Body) -> None:
    assert answer["metrics"]["num_chunks"] == len(passing(answer))
    for top_k in (1, 3, 10):
        found = main.ask(RUN, asked(top_k=top_k, similarity_threshold=0.0))
        assert found["metrics"]["num_chunks"] == len(found["retrieved"]) <= top_k


@item("003.90", "chunk_diversity of contents and small talk is by the formula, too")
def test_diversity_is_not_made_up(main: Service) -> None:
    for question in (CONTENTS, *SMALL_TALK):
        metrics = main.ask(RUN, asked(question))["metrics"]
        if metrics["num_chunks"] >= 2:
            assert 0 < metrics["chunk_diversity"] <= 1
        else:
            assert metrics["chunk_diversity"] == 0.0


@item("003.111", "search_textbook is a function tool, and what it finds comes back")
def test_the_model_may_search(told: Service, model: Model) -> None:
    model.says(Reply(tool_calls=[("search_textbook", '{"query": "particle filter"}')]), AMCL)
    told.ask(RUN, asked())
    tools = {tool["function"]["name"] for tool in model.requests[0]["tools"]}

    assert "search_textbook" in tools
    assert "weighted samples" in str(model.requests[1]["messages"][-1])


@item("003.85", "search_textbook gives passages, each with its score and metadata")
@kept("RetrievalResult", "search_textbook")
def test_the_tool_gives_passages(told: Service, model: Model) -> None:
    model.says(Reply(tool_calls=[("search_textbook", '{"query": "particle filter"}')]), AMCL)
    told.ask(RUN, asked())

    given = json.loads(model.requests[1]["messages"][-1]["content"])
    assert given["passages"]


@pytest.fixture(scope="module")
def wide(
    keeper_data: Path,
    openai_embedder: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """The small book, embedded with vectors of 1536 numbers that the test can compute itself."""
    data = tmp_path_factory.mktemp("wide")
    command(data, "ingest", str(keeper_data / "keeper"), **openai_embedder)
    with serving(data, **openai_embedder) as service:
        yield service


@item("003.78", "query_embedding has the width of the model, 1536 for OpenAI's; it is not served")
@kept("query_embedding", "1536")
def test_questions_are_embedded_as_wide_as_the_index(
    wide: Service, embeddings: EmbeddingServer
) -> None:
    found = wide.ask(RUN, asked("What is a Fresnel lens made of?"))

    assert any("Fresnel lens made of" in text for text in embeddings.texts)
    assert {request["model"] for request in embeddings.requests} == {"text-embedding-3-small"}
    assert "embedding" not in found


def words(text: str) -> str:
    """Return a text by its words alone."""
    return " ".join(re.findall(r"\w+", text))


def begins(text: str) -> str:
    return words(text)[:60]


@item("003.89", "chunk_diversity is 1 less the mean similarity of pairs")
def test_diversity_is_by_the_formula(wide: Service, embeddings: EmbeddingServer) -> None:
    for question in ("What is a Fresnel lens made of?", "What is a diaphone?"):
        found = wide.ask(RUN, asked(question, similarity_threshold=0.0))
        assert found["should_answer"]
        texts = [
            next(text for text in embeddings.texts if begins(one["chunk_text"]) in words(text))
            for one in found["retrieved"]
        ]
        vectors = embeddings.embedder.embed_passages(texts)
        similar = [float(np.dot(a, b)) for a, b in combinations(vectors, 2)]
        assert found["metrics"]["chunk_diversity"] == pytest.approx(1 - mean(similar), abs=0.01)


@item("003.106", "an index of another embedder is a clear error")
def test_another_embedder_is_an_error(
    sample_data: Path, openai_embedder: dict[str, str], tmp_path: Path
) -> None:
    data = copied(sample_data, tmp_path / "mismatch")
    with serving(data, **openai_embedder) as service:
        reply = service.post(RUN, asked())

    assert reply.status_code == 503, reply.text
    assert reply.json()["code"] == "IndexMismatch"


@pytest.fixture(scope="module")
def collection(
    qdrant: str,
    openai_embedder: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Body]:
    """The collection of the small book on a Qdrant server: its name, and what it is made of."""
    data = tmp_path_factory.mktemp("server")
    with httpx.Client(base_url=qdrant, timeout=60) as client:
        before = {one["name"] for one in client.get("/collections").json()["result"]["collections"]}
        book = write_book(data / "keeper-on-a-server")
        command(data, "ingest", str(book), CITEWELL_INDEX_URL=qdrant, **openai_embedder)
        listed = client.get("/collections").json()["result"]["collections"]
        names = [one["name"] for one in listed if one["name"] not in before]
        found = {name: client.get(f"/collections/{name}").json()["result"] for name in names}
    return next((name, one) for name, one in found.items() if one["config"]["params"]["vectors"])


def vectors_of(described: Body) -> Body:
    named: Body = described["config"]["params"]["vectors"]
    return named.get("dense", named)


@item("003.102", "Qdrant: 1536 wide, by cosine, with text-embedding-3-small")
def test_the_collection_is_as_wide_as_the_model(collection: tuple[str, Body]) -> None:
    vectors = vectors_of(collection[1])

    assert (vectors["size"], vectors["distance"]) == (1536, "Cosine")


@item("003.103", "Qdrant: a collection of its own for each revision, with a named vector")
@kept("collection", "textbook_chunks")
def test_the_collection_has_a_name_of_its_own(collection: tuple[str, Body]) -> None:
    name, described = collection

    assert name.startswith("citewell")
    assert "dense" in described["config"]["params"]["vectors"]


PAYLOAD = {
    "chapter": "keyword",
    "section": "keyword",
    "url": "keyword",
    "chunk_index": "integer",
    "content_hash": "keyword",
    "text": "text",
}


@item("003.104", "payload schema: the embedded engine keeps all six")
def test_the_embedded_engine_keeps_the_payload(answer: Body) -> None:
    for one in answer["retrieved"]:
        assert is_text(one["chunk_text"])
        for name, kind in PAYLOAD.items():
            if name != "text":
                assert isinstance(one[name], int if kind == "integer" else str)


@item("003.105", "payload schema: a Qdrant server indexes all six")
def test_the_server_indexes_the_payload(collection: tuple[str, Body]) -> None:
    schema = {n: one["data_type"] for n, one in collection[1]["payload_schema"].items()}

    assert {name: schema.get(name) for name in PAYLOAD} == PAYLOAD
