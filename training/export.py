"""Write a trained encoder as one int8 ONNX file for onnxruntime, and the table of word pieces.

    python -m training.export RUN/best.pt --name reader --out FOLDER

The table (`words.npz`) is the same for all models, because training leaves it as it is; they get
its rows as their input `words`. The graph uses onnxruntime's fused operators. Weights are int8 with
one scale a column, kept within seven bits so that processors without VNNI do not overflow.

The judge's output is its three logits. The reader has another input, `positions`: 0 and where the
markers stand; its output is the logit that the passage answers, then that of each marked sentence.
"""

import argparse
import hashlib
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.encoder import HEADS, WIDTH, PairEncoder, load
from training.tokens import MARK, Input

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


def embedded(g: Graph) -> str:
    """Return the embeddings of the word pieces, their places and their texts."""
    length = g.op("Gather", g.op("Shape", "words"), g.constant("one", np.int64(1)), axis=0)
    places = g.op("Range", g.constant("zero", np.int64(0)), length, g.constant("step", np.int64(1)))
    types = g.op("Gather", g.constant("type_emb.weight"), "token_type_ids")
    where = g.op("Gather", g.constant("pos_emb.weight"), places)
    x = g.op("Add", g.op("Add", "words", types), where)
    norm = [g.constant("emb_ln.weight"), g.constant("emb_ln.bias")]
    return g.op("LayerNormalization", x, *norm, axis=-1, epsilon=1e-12)


def build(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Return the graph of a reader or a judge."""
    g = Graph(weights)
    marks = "marks.weight" in weights
    layers = 1 + max(int(n.split(".")[1]) for n in weights if n.startswith("layers."))
    x = embedded(g)
    mask = g.op("Cast", "attention_mask", to=TensorProto.INT32)
    looked_at = "positions" if marks else g.constant("first", np.array([0], np.int64))
    for number in range(layers):
        n = f"layers.{number}"
        qkv = g.constant(f"{n}.qkv.weight", weights[f"{n}.qkv.weight"].T)
        bias = g.constant(f"{n}.qkv.bias")
        mixed = g.op("Attention", x, qkv, bias, mask, domain=MS, num_heads=HEADS)
        if number == layers - 1:
            # Only some tokens are looked at in the end: the others need go no further.
            mixed, x = (g.op("Gather", one, looked_at, axis=1) for one in (mixed, x))
        x = g.skip_norm(g.matmul(mixed, f"{n}.ao"), x, f"{n}.aln", f"{n}.ao.bias")
        inner = g.op("BiasGelu", g.matmul(x, f"{n}.f1"), g.constant(f"{n}.f1.bias"), domain=MS)
        x = g.skip_norm(g.matmul(inner, f"{n}.f2"), x, f"{n}.fln", f"{n}.f2.bias")
    finish(g, x, marks=marks)
    shape = ["batch", "sequence"]
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.FLOAT, [*shape, WIDTH]),
        helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, shape),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, shape),
    ]
    if marks:
        inputs.append(helper.make_tensor_value_info("positions", TensorProto.INT64, ["looked_at"]))
    outputs = "looked_at" if marks else len(weights["head.bias"])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    graph = helper.make_graph(g.nodes, "citewell", inputs, [out], list(g.constants.values()))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def finish(g: Graph, x: str, *, marks: bool) -> None:
    """Add the heads."""
    cls = g.op("Gather", x, g.constant("cls", np.int64(0)), axis=1)
    pooled = g.op("Tanh", g.op("Add", g.matmul(cls, "pooler"), g.constant("pooler.bias")))
    logits = g.op(
        "Add", g.matmul(pooled, "head"), g.constant("head.bias"), output="" if marks else "logits"
    )
    if not marks:
        return
    each = g.op("Add", g.matmul(x, "marks"), g.constant("marks.bias"))
    flat = g.op("Squeeze", each, g.constant("last", np.array([2], np.int64)))
    ends = (np.array([value], np.int64) for value in (1, 2**31, 1))
    start, end, axis = (g.constant(f"slice{i}", value) for i, value in enumerate(ends))
    g.op("Concat", logits, g.op("Slice", flat, start, end, axis), output="logits", axis=1)


def eight_bits(table: np.ndarray) -> dict[str, np.ndarray]:
    """Store a table in bytes, with one scale and one zero."""
    low, high = min(0.0, float(table.min())), max(0.0, float(table.max()))
    scale = (high - low) / 255
    zero = round(-low / scale)
    values = np.clip(np.round(table / scale) + zero, 0, 255).astype(np.uint8)
    return {"values": values, "scale": np.float32(scale), "zero": np.float32(zero)}


def export(trained: Path, name: str, out: Path) -> Path:
    """Write the model in float and in int8 and the table of word pieces; return the int8 model."""
    state = torch.load(trained, weights_only=True)
    weights = {key: value.numpy() for key, value in state.items()}
    whole, small, words = out / f"{name}-fp32.onnx", out / f"{name}.onnx", out / "words.npz"
    out.mkdir(parents=True, exist_ok=True)
    np.savez(words, **eight_bits(weights["word_emb.weight"]))
    model = build(weights)
    onnx.save(model, str(whole))
    quantize_dynamic(
        whole,
        small,
        op_types_to_quantize=["MatMul", "Attention", "Gather"],
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        # The heads are small, and their rounding would show.
        nodes_to_exclude=[
            node.name
            for node in model.graph.node
            if {"head.weight", "marks.weight"} & set(node.input)
        ],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    return small


class Session:
    """An exported model as the product runs it: one text at a time, on one core."""

    def __init__(self, model: Path) -> None:
        """Load the model and the table beside it."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(model), options, disabled_optimizers=["SkipLayerNormFusion"]
        )
        self._marks = any(one.name == "positions" for one in self._session.get_inputs())
        with np.load(model.parent / "words.npz") as stored:
            self._words = (stored["values"].astype(np.float32) - stored["zero"]) * stored["scale"]

    def logits(self, one: Input) -> np.ndarray:
        """Return what the model says of one text."""
        inputs = {
            "words": self._words[[one.ids]],
            "token_type_ids": np.array([one.types], np.int64),
            "attention_mask": np.ones((1, len(one.ids)), np.int64),
        }
        if self._marks:
            inputs["positions"] = np.array([0, *one.marks], np.int64)
        return self._session.run(None, inputs)[0][0]


