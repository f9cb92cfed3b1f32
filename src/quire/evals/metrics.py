"""Figures of merit, as small pure functions."""

from collections.abc import Collection, Sequence
from math import log2

BINS = 10


def hit_at(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give 1 if one of the first `k` is right, else 0."""
    return float(any(one in gold for one in found[:k]))


def recall_at(found: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give the share of what is right that is among the first `k`."""
    return sum(one in gold for one in found[:k]) / len(gold) if gold else 0.0


def reciprocal_rank(found: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """Give one over the rank of the first right one, 0 if it is not among the first `k`."""
    return next((1 / rank for rank, one in enumerate(found[:k], start=1) if one in gold), 0.0)


def ndcg_at(found: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """Give the normalised discounted gain of the first `k`, all right ones counting alike."""
    gain = sum(1 / log2(rank + 1) for rank, one in enumerate(found[:k], start=1) if one in gold)
    best = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
    return gain / best if best else 0.0


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Give the chance that a positive scores above a negative; `None` if there is only one kind."""
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
    """Give, for each tenth of the scale, the mean said, the share that was right, and how many."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for p, was in zip(said, right, strict=True):
        bins[min(int(p * BINS), BINS - 1)].append((p, was))
    return [
        (sum(p for p, _ in one) / len(one), sum(was for _, was in one) / len(one), len(one))
        for one in bins
        if one
    ]


def calibration_error(said: Sequence[float], right: Sequence[bool]) -> float:
    """Give the expected calibration error over ten bins."""
    total = len(said) or 1
    return sum(n / total * abs(p - share) for p, share, n in reliability(said, right))


def risk_coverage(said: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float]]:
    """Give (share answered, share of these that is wrong), the surest first.

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
    """Give the share that is wrong where at least such a share is answered; 0 of nothing."""
    # A tenth of ten questions is one of them, whatever floating point makes of it.
    return next((wrong for share, wrong in curve if share >= coverage - 1e-9), 0.0)


def answered_at_risk(said: Sequence[float], right: Sequence[bool], risk: float = 0.05) -> float:
    """Give the largest share that can be answered with at most `risk` of it wrong."""
    return max((c for c, wrong in risk_coverage(said, right) if wrong <= risk), default=0.0)
