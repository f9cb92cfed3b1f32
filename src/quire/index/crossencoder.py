"""Quire's own reader: a small cross-encoder that says how well a sentence answers a question.

Four layers, trained by `training/reader/`; what it learnt from is in `models/READER.md`.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.errors import EmbedderUnavailable
from quire.index.session import open_session

FOLDER = Path(__file__).parent / "models"
SHA256 = {
    "reader.onnx": "f09d124224e9958da15b3a22cfaed3b6107a61a65386b70451a01efde10323ab",
    "reader-tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
MAX_TOKENS = 160
MAX_QUESTION_TOKENS = 120
BATCH = 4
MIX = np.array([1.0, 1.0], np.float32)
"""How the two outputs are joined: how well the sentence fits, and whether it holds the answer."""


def checked_file(name: str) -> Path:
    """Give the path of a packaged file whose bytes are the expected ones.

    Raises:
        EmbedderUnavailable: it is missing or damaged.
    """
    path = FOLDER / name
    try:
        with path.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(
            f"The reading model's {path} is missing; install Quire again."
        ) from error
    if digest != SHA256[name]:
        raise EmbedderUnavailable(f"The reading model's {path} is damaged (SHA-256 differs).")
    return path


class CrossEncoder:
    """Reads a question and a text together and says how well the one answers the other."""

    id = "quire-reader@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Nothing is loaded before it is needed."""
        self._threads = threads

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(checked_file("reader-tokenizer.json")))
        # The question is kept whole: only the text gives way.
        tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _counter(self) -> Any:
        from tokenizers import Tokenizer

        counter = Tokenizer.from_str(self._tokenizer.to_str())
        counter.no_truncation()
        return counter

    @cached_property
    def _session(self) -> Any:
        return open_session(checked_file("reader.onnx"), self._threads)

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Give a logit for each text, in small batches of similar length: padding costs time."""
        question = self._cut(question[:400])
        pairs = self._tokenizer.encode_batch([(question, text) for text in texts])
        order = sorted(range(len(pairs)), key=lambda place: len(pairs[place].ids))
        scores = [0.0] * len(texts)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            for place, score in zip(places, self._run([pairs[i] for i in places]), strict=True):
                scores[place] = score
        return scores

    def _cut(self, question: str) -> str:
        """Shorten a question of so many signs that no room would be left for a text."""
        ends = [end for _, end in self._counter.encode(question, add_special_tokens=False).offsets]
        few = len(ends) <= MAX_QUESTION_TOKENS
        return question if few else question[: ends[MAX_QUESTION_TOKENS - 1]]

    def _run(self, pairs: Sequence[Any]) -> list[float]:
        longest = max(len(pair.ids) for pair in pairs)

        def padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
            return np.array([[*row, *[0] * (longest - len(row))] for row in rows], np.int64)

        inputs = {
            "input_ids": padded([pair.ids for pair in pairs]),
            "attention_mask": padded([pair.attention_mask for pair in pairs]),
            "token_type_ids": padded([pair.type_ids for pair in pairs]),
        }
        return [float(score) for score in self._session.run(None, inputs)[0] @ MIX]
