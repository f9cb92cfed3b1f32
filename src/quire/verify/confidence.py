"""How good the passages used are, and what follows: the chat contract's measures and levels."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from quire.domain import Confidence, Hit, Level

LEVELS: tuple[tuple[Level, float, int], ...] = (
    ("high", 0.85, 5),
    ("medium", 0.75, 3),
    ("low", 0.60, 1),
)
"""Level, least average similarity, least number of passages. One is enough for `low`, where the
data model has two: a book says most things once."""
MEDIUM_AVERAGE, LEAST_AVERAGE = LEVELS[1][1], LEVELS[-1][1]
"""What passages of a medium answer have on average, and below what nothing is answered."""


def score_confidence(hits: Sequence[Hit], *, top_k: int, answerability: float) -> Confidence:
    """Return the measures of the passages used, and the level that follows from them.

    The counts are taken against what was asked for: with `top_k=3`, three passages are enough for
    any level.
    """
    scores = [hit.similarity for hit in hits]
    # Rounding may leave the mean of equal scores just outside them, and below its level.
    average = min(max(fmean(scores), min(scores)), max(scores)) if scores else 0.0
    level = level_of(average, len(hits), top_k)
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


def level_of(average: float, passages: int, top_k: int) -> Level:
    """Return the level of so many passages of `top_k` that are so similar on average."""
    for name, least, count in LEVELS:
        if average >= least and passages >= min(count, top_k):
            return name
    return "insufficient"


def _diversity(hits: Sequence[Hit]) -> float:
    if len(hits) <= 1:
        return 0.0
    vectors = np.array([hit.vector for hit in hits])
    similarities = vectors @ vectors.T
    pairs = similarities[np.triu_indices(len(hits), k=1)]
    return float(min(1.0, max(0.0, 1.0 - pairs.mean())))
