"""Figures: order, operating points, calibration."""

from collections.abc import Sequence

import numpy as np


def auroc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return the share of pairs of a right and a wrong one that are in order; ties count half."""
    if not len(right) or not len(wrong):
        return float("nan")
    scores = np.concatenate([right, wrong])
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[inverse]
    n, m = len(right), len(wrong)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / n / m)


def kept_at(right: Sequence[float], wrong: Sequence[float], share: float) -> float:
    """Return the share of right ones above the score that so many of the wrong ones reach."""
    if not len(right) or not len(wrong):
        return float("nan")
    return float((np.asarray(right) > np.quantile(wrong, 1 - share)).mean())


def calibration_error(
    probabilities: Sequence[float], true: Sequence[bool], bins: int = 10
) -> float:
    """Return the expected calibration error over bins of equal count."""
    order = np.argsort(probabilities)
    said, was = np.asarray(probabilities)[order], np.asarray(true, float)[order]
    parts = np.array_split(np.arange(len(said)), bins)
    return float(
        sum(len(p) * abs(said[p].mean() - was[p].mean()) for p in parts if len(p)) / len(said)
    )


def sigmoid(logits: Sequence[float]) -> np.ndarray:
    """Return the probabilities of logits."""
    return 1 / (1 + np.exp(-np.asarray(logits, float)))
