"""The one confidence: how likely an answer is right and supported, from all that is known of it.

Search says how likely the passages hold an answer, the passages how far they agree on a place, and
verification how much was held back: from these, the chance that the right place was found. What is
shown must be supported as well, as the judge says of each claim. The weights were fitted by
`training/fit_correctness.py` on questions whose place in the book is known, and ship as JSON.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from math import exp, log
from statistics import fmean, geometric_mean

from quire.domain import PROVEN, Claim, Hit

FEATURES = ("answerable", "first", "agreed", "withheld")
_SURE = 0.995
"""No search is surer."""


def correctness_of(
    answerability: float, hits: Sequence[Hit], claims: Sequence[Claim], withheld: Sequence[Claim]
) -> float | None:
    """Give the probability that an answer is right and supported; `None` if it proves nothing."""
    features = features_of(answerability, hits, claims, withheld)
    if features is None:
        return None
    bias, weights = _weights()
    total = bias + sum(weights[name] * value for name, value in features.items())
    supported = geometric_mean(max(claim.probability, 0.001) for claim in _proven(claims))
    return round(supported / (1 + exp(-total)), 4)


def features_of(
    answerability: float, hits: Sequence[Hit], claims: Sequence[Claim], withheld: Sequence[Claim]
) -> dict[str, float] | None:
    """Describe an answer by what search and verification know of it."""
    proven = _proven(claims)
    places = {hit.chunk.id: hit for hit in hits}
    cited = [c.chunk_id for claim in proven for c in claim.citations if c.chunk_id in places]
    if not cited:
        return None
    p = min(max(answerability, 1 - _SURE), _SURE)
    main = places[cited[0]]
    page = (main.chunk.chapter, main.chunk.section)
    return {
        "answerable": log(p / (1 - p)) / 4,
        "first": float(main.rank == min(hit.rank for hit in hits)),
        "agreed": fmean((hit.chunk.chapter, hit.chunk.section) == page for hit in hits),
        "withheld": len(withheld) / (len(withheld) + len(proven)),
    }


def _proven(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.verdict in PROVEN and claim.citations]


@lru_cache(maxsize=1)
def _weights() -> tuple[float, dict[str, float]]:
    file = resources.files("quire.verify") / "calibration" / "correctness.json"
    data = json.loads(file.read_text("utf-8"))
    return data["bias"], data["weights"]
