"""Confidence measures and levels, and the probability that an answer is correct."""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from math import exp, log
from statistics import fmean, geometric_mean

import numpy as np

from citewell.domain import PROVEN_VERDICTS, Claim, Confidence, ConfidenceLevel, Hit

LEVELS: tuple[tuple[ConfidenceLevel, float, int], ...] = (
    ("high", 0.85, 5),
    ("medium", 0.75, 3),
    ("low", 0.60, 1),
)
"""Level, minimum average similarity, minimum number of passages. One passage is enough for `low`,
where the data model requires two, since a book says most things once."""
MEDIUM_AVERAGE_SIMILARITY, MIN_AVERAGE_SIMILARITY = LEVELS[1][1], LEVELS[-1][1]
"""Minimum average similarity of a medium answer, and of any answer."""


def score_confidence(hits: Sequence[Hit], *, top_k: int, answerability: float) -> Confidence:
    """Return the confidence in the passages used.

    With `top_k=3`, three passages are enough for any level.
    """
    scores = [hit.similarity for hit in hits]
    # Rounding can put the mean of equal scores slightly below them.
    average = min(max(fmean(scores), min(scores)), max(scores)) if scores else 0.0
    level = confidence_level(average, len(hits), top_k)
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


def confidence_level(average: float, passages: int, top_k: int) -> ConfidenceLevel:
    """Return the level for an average similarity and a number of passages."""
    for name, min_average, min_passages in LEVELS:
        if average >= min_average and passages >= min(min_passages, top_k):
            return name
    return "insufficient"


def _diversity(hits: Sequence[Hit]) -> float:
    if len(hits) <= 1:
        return 0.0
    vectors = np.array([hit.vector for hit in hits])
    similarities = vectors @ vectors.T
    pairs = similarities[np.triu_indices(len(hits), k=1)]
    return float(min(1.0, max(0.0, 1.0 - pairs.mean())))


FEATURES = ("answerable", "first", "agreed", "withheld")
_MAX_ANSWERABILITY = 0.995
"""Caps the log-odds."""


def correctness_probability(
    answerability: float, hits: Sequence[Hit], claims: Sequence[Claim], withheld: Sequence[Claim]
) -> float | None:
    """Return the probability that an answer is correct; `None` if nothing is cited."""
    features = correctness_features(answerability, hits, claims, withheld)
    if features is None:
        return None
    bias, weights = _weights()
    total = bias + sum(weights[name] * value for name, value in features.items())
    supported = geometric_mean(max(claim.probability, 0.001) for claim in _proven(claims))
    return round(supported / (1 + exp(-total)), 4)


def correctness_features(
    answerability: float, hits: Sequence[Hit], claims: Sequence[Claim], withheld: Sequence[Claim]
) -> dict[str, float] | None:
    """Return the features of an answer from search and verification; `None` if nothing is cited."""
    proven = _proven(claims)
    hits_by_id = {hit.chunk.id: hit for hit in hits}
    cited = [c.chunk_id for claim in proven for c in claim.citations if c.chunk_id in hits_by_id]
    if not cited:
        return None
    p = min(max(answerability, 1 - _MAX_ANSWERABILITY), _MAX_ANSWERABILITY)
    first = hits_by_id[cited[0]]
    section = (first.chunk.chapter, first.chunk.section)
    return {
        "answerable": log(p / (1 - p)) / 4,
        "first": float(first.rank == min(hit.rank for hit in hits)),
        "agreed": fmean((hit.chunk.chapter, hit.chunk.section) == section for hit in hits),
        "withheld": len(withheld) / (len(withheld) + len(proven)),
    }


def _proven(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.verdict in PROVEN_VERDICTS and claim.citations]


@lru_cache(maxsize=1)
def _weights() -> tuple[float, dict[str, float]]:
    file = resources.files("citewell.verify") / "fitted" / "correctness.json"
    data = json.loads(file.read_text("utf-8"))
    return data["bias"], data["weights"]
