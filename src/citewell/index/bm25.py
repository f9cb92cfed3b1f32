"""Sparse BM25 vectors, and rankings that do not depend on the engine.

Qdrant multiplies by the inverse document frequency; the weights here are the rest of BM25.
Computing them here makes them the same in the embedded engine and on a server.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

from citewell.text.terms import terms

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class SparseWeights:
    """A sparse vector as two parallel lists."""

    indices: list[int]
    values: list[float]


def _dimension(term: str) -> int:
    return crc32(term.encode())


def passage_weights(text: str, average_length: float) -> SparseWeights:
    """Return the BM25 weights of a passage's terms, normalized by its length."""
    passage_terms = terms(text)
    norm = K1 * (1 - B + B * len(passage_terms) / max(average_length, 1.0))
    weights: dict[int, float] = {}
    for term, count in Counter(passage_terms).items():
        dimension = _dimension(term)
        weights[dimension] = weights.get(dimension, 0.0) + count * (K1 + 1) / (count + norm)
    return SparseWeights(list(weights), list(weights.values()))


def query_weights(text: str) -> SparseWeights:
    """Return the weights of a query: 1 for each distinct term."""
    dimensions = list(dict.fromkeys(_dimension(term) for term in terms(text)))
    return SparseWeights(dimensions, [1.0] * len(dimensions))


Scored = tuple[str, float]
"""A chunk's id and its score."""
SCORE_TOLERANCE = 1e-6
"""The relative difference up to which scores tie: engines sum floats in different orders."""
EXTRA_HITS = 24
"""Hits requested beyond `k`, to see where the ties with the last of the `k` hits end."""
MAX_LIMIT = 4096
"""About this many hits are requested at most; with more ties, the engine picks among them."""


def top_k(search: Callable[[int], Sequence[Sequence[Scored]]], k: int) -> list[list[Scored]]:
    """Return the best `k` hits of each ranking, with ties ordered by id.

    `search` takes the number of hits per ranking. It is called with more and more, until every
    ranking contains all hits that tie with its `k`-th.
    """
    limit = k + EXTRA_HITS
    while True:
        rankings = search(limit)
        if limit >= MAX_LIMIT or all(_has_all_ties(ranking, k, limit) for ranking in rankings):
            return [_sort_ties(ranking)[:k] for ranking in rankings]
        limit *= 4


def _has_all_ties(ranking: Sequence[Scored], k: int, limit: int) -> bool:
    return len(ranking) < limit or not _is_tied(ranking[k - 1][1], ranking[-1][1])


def _sort_ties(ranking: Sequence[Scored]) -> list[Scored]:
    groups: list[list[Scored]] = []
    for hit in ranking:
        if groups and _is_tied(groups[-1][-1][1], hit[1]):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    # All hits of a group get the score of its first, so that they compare as equal.
    return [(chunk_id, group[0][1]) for group in groups for chunk_id, _ in sorted(group)]


def _is_tied(higher: float, lower: float) -> bool:
    return higher - lower <= SCORE_TOLERANCE * max(abs(higher), abs(lower))
