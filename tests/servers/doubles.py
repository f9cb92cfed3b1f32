"""An embedder and a reader that need no weights."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from citewell.ports import Vectors
from citewell.text.terms import terms


class HashEmbedder:
    """Returns texts that share words similar vectors; knows nothing of meaning."""

    id = "hash@1"
    width = 64
    max_tokens = 512

    def __init__(self) -> None:
        """Count what was embedded, for tests of what was not."""
        self.embedded: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count words."""
        return [len(text.split()) for text in texts]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed, and remember having done so."""
        self.embedded.extend(texts)
        return np.array([self.embed_query(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Add one direction for each word."""
        vector = np.full(self.width, 1e-3, np.float32)
        for term in terms(text):
            vector[crc32(term.encode()) % self.width] += 1
        unit: Vectors = vector / np.linalg.norm(vector)
        return unit


class WordReranker:
    """Calls a text an answer if it holds the question's words."""

    id = "words@1"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Score from -8 (no word shared) to 8 (every word shared)."""
        wanted = set(terms(question))
        return [
            16 * len(wanted & set(terms(text))) / len(wanted) - 8 if wanted else -8.0
            for text in texts
        ]
