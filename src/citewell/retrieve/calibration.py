"""Calibration: from raw scores to probabilities.

`similarity_score` is the probability that a passage is relevant, `answerability` the probability
that the passages hold the answer. `training/fit_relevance.py` and `training/fit_calibration.py` fit
the weights on labeled questions. They ship as JSON in `fitted/`, with their evaluation.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from math import exp
from pathlib import Path
from typing import Any

from citewell.errors import BadSettings
from citewell.retrieve.rerank import UNRANKED_SCORE, Evidence
from citewell.text.terms import TermStatistics, terms

SHORT_BOOK = 200
"""Number of passages at which an unknown term counts half: short books have a small vocabulary."""
DEFAULT_CALIBRATION_FILE = "granite-embedding-30m-english.json"
"""The calibration of the built-in embedder."""
DEFAULT_FEATURES = {"lift": 0.1}
"""Neutral values of features that need a calibrated embedder: halfway between questions that the
sample book answers (0.15) and does not answer (0.05)."""


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """A logistic model over named features."""

    bias: float
    weights: Mapping[str, float]

    def __call__(self, features: Mapping[str, float]) -> float:
        """Return the probability, 0 to 1."""
        total = self.bias + sum(w * features[name] for name, w in self.weights.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True, slots=True)
class Risk:
    """The measured effect of an answerability threshold."""

    threshold: float
    wrong: float
    """Share of answers to questions that the book does not answer."""
    answered: float
    """Share of questions that are answered."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The models fitted for an embedder and the reranker."""

    answerability: LogisticModel
    relevance: LogisticModel = LogisticModel(0.0, {})
    fitted: bool = True
    """Whether it was fitted for the embedder in use."""
    risks: tuple[Risk, ...] = ()
    """Measured on held-out questions, by ascending threshold."""
    floor: float = 0.0
    """Default similarity floor, for books with few passages."""

    def threshold_for(self, target: float) -> float:
        """Return the lowest threshold that meets the target risk, or else the highest one."""
        safe = (risk.threshold for risk in self.risks if risk.wrong <= target)
        return next(safe, self.risks[-1].threshold if self.risks else 1.0)


def calibration_file(embedder: str) -> str:
    """Return the name of the calibration file of an embedder."""
    return f"{embedder.partition('@')[0].replace('/', '--')}.json"


@lru_cache(maxsize=4)
def load_calibration(embedder: str, custom_folder: Path | None = None) -> Calibration:
    """Load the calibration of an embedder, from a custom folder or from those that ship.

    An embedder without one gets the default calibration without the features that depend on the
    scale of cosines. Its probabilities are not calibrated.

    Raises:
        BadSettings: the file in the custom folder is invalid.
    """
    shipped = resources.files("citewell.retrieve") / "fitted"
    for folder in (custom_folder, shipped):
        file = folder / calibration_file(embedder) if folder else None
        if file and file.is_file():
            return _read_calibration(file)
    default = _read_calibration(shipped / DEFAULT_CALIBRATION_FILE)
    return Calibration(
        answerability=_without_cosines(default.answerability),
        relevance=_default_relevance(),
        fitted=False,
    )


def _default_relevance() -> LogisticModel:
    shipped = resources.files("citewell.retrieve") / "fitted" / DEFAULT_CALIBRATION_FILE
    return _without_cosines(_read_calibration(shipped).relevance)


def _without_cosines(model: LogisticModel) -> LogisticModel:
    weights = dict(model.weights)
    constant = sum(weights.pop(name, 0.0) * value for name, value in DEFAULT_FEATURES.items())
    return LogisticModel(model.bias + constant, weights)


def _read_calibration(file: Traversable) -> Calibration:
    try:
        data = json.loads(file.read_text("utf-8"))
        fitted = data["answerability"]
        risks = fitted.get("held_out", {}).get("risk", ())
        return Calibration(
            answerability=_logistic(fitted),
            relevance=_logistic(data["relevance"]) if "relevance" in data else _default_relevance(),
            risks=tuple(Risk(*(float(figure) for figure in risk)) for risk in risks),
            floor=float(fitted.get("floor", 0.0)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSettings(f"{file} is no valid calibration; fit it again, or delete it.") from error


def _logistic(fitted: Mapping[str, Any]) -> LogisticModel:
    weights = {name: float(weight) for name, weight in fitted["weights"].items()}
    return LogisticModel(float(fitted["bias"]), weights)


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals of a search, from which the features are computed."""

    question: str
    texts: Sequence[str]
    """Passages with their headings, in rank order."""
    cosines: Sequence[float]
    floor: float
    """The similarity floor: the cosine of passages that are off the question. Short questions have
    low cosines throughout, so that only the lift above the floor is meaningful."""
    evidence: Sequence[Evidence]
    """Reranked sentences, best first."""
    statistics: TermStatistics
    original_question: str = ""
    """The question before terms from the conversation were added."""


_GENERIC_TERMS = frozenset(
    terms(
        """
        advantage benefit drawback disadvantage downside upside pro con strength weakness limitation
        purpose goal role reason cause effect consequence difference similarity kind type sort form
        method approach step part component element feature property characteristic aspect issue
        problem trouble risk danger solution alternative option choice case situation good better
        best bad worse worst main important common typical usual popular different similar several
        various number amount happen wrong right useful possible result compare
        """
    )
)
"""Terms that a book can answer without using: it lists drawbacks without calling them that."""


def answerability_features(signals: Signals) -> dict[str, float]:
    """Return the features that predict whether the passages hold the answer."""
    statistics = signals.statistics
    content_terms = _content_terms(signals.question)
    passage_terms = {term for text in signals.texts for term in terms(text)}
    # Terms taken from the conversation are known to be in the book.
    own_terms = content_terms & set(terms(signals.original_question)) or content_terms
    total = sum(statistics.weight(term) for term in own_terms) or 1.0
    unknown = [statistics.weight(t) for t in own_terms if not statistics.frequency.get(t)]
    reliability = statistics.documents / (statistics.documents + SHORT_BOOK)
    scores = [e.score for e in signals.evidence if e.score > UNRANKED_SCORE]
    return {
        "reader": _scale_logit(max(scores, default=UNRANKED_SCORE)),
        "lift": max(signals.cosines, default=0.0) - signals.floor,
        "together": statistics.coverage(content_terms, passage_terms),
        "unknown": reliability * sum(unknown) / total,
    }


def relevance_features(index: int, signals: Signals) -> dict[str, float]:
    """Return the features that predict whether a passage is relevant."""
    own_evidence = (e for e in signals.evidence if e.passage.number == index + 1)
    scores = [e.score for e in own_evidence if e.score != UNRANKED_SCORE]
    return {
        "lift": signals.cosines[index] - signals.floor,
        "words": signals.statistics.coverage(
            _content_terms(signals.question), terms(signals.texts[index])
        ),
        "reader": _scale_logit(max(scores)) if scores else 0.0,
        # A confident answer elsewhere ends the reranking, which says nothing about this passage.
        "unread": float(not scores),
    }


def _content_terms(question: str) -> set[str]:
    question_terms = set(terms(question))
    return question_terms - _GENERIC_TERMS or question_terms


def _scale_logit(score: float) -> float:
    return max(-8.0, min(8.0, score)) / 8.0
