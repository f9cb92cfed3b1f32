"""Embedders of optional packages; each test is skipped where its package is not installed."""

import importlib.util
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import BadSettings, EmbedderUnavailable, EmbedderUnreachable
from citewell.models.embedder import GraniteEmbedder, prepare_granite
from citewell.options import EmbeddingOptions
from citewell.wiring import choose_embedder
from tests.servers import EmbeddingServer, Fault

TEXTS = ["A lens turns.", "Fog is wet."]
SOON = {"retry-after": "0.01"}
# Their own warnings are not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def needs(package: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(
        missing, reason=f"NOT TESTED: install 'citewell[{package}]' to run this"
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def granite(models: Path) -> GraniteEmbedder:
    return GraniteEmbedder(models)


@pytest.fixture
def server(granite: GraniteEmbedder) -> Iterator[EmbeddingServer]:
    with EmbeddingServer(granite) as server:
        yield server


@needs("litellm")
def test_litellm_gives_the_vectors_of_the_model_in_order(
    server: EmbeddingServer, granite: GraniteEmbedder, tmp_path: Path
) -> None:
    options = EmbeddingOptions(base_url=server.url, width=384, batch=1, timeout_seconds=20)
    embedder = choose_embedder("litellm/openai/granite", granite, options, tmp_path)
    server.faults.extend([Fault(429, SOON), Fault(500, SOON)])

    vectors = embedder.embed_passages(TEXTS)

    np.testing.assert_allclose(vectors, granite.embed_passages(TEXTS), atol=1e-4)
    assert len(server.requests) == 4


@needs("litellm")
@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (Fault(503, SOON), EmbedderUnreachable, "answers 503"),
        (Fault(stall=True), EmbedderUnreachable, "litellm/openai/granite"),
        (Fault(401), EmbedderUnavailable, "refuses the key"),
        (Fault(400), EmbedderUnavailable, "refuses the request"),
        (Fault(change=lambda rows: rows[:0]), EmbedderUnavailable, "litellm/openai/granite"),
    ],
)
def test_what_goes_wrong_behind_litellm_is_told_as_elsewhere(
    server: EmbeddingServer,
    granite: GraniteEmbedder,
    tmp_path: Path,
    fault: Fault,
    error: type[Exception],
    said: str,
) -> None:
    options = EmbeddingOptions(base_url=server.url, width=384, timeout_seconds=1)
    embedder = choose_embedder("litellm/openai/granite", granite, options, tmp_path)
    server.faults.extend([fault] * 9)

    with pytest.raises(error, match=said):
        embedder.embed_query("lens")


@pytest.fixture(scope="module")
def registered(models: Path) -> EmbeddingOptions:
    """The embedded model, made known to fastembed as one of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

    folder = prepare_granite(models)
    for name, content in {
        "config.json": {"pad_token_id": 1},
        "tokenizer_config.json": {"model_max_length": 512, "pad_token": "<pad>"},
        "special_tokens_map.json": {"pad_token": "<pad>"},
    }.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    TextEmbedding.add_custom_model(
        "citewell/granite",
        pooling=PoolingType.DISABLED,
        normalization=False,
        sources=ModelSource(hf="citewell/granite"),
        dim=384,
        model_file="model.onnx",
    )
    return EmbeddingOptions(model_dir=folder)


@needs("fastembed")
def test_fastembed_gives_the_vectors_of_the_model(
    registered: EmbeddingOptions, granite: GraniteEmbedder, tmp_path: Path
) -> None:
    embedder = choose_embedder("fastembed/citewell/granite", granite, registered, tmp_path)

    vectors = embedder.embed_passages(TEXTS)

    assert (embedder.id, embedder.width) == ("fastembed/citewell/granite@1", 384)
    np.testing.assert_allclose(vectors, granite.embed_passages(TEXTS), atol=1e-4)
    np.testing.assert_allclose(embedder.embed_query(TEXTS[0]), vectors[0], atol=1e-4)
    assert embedder.embed_passages([]).shape == (0, 384)
    assert embedder.count_tokens(TEXTS) == granite.count_tokens(TEXTS)


@needs("fastembed")
def test_a_model_that_fastembed_does_not_have_is_named(
    granite: GraniteEmbedder, tmp_path: Path
) -> None:
    embedder: Any = choose_embedder("fastembed/no/such", granite, EmbeddingOptions(), tmp_path)

    with pytest.raises(BadSettings, match="CITEWELL_EMBEDDER='fastembed/no/such'"):
        embedder.embed_query("lens")


@needs("fastembed")
def test_files_of_a_model_that_are_not_there_are_named(
    granite: GraniteEmbedder, tmp_path: Path
) -> None:
    options = EmbeddingOptions(model_dir=tmp_path / "nothing")
    embedder = choose_embedder("fastembed/BAAI/bge-small-en-v1.5", granite, options, tmp_path)

    assert embedder.width == 384
    with pytest.raises(EmbedderUnavailable, match="CITEWELL_EMBEDDING__MODEL_DIR"):
        embedder.embed_query("lens")
