"""The format of the weights and the graph made of them, on a model small enough to look at."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from citewell.errors import EmbedderUnavailable
from citewell.models import embedder
from citewell.models.embedder import (
    MODEL_ID,
    GraniteEmbedder,
    build_graph,
    prepare_granite,
    read_pack,
)
from citewell.ports import Vectors

ARCH = {"hidden": 4, "layers": 1, "heads": 2, "position_offset": 2, "layer_norm_eps": 1e-5}
SHAPES = {
    "word_emb": (8, 4), "pos_emb": (12, 4), "type_emb": (1, 4), "emb_ln.w": (4,), "emb_ln.b": (4,),
    "l0.qkv.w": (12, 4), "l0.qkv.b": (12,), "l0.ao.w": (4, 4), "l0.ao.b": (4,),
    "l0.aln.w": (4,), "l0.aln.b": (4,), "l0.f1.w": (8, 4), "l0.f1.b": (8,),
    "l0.f2.w": (4, 8), "l0.f2.b": (4,), "l0.fln.w": (4,), "l0.fln.b": (4,),
}  # fmt: skip


def small_pack(scale: float = 0.1) -> bytes:
    """Give weights in the packed form, `word_emb` as bytes with one scale per group of 4."""
    random = np.random.default_rng(1)
    vocabulary = {"<s>": 0, "<pad>": 1, "lens": 2, "lamp": 3}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<s>")).to_str().encode()  # type: ignore[call-arg]
    entries, parts = [], []
    for name, shape in SHAPES.items():
        if name == "word_emb":
            values = random.integers(-9, 9, shape, np.int8).tobytes()
            raw, kind = values + np.full(8, scale, np.float32).tobytes(), "int8"
        else:
            raw, kind = random.normal(size=shape).astype(np.float32).tobytes(), "f32"
        entries.append({"name": name, "shape": shape, "dtype": kind, "group": 4, "len": len(raw)})
        parts.append(raw)
    header = json.dumps(
        {"arch": ARCH, "tokenizer_len": len(tokenizer), "tensors": entries}
    ).encode()
    return b"".join((b"HMSEMB01", struct.pack("<Q", len(header)), header, tokenizer, *parts))


@pytest.fixture
def small_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Puts the small pack where the installed one would be, and gives a folder for the model."""
    use_pack(monkeypatch, tmp_path, small_pack())
    return tmp_path / "models"


def use_pack(monkeypatch: pytest.MonkeyPatch, folder: Path, data: bytes) -> None:
    """An absolute path wins over the folder of the package."""
    (folder / "pack").write_bytes(data)
    monkeypatch.setattr(embedder, "PACK", str(folder / "pack"))
    monkeypatch.setattr(embedder, "SHA256", hashlib.sha256(data).hexdigest())


def run(ids: list[list[int]], mask: list[list[int]]) -> Vectors:
    graph = build_graph(read_pack(small_pack())).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    inputs = {"input_ids": np.array(ids), "attention_mask": np.array(mask)}
    vectors: Vectors = session.run(["embedding"], inputs)[0]
    return vectors


def test_bytes_are_unpacked_with_the_scale_of_their_group() -> None:
    plain, doubled = (read_pack(small_pack(scale)).tensors["word_emb"] for scale in (1, 2))

    assert plain.shape == (8, 4)
    assert np.array_equal(plain, plain.round())
    assert np.array_equal(doubled, plain * 2)


def test_floats_and_the_tokenizer_are_unpacked_as_they_are() -> None:
    pack = read_pack(small_pack())

    assert {name: tensor.shape for name, tensor in pack.tensors.items()} == SHAPES
    assert pack.arch == ARCH
    assert Tokenizer.from_str(pack.tokenizer.decode()).token_to_id("lens") == 2


def test_weights_of_an_unknown_format_are_refused() -> None:
    with pytest.raises(EmbedderUnavailable, match="unknown format"):
        read_pack(b"ZIPPED01" + small_pack()[8:])


def test_the_graph_gives_one_unit_vector_for_each_text() -> None:
    vectors = run([[0, 2, 3], [0, 3, 2]], [[1, 1, 1], [1, 1, 1]])

    assert vectors.shape == (2, 4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert not np.allclose(vectors[0], vectors[1])


def test_padding_does_not_change_a_vector() -> None:
    alone = run([[0, 2]], [[1, 1]])
    padded = run([[0, 2, 1, 1], [0, 3, 2, 3]], [[1, 1, 0, 0], [1, 1, 1, 1]])

    np.testing.assert_allclose(padded[0], alone[0], atol=1e-5)


def test_the_model_is_made_once_and_kept(small_model: Path) -> None:
    said: list[str] = []
    first = prepare_granite(small_model, said.append)
    second = prepare_granite(small_model, said.append)

    assert first == second == small_model / MODEL_ID
    assert sorted(file.name for file in first.iterdir()) == [
        "model.onnx",
        "sha256.json",
        "tokenizer.json",
    ]
    assert said == ["Preparing the embedding model (once, a few seconds)…"]
    assert [folder.name for folder in small_model.iterdir()] == [MODEL_ID]


def test_a_process_that_was_slower_takes_what_the_faster_one_made(small_model: Path) -> None:
    ready = small_model / MODEL_ID

    def be_faster(_: str) -> None:
        ready.mkdir(parents=True)
        (ready / "model.onnx").write_bytes(b"made by the other")

    assert prepare_granite(small_model, be_faster) == ready
    assert (ready / "model.onnx").read_bytes() == b"made by the other"


def test_a_model_that_cannot_be_put_in_place_is_an_error(small_model: Path) -> None:
    (small_model / MODEL_ID / "something else").mkdir(parents=True)

    with pytest.raises(EmbedderUnavailable, match="not empty"):
        prepare_granite(small_model)


def test_the_small_model_embeds_from_end_to_end(small_model: Path) -> None:
    vectors = GraniteEmbedder(small_model).embed_query("lens")

    assert vectors.shape == (4,)
    assert np.linalg.norm(vectors) == pytest.approx(1, rel=1e-5)


def test_numbers_that_are_not_finite_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_pack(monkeypatch, tmp_path, small_pack(scale=float("nan")))

    with pytest.raises(EmbedderUnavailable, match="numbers that are not finite"):
        GraniteEmbedder(tmp_path / "models").embed_query("lens")


def test_weights_with_other_bytes_are_damaged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedder, "SHA256", "0" * 64)

    with pytest.raises(EmbedderUnavailable, match=r"weights in .* are damaged \(SHA-256 differs\)"):
        prepare_granite(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "value"), [("PACKAGE", "no-such-package"), ("PACK", "no/such")])
def test_weights_that_are_not_installed_are_named_with_their_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    monkeypatch.setattr(embedder, name, value)

    with pytest.raises(EmbedderUnavailable) as caught:
        prepare_granite(tmp_path)
    assert str(caught.value) == (
        f"The embedding weights are not installed (package {embedder.PACKAGE})."
    )
