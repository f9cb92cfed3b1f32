"""The embedder on its real weights."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from citewell.errors import EmbedderUnavailable
from citewell.models.embedder import MODEL_ID, GraniteEmbedder

ROS = "A ROS 2 node is a process that publishes and subscribes to topics."
COOKING = "Simmer the onions in butter until they are golden."


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> GraniteEmbedder:
    return GraniteEmbedder(tmp_path_factory.mktemp("models"))


def test_a_vector_is_384_wide_and_of_unit_length(embedder: GraniteEmbedder) -> None:
    vector = embedder.embed_query("ros node")

    assert vector.shape == (embedder.width,) == (384,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, rel=1e-5)


def test_a_question_is_closer_to_its_subject_than_to_another(embedder: GraniteEmbedder) -> None:
    question = embedder.embed_query("ros node")
    ros, cooking = embedder.embed_passages([ROS, COOKING])

    assert question @ ros > question @ cooking + 0.2


def test_vectors_come_in_the_order_of_the_texts_whatever_their_lengths(
    embedder: GraniteEmbedder,
) -> None:
    texts = [f"Word {n}. " * (60 * (n % 5) + 1) for n in range(19)]

    together = embedder.embed_passages(texts)

    assert together.shape == (19, 384)
    np.testing.assert_array_equal(together, [embedder.embed_query(text) for text in texts])


def test_no_texts_give_no_vectors(embedder: GraniteEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 384)


def test_tokens_are_counted_without_marks_and_beyond_the_limit_of_the_model(
    embedder: GraniteEmbedder,
) -> None:
    assert embedder.count_tokens(["", "robot", "robot robot", "robot " * 1000]) == [0, 2, 3, 1002]


def test_a_text_beyond_the_limit_is_embedded_by_its_beginning(embedder: GraniteEmbedder) -> None:
    beginning = "robot " * 600

    one, other = embedder.embed_passages([beginning + "lens", beginning + "horn"])

    assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("file", "what"), [("model.onnx", "embedding model"), ("tokenizer.json", "tokenizer")]
)
def test_a_damaged_file_is_named_with_what_to_do(
    embedder: GraniteEmbedder, tmp_path: Path, file: str, what: str
) -> None:
    embedder.count_tokens(["make the model"])
    made = embedder._folder / MODEL_ID
    copy = tmp_path / MODEL_ID
    copy.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (copy / name).symlink_to(made / name)
    (copy / file).unlink()
    (copy / file).write_bytes(b"damaged")

    with pytest.raises(EmbedderUnavailable) as caught:
        GraniteEmbedder(tmp_path).embed_query("lens")
    assert str(caught.value) == (
        f"The {what} {copy / file} cannot be loaded; delete its folder to recreate it."
    )


def test_embedding_leaves_no_trace_for_the_makers_of_the_runtime(
    embedder: GraniteEmbedder, tmp_path: Path
) -> None:
    embedder.embed_query("made before, so that only its use is looked at")
    code = (
        "import sys; from pathlib import Path; from citewell.models.embedder import "
        "GraniteEmbedder; GraniteEmbedder(Path(sys.argv[1])).embed_query('lens')"
    )
    kept = {n: v for n, v in os.environ.items() if n not in ("ORT_DISABLE_TELEMETRY", "CI")}
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code, str(embedder._folder)]
    subprocess.run(command, env=kept | home, check=True)

    # Without Citewell's word for it, the runtime keeps a number of the machine there.
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
