"""Citewell's own small encoders that read two texts together, run by onnxruntime.

They share one table of word pieces, so that each further model costs only its layers. How they were
trained, and on what, is on the cards in `models/`.
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
    """Return the path of a packaged file whose bytes are the expected ones.

    Raises:
        EmbedderUnavailable: it is missing or damaged.
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
def _word_table() -> tuple[NDArray[np.uint8], float, float]:
    """Return the vectors of all word pieces in eight bits, their scale and their zero."""
    with np.load(verified_file("words.npz")) as stored:
        return stored["values"], float(stored["scale"]), float(stored["zero"])


class PairModel:
    """Reads pairs of texts; what its outputs mean is its user's affair."""

    def __init__(self, file: str, *, max_tokens: int, first: int, threads: int = 0) -> None:
        """Nothing is loaded before it is needed.

        Of a pair with more than `max_tokens`, the second text gives way, but the first is kept to
        `first` tokens.
        """
        self._file = file
        self._max_tokens = max_tokens
        self._first = first
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
        """Return the outputs for each pair, whatever others are read beside it.

        In a batch the eight bits into which numbers are rounded would be shared out among all that
        is read at once.
        """
        if not pairs:
            return np.zeros((0, 1), np.float32)
        known = {first: self._cut(first) for first in {first for first, _ in pairs}}
        return np.concatenate(self._model.each(self._read, [(known[a], b) for a, b in pairs]))

    def _cut(self, text: str) -> str:
        """Shorten a first text of so many signs that no room would be left for the second."""
        ends = [end for _, end in self._counter.encode(text, add_special_tokens=False).offsets]
        return text if len(ends) <= self._first else text[: ends[self._first - 1]]

    def _read(self, pair: tuple[str, str]) -> Logits:
        values, scale, zero = _word_table()
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


MIX = np.array([1.0, 1.0], np.float32)
"""How the reader's outputs are joined: how well a sentence fits, whether it holds the answer."""


class CrossEncoder:
    """Reads a question and a text together and says how well the one answers the other."""

    id = "citewell-reader@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Nothing is loaded before it is needed."""
        # The question is kept whole as far as can be: the text gives way.
        self._model = PairModel("reader.onnx", max_tokens=160, first=120, threads=threads)

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a logit for each text."""
        if not texts:
            return []
        outputs = self._model.logits([(question[:400], text) for text in texts])
        return [float(score) for score in outputs @ MIX]


class EntailmentModel:
    """Reads a claim and evidence together and says whether the one follows from the other."""

    id = "citewell-judge@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Nothing is loaded before it is needed."""
        self._model = PairModel("judge.onnx", max_tokens=160, first=90, threads=threads)

    def predict_entailment(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentLogits]:
        """Return the logits of each (claim, evidence)."""
        outputs = self._model.logits(pairs) if pairs else ()
        return [EntailmentLogits(*(float(value) for value in row)) for row in outputs]
