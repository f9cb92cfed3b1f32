"""Two rankings made one, by how good a passage is in each and not by its mere place in them.

Places say that one passage is before another, but not by how much, and a passage that stands out in
one ranking is often the right one. See decision 21.
"""

from collections.abc import Sequence
from statistics import fmean, pstdev

from citewell.options import SearchOptions
from citewell.ports import Rankings

DIGITS = 5
"""Scores that differ by less are equal: engines add up in different orders."""


def fuse(rankings: Rankings, options: SearchOptions) -> dict[str, float]:
    """Score what was found, best first; ties fall by id, the same everywhere.

    By meaning, a passage counts the spreads of the ranking by which it lies above the ranking's
    mean: cosines have another spread for every embedder and every question. By keywords, it counts
    its share of the best score. What only one ranking found has at most what the last of the other
    one has.
    """
    meaning, keywords = dict(rankings.dense), dict(rankings.keyword)
    middle, spread = _mean_and_deviation(rankings.dense)
    unlike = min(meaning.values(), default=middle)
    best = max(keywords.values(), default=0.0) or 1.0
    # A ranking that is not full holds all passages with a word of the question: the rest have none.
    wordless = min(keywords.values(), default=0.0) if len(keywords) >= options.depth else 0.0

    def score(identity: str) -> float:
        by_meaning = (meaning.get(identity, unlike) - middle) / spread
        by_keywords = keywords.get(identity, wordless) / best
        return round(by_meaning + options.keyword_weight * by_keywords, DIGITS)

    scores = {identity: score(identity) for identity in {**meaning, **keywords}}
    order = sorted(scores, key=lambda identity: (-scores[identity], identity))
    return {identity: scores[identity] for identity in order}


def _mean_and_deviation(ranking: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """Return the mean of a ranking's scores, and how far they lie around it."""
    scores = [score for _, score in ranking]
    return (fmean(scores), pstdev(scores) or 1.0) if scores else (0.0, 1.0)
