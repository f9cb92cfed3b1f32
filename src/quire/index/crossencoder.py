"""Quire's own reader and judge: what the pair models' outputs mean.

Trained by `training/reader/` and `training/judge/`; what they learnt from is on their cards,
`models/READER.md` and `models/JUDGE.md`.
"""

from collections.abc import Sequence

import numpy as np

from quire.index.pairmodel import PairModel
from quire.ports import Entailed

MIX = np.array([1.0, 1.0], np.float32)
"""How the reader's outputs are joined: how well a sentence fits, whether it holds the answer."""


class CrossEncoder:
    """Reads a question and a text together and says how well the one answers the other."""

    id = "quire-reader@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Nothing is loaded before it is needed."""
        # The question is kept whole as far as can be: the text gives way.
        self._model = PairModel("reader.onnx", max_tokens=160, first=120, threads=threads)

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Give a logit for each text."""
        if not texts:
            return []
        outputs = self._model.logits([(question[:400], text) for text in texts])
        return [float(score) for score in outputs @ MIX]


class EntailmentModel:
    """Reads a claim and evidence together and says whether the one follows from the other."""

    id = "quire-judge@1"

    def __init__(self, *, threads: int = 0) -> None:
        """Nothing is loaded before it is needed."""
        self._model = PairModel("judge.onnx", max_tokens=160, first=90, threads=threads)

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[Entailed]:
        """Give the logits of each (claim, evidence)."""
        outputs = self._model.logits(pairs) if pairs else ()
        return [Entailed(*(float(value) for value in row)) for row in outputs]
