"""How good the passages used are, and what follows: the chat contract's measures and levels."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from quire.domain import Confidence, Hit, Level

LEVELS: tuple[tuple[Level, float, int], ...] = (
    ("high", 0.85, 5),
    ("medium", 0.75, 3),
    ("low", 0.60, 2),
)
"""Level, least average similarity, least number of passages."""
LEAST_AVERAGE = LEVELS[-1][1]
"""Below this average nothing is answered."""


def score_confidence(
    hits: Sequence[Hit], *, top_k: int, answerability: float, searchable: int | None = None
) -> Confidence:
    """Return the measures of the passages used, and the level that follows from them.

    The counts are taken against what was asked for: with `top_k=3`, three passages are enough for
    any level. `searchable` is how many passages there were to search, where that is known.
    """
    scores = [hit.similarity for hit in hits]
    # Rounding may leave the mean of equal scores just outside them, and below its level.
    average = min(max(fmean(scores), min(scores)), max(scores)) if scores else 0.0
    level = level_of(average, len(hits), top_k, searchable)
    return Confidence(
        average_similarity=average,
        min_similarity=min(scores, default=0.0),
        max_similarity=max(scores, default=0.0),
        num_chunks=len(hits),
        chunk_diversity=_diversity(hits),
        level=level,
        should_answer=level != "insufficient",
        answerability=answerability,
    )


def level_of(average: float, passages: int, top_k: int, searchable: int | None = None) -> Level:
    """Return the level of so many passages of `top_k` that are so similar on average.

    Where a book, or what a filter leaves of it, has a single passage, that one may be `low`: the
    two that the level asks for cannot be found.
    """
    for name, least, count in LEVELS:
        if average >= least and passages >= min(count, top_k):
            return name
    return "low" if passages == searchable == 1 and average >= LEAST_AVERAGE else "insufficient"


def _diversity(hits: Sequence[Hit]) -> float:
    if len(hits) <= 1:
        return 0.0
    vectors = np.array([hit.vector for hit in hits])
    similarities = vectors @ vectors.T
    pairs = similarities[np.triu_indices(len(hits), k=1)]
    return float(min(1.0, max(0.0, 1.0 - pairs.mean())))
