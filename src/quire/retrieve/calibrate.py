"""From raw scores to `similarity_score`: how likely what was found holds the answer.

The weights were fitted by `training/fit_calibration.py` on labelled questions and ship as JSON
beside this file, with the data they were fitted on and how well they hold on other data.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import exp

from quire.prose.terms import TermStatistics, terms
from quire.retrieve.evidence import UNREAD, Evidence

FADE = 0.1
"""How much of the similarity is gone for a passage that is merely in the same book."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model over named features."""

    bias: float
    weights: Mapping[str, float]

    def __call__(self, features: Mapping[str, float]) -> float:
        """Give the probability, 0 to 1."""
        total = self.bias + sum(w * features[name] for name, w in self.weights.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was fitted for one embedder and one reader."""

    answerability: Logistic


@lru_cache(maxsize=4)
def load_calibration(embedder: str) -> Calibration:
    """Read the calibration fitted for an embedder."""
    folder = resources.files("quire.retrieve") / "calibration"
    data = json.loads((folder / f"{embedder.partition('@')[0]}.json").read_text("utf-8"))
    fitted = data["answerability"]
    return Calibration(Logistic(fitted["bias"], fitted["weights"]))


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known about a question and everything found for it."""

    question: str
    texts: Sequence[str]
    """The passages with their headings, in rank order."""
    cosines: Sequence[float]
    floor: float
    """The cosine of passages that are merely in the same book: a short or sloppy question has low
    cosines throughout, and only what stands out from them means something."""
    evidence: Sequence[Evidence]
    """Sentences of the passages, best first."""
    statistics: TermStatistics


def answerability_features(signals: Signals) -> dict[str, float]:
    """Describe whether the passages hold what the question asks for."""
    statistics = signals.statistics
    wanted = set(terms(signals.question))
    total = sum(statistics.weight(term) for term in wanted) or 1.0
    together = {term for text in signals.texts for term in terms(text)}
    unknown = [statistics.weight(t) for t in wanted if not statistics.frequency.get(t)]
    read = [e.score for e in signals.evidence if e.score > UNREAD]
    return {
        "reader": _bounded(max(read, default=UNREAD)),
        "lift": max(signals.cosines, default=0.0) - signals.floor,
        "together": statistics.coverage(wanted, together),
        "unknown": sum(unknown) / total,
    }


def similarity_of(cosine: float, signals: Signals, answerability: float) -> float:
    """Give a passage's similarity: that of the best is the probability that the answer is there.

    The further a passage is from the question, measured between the best passage and what is merely
    in the same book, the less of it is left.
    """
    best = max(signals.cosines)
    reach = best - signals.floor
    closeness = (cosine - signals.floor) / reach if reach > 0 else 1.0
    return answerability * (1 - FADE * (1 - max(0.0, min(1.0, closeness))))


def _bounded(score: float) -> float:
    """Keep a logit where one more unit still says something."""
    return max(-8.0, min(8.0, score)) / 8.0
