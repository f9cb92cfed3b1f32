"""Fusion of the dense and the keyword ranking by normalized scores.

Rank-based fusion ignores how far a passage stands out in one ranking, which is a strong signal.
See decision 21.
"""

from statistics import fmean, pstdev

from citewell.options import SearchOptions
from citewell.ports import Rankings

DIGITS = 5
"""Decimal places of scores; more would depend on the order in which an engine adds up."""


def fuse(rankings: Rankings, options: SearchOptions) -> dict[str, float]:
    """Return the fused scores by chunk id, best first, ties by id.

    The fused score is the z-score of the cosine, whose scale depends on the embedder and the
    question, plus the weighted share of the best keyword score. A chunk that is missing in one
    ranking gets the lowest score there.
    """
    dense, keyword = dict(rankings.dense), dict(rankings.keyword)
    mean = fmean(dense.values()) if dense else 0.0
    deviation = (pstdev(dense.values()) if dense else 0.0) or 1.0
    lowest_dense = min(dense.values(), default=mean)
    best_keyword = max(keyword.values(), default=0.0) or 1.0
    # A ranking below `depth` is complete: other chunks contain no word of the question.
    lowest_keyword = min(keyword.values(), default=0.0) if len(keyword) >= options.depth else 0.0

    def score(chunk_id: str) -> float:
        dense_score = (dense.get(chunk_id, lowest_dense) - mean) / deviation
        keyword_score = keyword.get(chunk_id, lowest_keyword) / best_keyword
        return round(dense_score + options.keyword_weight * keyword_score, DIGITS)

    scores = {chunk_id: score(chunk_id) for chunk_id in {**dense, **keyword}}
    order = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return {chunk_id: scores[chunk_id] for chunk_id in order}
