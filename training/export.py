"""Write a trained encoder as one int8 ONNX file for onnxruntime, and the table of word pieces.

    python -m training.export READER.pt --name reader --out FOLDER

The table (`words.npz`) is the same for all models, because training leaves it as it is; they get
its rows as their input `words`. The graph uses onnxruntime's fused operators. Weights are int8 with one scale a column, kept within
seven bits so that processors without VNNI do not overflow.
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.encoder import HEADS, WIDTH

MS = "com.microsoft"


class Graph:
    """Collects nodes and constants."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: np.ndarray | None = None) -> str:
        value = self.weights[name] if value is None else value
        self.constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def op(
        self, kind: str, *inputs: str, output: str = "", domain: str = "", **more: object
    ) -> str:
        name = output or f"t{len(self.nodes)}"
        node = helper.make_node(
            kind, list(inputs), [name], name=f"{kind}_{len(self.nodes)}", domain=domain, **more
        )
        self.nodes.append(node)
        return name

    def matmul(self, x: str, name: str) -> str:
        return self.op(
            "MatMul", x, self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        )

    def skip_norm(self, x: str, skip: str, norm: str, bias: str) -> str:
        # Not the fused SkipLayerNormalization: on processors it takes ten times as long.
        both = self.op("Add", self.op("Add", x, self.constant(bias)), skip)
        parts = [self.constant(f"{norm}.weight"), self.constant(f"{norm}.bias")]
        return self.op("LayerNormalization", both, *parts, axis=-1, epsilon=1e-12)


def build(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    g = Graph(weights)
    layers = 1 + max(int(n.split(".")[1]) for n in weights if n.startswith("layers."))
    length = g.op("Gather", g.op("Shape", "words"), g.constant("one", np.int64(1)), axis=0)
    places = g.op("Range", g.constant("zero", np.int64(0)), length, g.constant("step", np.int64(1)))
    types = g.op("Gather", g.constant("type_emb.weight"), "token_type_ids")
    where = g.op("Gather", g.constant("pos_emb.weight"), places)
    x = g.op("Add", g.op("Add", "words", types), where)
    norm = [g.constant("emb_ln.weight"), g.constant("emb_ln.bias")]
    x = g.op("LayerNormalization", x, *norm, axis=-1, epsilon=1e-12)
    mask = g.op("Cast", "attention_mask", to=TensorProto.INT32)
    first = g.constant("first", np.int64(0))
    for number in range(layers):
        n = f"layers.{number}"
        qkv = g.constant(f"{n}.qkv.weight", weights[f"{n}.qkv.weight"].T)
        bias = g.constant(f"{n}.qkv.bias")
        mixed = g.op("Attention", x, qkv, bias, mask, domain=MS, num_heads=HEADS)
        if number == layers - 1:
            # Only the first token is looked at in the end: the others need go no further.
            mixed, x = (g.op("Gather", one, first, axis=1) for one in (mixed, x))
        x = g.skip_norm(g.matmul(mixed, f"{n}.ao"), x, f"{n}.aln", f"{n}.ao.bias")
        inner = g.op("BiasGelu", g.matmul(x, f"{n}.f1"), g.constant(f"{n}.f1.bias"), domain=MS)
        x = g.skip_norm(g.matmul(inner, f"{n}.f2"), x, f"{n}.fln", f"{n}.f2.bias")
    pooled = g.op("Tanh", g.op("Add", g.matmul(x, "pooler"), g.constant("pooler.bias")))
    g.op("Add", g.matmul(pooled, "head"), g.constant("head.bias"), output="logits")
    shape = ["batch", "sequence"]
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.FLOAT, [*shape, WIDTH]),
        helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, shape),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, shape),
    ]
    outputs = len(weights["head.bias"])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    graph = helper.make_graph(g.nodes, "citewell", inputs, [out], list(g.constants.values()))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def eight_bits(table: np.ndarray) -> dict[str, np.ndarray]:
    """Store a table in bytes, with one scale and one zero."""
    low, high = min(0.0, float(table.min())), max(0.0, float(table.max()))
    scale = (high - low) / 255
    zero = round(-low / scale)
    values = np.clip(np.round(table / scale) + zero, 0, 255).astype(np.uint8)
    return {"values": values, "scale": np.float32(scale), "zero": np.float32(zero)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("trained", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    state = torch.load(options.trained, weights_only=True)
    weights = {name: value.numpy() for name, value in state.items()}
    assert weights["emb_ln.weight"].shape == (WIDTH,)
    whole = options.out / f"{options.name}-fp32.onnx"
    small = options.out / f"{options.name}.onnx"
    words = options.out / "words.npz"
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez(words, **eight_bits(weights["word_emb.weight"]))
    onnx.save(build(weights), str(whole))
    quantize_dynamic(
        whole,
        small,
        op_types_to_quantize=["MatMul", "Attention", "Gather"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    for path in (small, words):
        print(path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