def differences(encoder: PairEncoder, session: Session, inputs: list[Input]) -> np.ndarray:
    """Return how far the exported model's outputs are from torch's, for each output."""
    found = []
    for one in inputs:
        ids, types = torch.tensor([one.ids]), torch.tensor([one.types])
        with torch.inference_mode():
            logits, marks = encoder(ids, types, torch.ones_like(ids))
        said = [logits[0]] if marks is None else [logits[0], marks[0, one.marks]]
        found.append(np.abs(torch.cat(said).numpy() - session.logits(one)))
    return np.concatenate(found)


def some_inputs(count: int, tokens: int, *, marks: bool) -> list[Input]:
    """Return texts of random word pieces, of so many tokens."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(count):
        ids = rng.integers(1000, 30000, tokens).tolist()
        places = list(range(20, tokens, 25)) if marks else []
        for place in places:
            ids[place] = MARK
        made.append(Input(ids, [0] * 12 + [1] * (tokens - 12), places))
    return made


def milliseconds(session: Session, tokens: int = 200, times: int = 40) -> float:
    """Return the median time of a text on one core."""
    inputs = some_inputs(times, tokens, marks=session._marks)
    spent = []
    for one in inputs:
        begun = time.perf_counter()
        session.logits(one)
        spent.append((time.perf_counter() - begun) * 1000)
    return float(np.median(spent[5:]))


def time_table(tokens: int = 200) -> dict[int, float]:
    """Return the time of a passage read, by the number of layers."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for layers in (4, 6, 12):
            path = Path(folder) / f"{layers}.pt"
            torch.save(PairEncoder(layers, 1, marks=True).state_dict(), path)
            found[layers] = round(
                milliseconds(Session(export(path, "timed", Path(folder))), tokens), 1
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("trained", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--times", action="store_true", help="also time 4, 6 and 12 layers")
    options = parser.parse_args()
    small = export(options.trained, options.name, options.out)
    encoder = load(options.trained).eval()
    inputs = some_inputs(12, 120, marks=encoder.marks is not None)
    exact = differences(encoder, Session(options.out / f"{options.name}-fp32.onnx"), inputs)
    # The table of words is in eight bits in both, and in training's weights already was.
    print(f"float graph and torch differ by {exact.max():.5f} at most")
    assert exact.max() < 0.02, "the graph is not the model that was trained"
    print(f"int8 differs by {differences(encoder, Session(small), inputs).mean():.4f} on average")
    if options.times:
        table = time_table()
        text = "".join(f"| {layers} | {spent} |\n" for layers, spent in table.items())
        head = "| layers | ms for a passage of 200 tokens, one core |\n| --- | --- |\n"
        (options.out / "times.md").write_text(head + text, "utf-8")
        print(head + text)
    for path in (small, options.out / "words.npz"):
        print(path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
