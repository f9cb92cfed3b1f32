"""The embedder of Citewell for the peers' embedding interfaces."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 16
ROOM = 8_000
"""Characters per batch with padding, the same for all peers."""


@cache
def _opened() -> tuple[Any, Any]:
    folder = Path(os.environ["PEERS_MODEL"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["SkipLayerNormFusion"],
    )
    return tokenizer, session


def embed(texts: Sequence[str]) -> np.ndarray:
    """Return a unit vector for each text, in order."""
    vectors = np.empty((len(texts), 384), np.float32)
    batch: list[int] = []
    for place in sorted(range(len(texts)), key=lambda i: len(texts[i])):
        if batch and (len(batch) == BATCH or (len(batch) + 1) * len(texts[place]) > ROOM):
            vectors[batch] = _run([texts[i] for i in batch])
            batch = []
        batch.append(place)
    if batch:
        vectors[batch] = _run([texts[i] for i in batch])
    return vectors


def _run(texts: list[str]) -> np.ndarray:
    tokenizer, session = _opened()
    encoded = tokenizer.encode_batch(texts)
    inputs = {
        "input_ids": np.array([e.ids for e in encoded], np.int64),
        "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
    }
    vectors: np.ndarray = session.run(["embedding"], inputs)[0]
    return vectors
