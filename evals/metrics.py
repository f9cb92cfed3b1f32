"""Evaluation metrics."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

BINS = 10


def hit_at(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return 1 if one of the first `k` is relevant, else 0 (hit@k)."""
    return float(any(one in gold for one in found[:k]))


def recall_at(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of relevant items among the first `k` (recall@k)."""
    return sum(one in gold for one in found[:k]) / len(gold) if gold else 0.0


def reciprocal_rank(found: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """Return the reciprocal rank of the first relevant item, 0 beyond `k` (MRR@k)."""
    return next((1 / rank for rank, one in enumerate(found[:k], start=1) if one in gold), 0.0)


def ndcg_at(found: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """Return nDCG@k with binary relevance."""
    gain = sum(1 / log2(rank + 1) for rank, one in enumerate(found[:k], start=1) if one in gold)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
    return gain / best if best else 0.0


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the AUROC; `None` with one class only."""
    pairs = sorted(zip(scores, labels, strict=True))
    positive = sum(labels)
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    total, place = 0.0, 0
    while place < len(pairs):
        end = place
        while end < len(pairs) and pairs[end][0] == pairs[place][0]:
            end += 1
        # Equal scores share the mean of their ranks.
        mean = (place + 1 + end) / 2
        total += mean * sum(label for _, label in pairs[place:end])
        place = end
    return (total - positive * (positive + 1) / 2) / (positive * negative)


def reliability(said: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float, int]]:
    """Return the mean prediction, the accuracy and the count of each of ten bins."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for p, was in zip(said, right, strict=True):
        bins[min(int(p * BINS), BINS - 1)].append((p, was))
    return [
        (sum(p for p, _ in one) / len(one), sum(was for _, was in one) / len(one), len(one))
        for one in bins
        if one
    ]


def calibration_error(said: Sequence[float], right: Sequence[bool]) -> float:
    """Return the expected calibration error over ten bins."""
    total = len(said) or 1
    return sum(n / total * abs(p - share) for p, share, n in reliability(said, right))


def risk_coverage(said: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float]]:
    """Return the risk–coverage curve as (coverage, risk), most confident first.

    No threshold can tell equal scores apart, so these are answered together.
    """
    order = sorted(zip(said, right, strict=True), key=lambda pair: -pair[0])
    curve, wrong = [], 0
    for answered, (score, was) in enumerate(order, start=1):
        wrong += not was
        if answered == len(order) or order[answered][0] < score:
            curve.append((answered / len(order), wrong / answered))
    return curve


def risk_at(curve: Sequence[tuple[float, float]], coverage: float) -> float:
    """Return the risk at a coverage; 0 for an empty curve."""
    # A tenth of ten questions is one of them, whatever floating point makes of it.
    return next((wrong for share, wrong in curve if share >= coverage - 1e-9), 0.0)


def answered_at_risk(said: Sequence[float], right: Sequence[bool], risk: float = 0.05) -> float:
    """Return the largest coverage with at most `risk`."""
    return max((c for c, wrong in risk_coverage(said, right) if wrong <= risk), default=0.0)


RESAMPLES = 1000
SEED = 20250101

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """A confusion matrix."""

    hits: int = 0
    false_alarms: int = 0
    misses: int = 0
    passes: int = 0

    @property
    def precision(self) -> float:
        """The precision."""
        return _ratio(self.hits, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """The recall."""
        return _ratio(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.hits, 2 * self.hits + self.false_alarms + self.misses)

    @property
    def macro_f1(self) -> float:
        """The macro-F1."""
        other = _ratio(2 * self.passes, 2 * self.passes + self.false_alarms + self.misses)
        return (self.f1 + other) / 2

    @property
    def balanced_accuracy(self) -> float:
        """The balanced accuracy."""
        return (self.recall + _ratio(self.passes, self.passes + self.false_alarms)) / 2


def count(flagged: Sequence[bool], wrong: Sequence[bool]) -> Counts:
    """Count decisions against labels."""
    pairs = list(zip(flagged, wrong, strict=True))
    return Counts(
        hits=sum(f and w for f, w in pairs),
        false_alarms=sum(f and not w for f, w in pairs),
        misses=sum(w and not f for f, w in pairs),
        passes=sum(not f and not w for f, w in pairs),
    )


def best_f1(scores: Sequence[float], wrong: Sequence[bool]) -> tuple[float, float]:
    """Return the threshold with the highest F1 on these examples, and that F1."""
    hits, total = 0, sum(wrong)
    best = (1.0, 0.0)
    order = sorted(zip(scores, wrong, strict=True), reverse=True)
    for flagged, (score, was) in enumerate(order, start=1):
        hits += was
        f1 = _ratio(2 * hits, flagged + total)
        # Equal scores fall on the same side of any threshold.
        last = flagged == len(order) or order[flagged][0] < score
        if last and f1 > best[1]:
            best = (score, f1)
    return best


def overlap(found: Sequence[Span], gold: Sequence[Span]) -> tuple[int, int, int]:
    """Return the numbers of common, predicted and gold characters."""
    ours = {place for start, end in found for place in range(start, end)}
    theirs = {place for start, end in gold for place in range(start, end)}
    return len(ours & theirs), len(ours), len(theirs)


def span_f1(overlaps: Sequence[tuple[int, int, int]]) -> float:
    """Return the character-level F1 over all examples."""
    both, found, gold = (sum(one[place] for one in overlaps) for place in range(3))
    return _ratio(2 * both, found + gold)


def interval(
    size: int, figure: Callable[[Sequence[int]], float | None]
) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval of a metric, reproducibly.

    `figure` is given the places of the examples to use; resamples for which there is no such figure
    are left out.
    """
    random = np.random.default_rng(SEED)
    drawn = (random.integers(0, size, size).tolist() for _ in range(RESAMPLES if size else 0))
    values = [value for places in drawn if (value := figure(places)) is not None]
    if not values:
        return None
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile; 0 for no values."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
