"""From raw scores to `similarity_score`: how likely a passage serves the question.

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
    """The two fitted models for one embedder."""

    similarity: Logistic
    answerability: Logistic


@lru_cache(maxsize=4)
def load_calibration(embedder: str) -> Calibration:
    """Read the calibration fitted for an embedder."""
    folder = resources.files("quire.retrieve") / "calibration"
    file = folder / f"{embedder.partition('@')[0]}.json"
    data = json.loads(file.read_text("utf-8"))
    return Calibration(
        *(Logistic(data[n]["bias"], data[n]["weights"]) for n in ("similarity", "answerability"))
    )


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
    missing = [statistics.weight(term) for term in wanted - together]
    unknown = [statistics.weight(t) for t in wanted if not statistics.frequency.get(t)]
    read = sorted((e.score for e in signals.evidence if e.score > UNREAD), reverse=True)
    best = signals.evidence[0].coverage if signals.evidence else 0.0
    return {
        "reader": _bounded(read[0] if read else UNREAD),
        "reader_second": _bounded(read[1] if len(read) > 1 else UNREAD),
        "cosine": max(signals.cosines, default=0.0),
        "lift": max(signals.cosines, default=0.0) - signals.floor,
        "sentence": best,
        "together": statistics.coverage(wanted, together),
        "missing": max(missing, default=0.0) / total,
        "unknown": sum(unknown) / total,
    }


def similarity_features(
    signals: Signals, place: int, number: int, answerability: float
) -> dict[str, float]:
    """Describe how the passage at `place`, numbered `number`, serves the question."""
    own = [e.score for e in signals.evidence if e.passage.number == number and e.score > UNREAD]
    return {
        "answerability": answerability,
        "reader": _bounded(max(own, default=UNREAD)),
        "cosine": signals.cosines[place],
        "lift": signals.cosines[place] - signals.floor,
        "coverage": signals.statistics.coverage(
            terms(signals.question), terms(signals.texts[place])
        ),
    }


def _bounded(score: float) -> float:
    """Keep a logit where one more unit still says something."""
    return max(-8.0, min(8.0, score)) / 8.0
