"""Keyword vectors: BM25 term weights, with the same notion of a term as the rest of Citewell.

The engine multiplies by the inverse document frequency; the weights here hold the rest of BM25.
Made on our side, they are the same for the embedded engine and for a server.
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
    """Weigh the terms of a passage; a long passage counts each occurrence less."""
    found = terms(text)
    norm = K1 * (1 - B + B * len(found) / max(average_length, 1.0))
    weights: dict[int, float] = {}
    for term, count in Counter(found).items():
        place = _dimension(term)
        weights[place] = weights.get(place, 0.0) + count * (K1 + 1) / (count + norm)
    return SparseWeights(list(weights), list(weights.values()))


def query_weights(text: str) -> SparseWeights:
    """Weigh the terms of a question: each once."""
    places = list(dict.fromkeys(_dimension(term) for term in terms(text)))
    return SparseWeights(places, [1.0] * len(places))


Scored = tuple[str, float]

SCORE_TOLERANCE = 1e-6
"""Scores this close, as a share of their size, are equal: engines add up in different orders."""
EXTRA_HITS = 24
"""How many more are asked for than are wanted, to see where those end that score the same."""
MAX_LIMIT = 4096
"""Where more than so many score the same, the engine may choose among them."""


def best(ask: Callable[[int], Sequence[Sequence[Scored]]], depth: int) -> list[list[Scored]]:
    """Return the best `depth` of each list, those of equal score by id.

    `ask` gives every list up to a number, best first. It is asked for more until the last of those
    that score like the last one wanted are seen.
    """
    limit = depth + EXTRA_HITS
    while True:
        lists = ask(limit)
        if limit >= MAX_LIMIT or all(_is_settled(one, depth, limit) for one in lists):
            return [_in_order(one)[:depth] for one in lists]
        limit *= 4


def _is_settled(found: Sequence[Scored], depth: int, limit: int) -> bool:
    return len(found) < limit or not _is_tied(found[depth - 1][1], found[-1][1])


def _in_order(found: Sequence[Scored]) -> list[Scored]:
    groups: list[list[Scored]] = []
    for one in found:
        if groups and _is_tied(groups[-1][-1][1], one[1]):
            groups[-1].append(one)
        else:
            groups.append([one])
    # Equal means equal: all of a group have the score of its first.
    return [(identity, group[0][1]) for group in groups for identity, _ in sorted(group)]


def _is_tied(higher: float, lower: float) -> bool:
    return higher - lower <= SCORE_TOLERANCE * max(abs(higher), abs(lower))
