"""Figures for a yes-or-no decision: how well what is unsupported is told from what is supported."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 1000
SEED = 20250101

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """A table of four: what was flagged against what should have been."""

    hits: int = 0
    false_alarms: int = 0
    misses: int = 0
    passes: int = 0

    @property
    def precision(self) -> float:
        """The share of what was flagged that should have been."""
        return _ratio(self.hits, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        """The share of what should have been flagged that was."""
        return _ratio(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.hits, 2 * self.hits + self.false_alarms + self.misses)

    @property
    def macro_f1(self) -> float:
        """The mean of F1 over both classes."""
        other = _ratio(2 * self.passes, 2 * self.passes + self.false_alarms + self.misses)
        return (self.f1 + other) / 2

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the recalls of both classes."""
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
    """Give the threshold with the highest F1 on these very examples, and that F1."""
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
    """Give how many characters both mark, how many are found, and how many are gold."""
    ours = {place for start, end in found for place in range(start, end)}
    theirs = {place for start, end in gold for place in range(start, end)}
    return len(ours & theirs), len(ours), len(theirs)


def span_f1(overlaps: Sequence[tuple[int, int, int]]) -> float:
    """Give the F1 of characters, counted over all examples together."""
    both, found, gold = (sum(one[place] for one in overlaps) for place in range(3))
    return _ratio(2 * both, found + gold)


def interval(
    size: int, figure: Callable[[Sequence[int]], float | None]
) -> tuple[float, float] | None:
    """Give the 95 % interval of a figure of examples by the bootstrap, the same on every run.

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
    """Give the value below which so large a share lies; 0 of nothing."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
