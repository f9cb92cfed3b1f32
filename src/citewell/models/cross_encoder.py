"""Citewell's cross-encoders, small models that score pairs of texts.

They share one table of token embeddings, so that each model adds only its layers. The model cards
in `models/` describe their training.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.errors import EmbedderUnavailable
from citewell.models.onnx import OnnxModel
from citewell.ports import EntailmentLogits

FOLDER = Path(__file__).parent / "weights"
SHA256 = {
    "reader.onnx": "66622d63aae1fb7d527a5324ab6057635d1610155c787a23ce397c3a9e6c6bdc",
    "judge.onnx": "14fbdb0bcdba3933c08765941e5dc66ee86dec8a4346c8a66cc15a1f59dab3a3",
    "words.npz": "a402db449ad515ca3df172702f4b52e4ac2d37dd2898abd1989c1c254365e39b",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
Logits = NDArray[np.float32]


def verified_file(name: str) -> Path:
    """Return the path of a packaged file after verifying its SHA-256.

    Raises:
        EmbedderUnavailable: the file is missing or damaged.
    """
    path = FOLDER / name
    try:
        with path.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(
            f"The reading model's {path} is missing; install Citewell again."
        ) from error
    if digest != SHA256[name]:
        raise EmbedderUnavailable(f"The reading model's {path} is damaged (SHA-256 differs).")
    return path


@lru_cache(maxsize=1)
def _token_embeddings() -> tuple[NDArray[np.uint8], float, float]:
    """Return the token embeddings quantized to 8 bits, their scale and their zero point."""
    with np.load(verified_file("words.npz")) as stored:
        return stored["values"], float(stored["scale"]), float(stored["zero"])


class PairModel:
    """A cross-encoder with any outputs."""

    def __init__(self, file: str, *, max_tokens: int, max_first: int, threads: int = 0) -> None:
        """Configure the model, which is loaded on first use.

        The first text is truncated to `max_first` tokens, the second so that both fit into
        `max_tokens`.
        """
        self._file = file
        self._max_tokens = max_tokens
        self._max_first = max_first
        self._threads = threads

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(verified_file("tokenizer.json")))
        tokenizer.enable_truncation(self._max_tokens, strategy="only_second")
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
        return OnnxModel(verified_file(self._file), self._threads)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Logits:
        """Return the outputs for each pair, which do not depend on the other pairs.

        In a batch they would, because activations are quantized over the whole batch.
        """
        if not pairs:
            return np.zeros((0, 1), np.float32)
        first_texts = {text: self._truncate(text) for text in {first for first, _ in pairs}}
        truncated = [(first_texts[first], second) for first, second in pairs]
        return np.concatenate(self._model.map(self._run, truncated))

    def _truncate(self, text: str) -> str:
        ends = [end for _, end in self._counter.encode(text, add_special_tokens=False).offsets]
        return text if len(ends) <= self._max_first else text[: ends[self._max_first - 1]]

    def _run(self, pair: tuple[str, str]) -> Logits:
        values, scale, zero = _token_embeddings()
        encoded = self._tokenizer.encode(*pair)
        words = (values[[encoded.ids]].astype(np.float32) - np.float32(zero)) * np.float32(scale)
        outputs: Logits = self._model.run(
            {
                "words": words,
                "attention_mask": np.array([encoded.attention_mask], np.int64),
                "token_type_ids": np.array([encoded.type_ids], np.int64),
            }
        )
        return outputs


OUTPUT_WEIGHTS = np.array([1.0, 1.0], np.float32)
"""Weights of the reader's outputs: relevance, and whether the text contains the answer."""


class CrossEncoder:
    """Scores how well texts answer a question."""

    id = "citewell-reader@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Configure the model, which is loaded on first use."""
        self._model = PairModel("reader.onnx", max_tokens=160, max_first=120, threads=threads)

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a logit for each text."""
        if not texts:
            return []
        outputs = self._model.logits([(question[:400], text) for text in texts])
        return [float(score) for score in outputs @ OUTPUT_WEIGHTS]


class EntailmentModel:
    """Predicts whether evidence entails a claim (natural-language inference)."""

    id = "citewell-judge@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Configure the model, which is loaded on first use."""
        self._model = PairModel("judge.onnx", max_tokens=160, max_first=90, threads=threads)

    def predict_entailment(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentLogits]:
        """Return the logits of each (claim, evidence) pair."""
        outputs = self._model.logits(pairs) if pairs else ()
        return [EntailmentLogits(*(float(value) for value in row)) for row in outputs]
