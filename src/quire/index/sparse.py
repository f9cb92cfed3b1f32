"""Keyword vectors: BM25 term weights, with the same notion of a term as the rest of Quire.

The engine multiplies by the inverse document frequency; the weights here hold the rest of BM25.
Made on our side, they are the same for the embedded engine and for a server.
"""

from collections import Counter
from dataclasses import dataclass
from zlib import crc32

from quire.prose.terms import terms

K = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class SparseWeights:
    """A sparse vector as two parallel lists."""

    indices: list[int]
    values: list[float]


def _dimension(term: str) -> int:
    return crc32(term.encode())


def passage_weights(text: str, average_length: float) -> SparseWeights:
    """Weigh the terms of a passage; a long passage counts each occurrence less."""
    found = terms(text)
    norm = K * (1 - B + B * len(found) / max(average_length, 1.0))
    weights: dict[int, float] = {}
    for term, count in Counter(found).items():
        place = _dimension(term)
        weights[place] = weights.get(place, 0.0) + count * (K + 1) / (count + norm)
    return SparseWeights(list(weights), list(weights.values()))


def query_weights(text: str) -> SparseWeights:
    """Weigh the terms of a question: each once."""
    places = list(dict.fromkeys(_dimension(term) for term in terms(text)))
    return SparseWeights(places, [1.0] * len(places))
