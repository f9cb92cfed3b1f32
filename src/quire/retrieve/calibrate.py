"""From raw scores to numbers that mean something: relevance of a passage, presence of an answer.

The weights were fitted by `training/fit_calibration.py` on labelled questions and ship as JSON beside
this file, with the data they were fitted on and how well they hold on other data.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import exp

from quire.prose.terms import TermStatistics, terms
from quire.retrieve.evidence import Evidence


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
    """Read the calibration fitted for an embedder; others share the default's shape."""
    folder = resources.files("quire.retrieve") / "calibration"
    file = folder / f"{embedder.split('@')[0]}.json"
    if not file.is_file():
        file = folder / "granite-embedding-30m-english.json"
    data = json.loads(file.read_text("utf-8"))
    return Calibration(
        *(Logistic(data[n]["bias"], data[n]["weights"]) for n in ("similarity", "answerability"))
    )


def similarity_features(
    question: str, text: str, cosine: float, statistics: TermStatistics
) -> dict[str, float]:
    """Describe how a passage relates to a question."""
    return {
        "cosine": cosine,
        "coverage": statistics.coverage(terms(question), terms(text)),
    }


def answerability_features(
    question: str,
    texts: Sequence[str],
    cosines: Sequence[float],
    evidence: Sequence[Evidence],
    statistics: TermStatistics,
) -> dict[str, float]:
    """Describe whether the passages hold what the question asks for."""
    wanted = set(terms(question))
    total = sum(statistics.weight(term) for term in wanted) or 1.0
    together = {term for text in texts for term in terms(text)}
    missing = [statistics.weight(term) for term in wanted - together]
    unknown = [statistics.weight(t) for t in wanted if not statistics.frequency.get(t)]
    return {
        "cosine": max(cosines, default=0.0),
        "sentence": max((e.coverage for e in evidence), default=0.0),
        "passage": max((statistics.coverage(wanted, terms(t)) for t in texts), default=0.0),
        "together": statistics.coverage(wanted, together),
        "missing": max(missing, default=0.0) / total,
        "unknown": sum(unknown) / total,
    }
