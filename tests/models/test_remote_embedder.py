"""Embedders behind a wire, against a real server on loopback with the real model behind it."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from citewell.errors import BadSettings, EmbedderUnavailable, EmbedderUnreachable
from citewell.models.embedder import GraniteEmbedder
from citewell.options import EmbeddingOptions
from citewell.ports import Embedder
from citewell.wiring import choose_embedder
from tests.servers import EmbeddingServer, Fault

TEXTS = ["A lens turns.", "Fog is wet.", "A horn sounds in fog.", "The keeper winds the clock."]
SOON = {"retry-after": "0.01"}


@pytest.fixture(scope="module")
def granite(tmp_path_factory: pytest.TempPathFactory) -> GraniteEmbedder:
    return GraniteEmbedder(tmp_path_factory.mktemp("models"))


@pytest.fixture
def server(granite: GraniteEmbedder) -> Iterator[EmbeddingServer]:
    with EmbeddingServer(granite) as server:
        yield server


@pytest.fixture
def choose(server: EmbeddingServer, granite: GraniteEmbedder, tmp_path: Path) -> Any:
    def made(name: str = "openai/granite", **options: Any) -> Embedder:
        chosen = EmbeddingOptions(**{"base_url": server.url, "width": 384} | options)
        return choose_embedder(name, granite, chosen, tmp_path)

    return made


def test_vectors_are_those_of_the_model_in_the_order_of_the_texts(
    choose: Any, server: EmbeddingServer, granite: GraniteEmbedder
) -> None:
    embedder = choose(batch=3)

    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, granite.embed_passages(TEXTS), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_query(TEXTS[1]), vectors[1], atol=1e-4)
    assert vectors.dtype == np.float32
    assert [len(request["input"]) for request in server.requests] == [3, 1, 1]
    assert embedder.embed_passages([]).shape == (0, 384)


def test_rows_that_come_in_another_order_are_put_right(
    choose: Any, server: EmbeddingServer, granite: GraniteEmbedder
) -> None:
    server.faults.append(Fault(change=lambda rows: rows[::-1]))

    vectors = choose().embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, granite.embed_passages(TEXTS), atol=1e-5)


def test_vectors_of_any_length_become_unit_vectors(choose: Any, server: EmbeddingServer) -> None:
    def longer(rows: list[Any]) -> list[Any]:
        return [row | {"embedding": [7 * x for x in row["embedding"]]} for row in rows]

    server.faults.append(Fault(change=longer))

    assert np.linalg.norm(choose().embed_query("lens")) == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_busy_server_is_asked_again(choose: Any, server: EmbeddingServer, status: int) -> None:
    server.faults.extend([Fault(status, SOON)] * 2)

    vectors = choose().embed_passages(TEXTS)

    assert len(vectors) == len(TEXTS)
    assert len(server.requests) == 3


def test_the_wait_is_as_long_as_the_server_asks_for(choose: Any, server: EmbeddingServer) -> None:
    server.faults.append(Fault(429, {"retry-after": "1"}))
    begun = monotonic()

    choose().embed_query("lens")

    assert monotonic() - begun >= 1


def test_without_a_word_from_the_server_the_waits_grow(
    choose: Any, server: EmbeddingServer
) -> None:
    server.faults.extend([Fault(500)] * 2)
    begun = monotonic()

    choose().embed_passages(TEXTS)

    assert monotonic() - begun >= 0.5 + 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(429, SOON), "answers 429"),
        (Fault(500, SOON), "answers 500"),
        (Fault(429, {"retry-after": "3600"}), "answers 429"),
        (Fault(stall=True), "cannot be reached: Request timed out"),
    ],
)
def test_a_server_that_stays_busy_is_an_error_that_may_pass(
    choose: Any, server: EmbeddingServer, fault: Fault, said: str
) -> None:
    server.faults.extend([fault] * 9)

    with pytest.raises(EmbedderUnreachable) as caught:
        choose(timeout_seconds=0.3).embed_query("lens")

    assert str(caught.value).startswith(f"The embedder 'openai/granite' {said}")
    assert caught.value.retryable
    assert len(server.requests) == (1 if fault.headers.get("retry-after") == "3600" else 2)


def test_a_server_that_is_not_there_is_an_error_that_may_pass(choose: Any) -> None:
    with pytest.raises(EmbedderUnreachable, match="cannot be reached"):
        choose(base_url="http://127.0.0.1:9/v1", retries=0).embed_passages(["lens"])


def _first(row: dict[str, Any], value: Any) -> dict[str, Any]:
    return row | {"embedding": [value, *row["embedding"][1:]]}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(change=lambda rows: rows[:-1]), "3 vectors for 4 texts"),
        (
            Fault(change=lambda rows: [*rows, rows[0] | {"index": 4}]),
            "5 vectors for 4 texts",
        ),
        (
            Fault(change=lambda rows: [r | {"embedding": r["embedding"][:8]} for r in rows]),
            r"vectors of width 8, but 384 is configured \(CITEWELL_EMBEDDING__WIDTH\)",
        ),
        (
            Fault(change=lambda rows: [rows[0] | {"embedding": [1.0]}, *rows[1:]]),
            "did not return vectors",
        ),
        (Fault(change=lambda rows: [_first(r, float("nan")) for r in rows]), "not finite"),
        (Fault(change=lambda rows: [_first(r, float("inf")) for r in rows]), "not finite"),
        (Fault(change=lambda rows: [_first(r, None) for r in rows]), "not finite"),
        (Fault(change=lambda rows: [r | {"embedding": [0.0] * 384} for r in rows]), "all zero"),
        (Fault(change=lambda rows: [r | {"index": 0} for r in rows]), "returned invalid indices"),
        (Fault(change=lambda rows: []), "0 vectors for 4 texts"),
        (Fault(body=b"<html>Sign in</html>"), "did not return embeddings"),
        (Fault(body=b'{"data": null}'), "did not return embeddings"),
        (Fault(400), r"refuses the request \(400; .*CITEWELL_EMBEDDING__MAX_TOKENS"),
        (Fault(404), r"refuses the request \(404"),
        (Fault(401), r"refuses the key \(401\); set CITEWELL_EMBEDDING__API_KEY"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(
    choose: Any, server: EmbeddingServer, fault: Fault, said: str
) -> None:
    server.faults.append(fault)

    with pytest.raises(EmbedderUnavailable, match=said) as caught:
        choose().embed_passages(TEXTS)

    assert not caught.value.retryable
    assert len(server.requests) == 1


def test_a_quota_that_is_used_up_is_not_asked_for_again(
    choose: Any, server: EmbeddingServer
) -> None:
    said = b'{"error": {"message": "pay first", "code": "insufficient_quota"}}'
    server.faults.append(Fault(429, body=said))

    with pytest.raises(EmbedderUnavailable, match="pay first"):
        choose().embed_passages(TEXTS)

    assert len(server.requests) == 1


def test_prefixes_are_sent_and_change_the_id(choose: Any, server: EmbeddingServer) -> None:
    embedder = choose(query_prefix="query: ", passage_prefix="passage: ")

    embedder.embed_query("lens")
    embedder.embed_passages(["A lens turns."])

    assert server.texts == ["query: lens", "passage: A lens turns."]
    assert embedder.id != choose().id == "openai/granite@384"


def test_texts_too_long_for_the_model_are_cut(choose: Any, server: EmbeddingServer) -> None:
    embedder = choose(max_tokens=16)

    embedder.embed_passages(["fog horn " * 100, "fog", "", "🌫" * 16])

    long, short, empty, emoji = server.texts
    assert embedder.count_tokens([long, emoji])[0] == 16
    assert long.startswith("fog horn fog")
    assert (short, empty) == ("fog", " ")
    assert embedder.count_tokens([emoji])[0] <= 16


@pytest.mark.parametrize(
    ("name", "width", "asked"),
    [
        ("openai/text-embedding-3-small", 1536, None),
        ("openai/text-embedding-3-large", 3072, None),
        ("litellm/openai/text-embedding-3-small", 1536, None),
        ("openai/text-embedding-3-small", 512, 512),
    ],
)
def test_widths_of_well_known_models_are_known(
    choose: Any, name: str, width: int, asked: int | None
) -> None:
    embedder = choose(name, width=asked)

    assert (embedder.id, embedder.width) == (f"{name}@{width}", width)


def test_a_shorter_vector_is_asked_for_only_where_the_model_can(
    choose: Any, server: EmbeddingServer
) -> None:
    choose("openai/text-embedding-3-small", width=384).embed_query("lens")
    choose("openai/granite").embed_query("lens")

    assert [request.get("dimensions") for request in server.requests] == [384, None]


def test_the_key_for_openai_is_not_sent_to_another_server(
    choose: Any, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    choose().embed_query("lens")
    choose(api_key=SecretStr("own")).embed_query("lens")

    assert server.keys == ["Bearer none", "Bearer own"]


@pytest.mark.parametrize("name", ["granite", "openai", "openai/", "cohere/embed", ""])
def test_an_unknown_embedder_is_named_with_those_there_are(choose: Any, name: str) -> None:
    with pytest.raises(BadSettings, match=f"CITEWELL_EMBEDDER='{name}' is not known: 'embedded', "):
        choose(name)


def test_a_width_that_nobody_knows_has_to_be_said(choose: Any) -> None:
    with pytest.raises(BadSettings, match="CITEWELL_EMBEDDING__WIDTH is not set"):
        choose(width=None)


def test_a_missing_key_is_named(choose: Any) -> None:
    embedder = choose("openai/text-embedding-3-small", base_url=None, width=None)

    with pytest.raises(BadSettings, match="CITEWELL_EMBEDDING__API_KEY or OPENAI_API_KEY"):
        embedder.embed_query("lens")


@pytest.mark.parametrize("kind", ["litellm", "fastembed"])
def test_a_missing_package_is_named_with_the_extra(
    choose: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, kind, None)

    with pytest.raises(EmbedderUnavailable, match=rf"pip install 'citewell\[{kind}\]'") as caught:
        choose(f"{kind}/some/model").embed_query("lens")

    assert f"CITEWELL_EMBEDDER='{kind}/some/model'" in str(caught.value)
