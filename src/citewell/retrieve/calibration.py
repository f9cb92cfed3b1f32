"""From raw scores to probabilities: that a passage is relevant, and that the answer was found.

The first is `similarity_score`, and belongs to the passage; the second is `answerability`, and
belongs to the question. The weights were fitted by `training/fit_relevance.py` and
`training/fit_calibration.py` on labelled questions and ship as JSON beside this file, with the data
they were fitted on and how well they hold on other data.
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
from citewell.retrieve.rerank import UNREAD_SCORE, Evidence
from citewell.text.terms import TermStatistics, terms

SHORT_BOOK = 200
"""Passages of a book in which a word that it never says tells half as much: it has few words."""

DEFAULT_CALIBRATION_FILE = "granite-embedding-30m-english.json"
"""The calibration of the embedder that comes with Citewell."""
DEFAULT_FEATURES = {"lift": 0.1}
"""Features that depend on the embedder, and what stands for them where it has no calibration: with
the embedded one, halfway between questions that the sample book answers (0.15) and does not (0.05)
in `evals/data/golden/physical-ai-dev.jsonl`."""


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
    """What answering from a threshold on means."""

    threshold: float
    wrong: float
    """Share of the answers to questions that the book does not answer."""
    answered: float
    """Share of all questions that are answered."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was fitted for one embedder and one reader."""

    answerability: LogisticModel
    relevance: LogisticModel = LogisticModel(0.0, {})
    fitted: bool = True
    """Whether it was fitted for the embedder in use, and not taken over from another."""
    risks: tuple[Risk, ...] = ()
    """What was measured on questions that fitted nothing, by rising threshold."""
    floor: float = 0.0
    """What stands for the cosine of passages that are merely in the same book, where it has few."""

    def threshold_for(self, target: float) -> float:
        """Return the lowest threshold with which at most `target` of the answers are wrong.

        Where none is safe enough, the highest that was measured.
        """
        safe = (risk.threshold for risk in self.risks if risk.wrong <= target)
        return next(safe, self.risks[-1].threshold if self.risks else 1.0)


def calibration_file(embedder: str) -> str:
    """Name the file that holds the calibration of an embedder."""
    return f"{embedder.partition('@')[0].replace('/', '--')}.json"


@lru_cache(maxsize=4)
def load_calibration(embedder: str, own: Path | None = None) -> Calibration:
    """Read the calibration fitted for an embedder, from the folder `own` or as it ships.

    For an embedder that has none, it is that of the embedded one without the features that depend
    on the embedder: nothing is then read into cosines whose scale nobody has measured. Less tells
    the answerable from the rest, and the probabilities are not calibrated.

    Raises:
        BadSettings: the file in `own` is no calibration.
    """
    shipped = resources.files("citewell.retrieve") / "fitted"
    for folder in (own, shipped):
        file = folder / calibration_file(embedder) if folder else None
        if file and file.is_file():
            return _read_calibration(file)
    embedded = _read_calibration(shipped / DEFAULT_CALIBRATION_FILE)
    return Calibration(
        answerability=_without_cosines(embedded.answerability),
        relevance=_borrow_answerability(),
        fitted=False,
    )


def _borrow_answerability() -> LogisticModel:
    shipped = resources.files("citewell.retrieve") / "fitted" / DEFAULT_CALIBRATION_FILE
    return _without_cosines(_read_calibration(shipped).relevance)


def _without_cosines(model: LogisticModel) -> LogisticModel:
    weights = dict(model.weights)
    kept = sum(weights.pop(name, 0.0) * value for name, value in DEFAULT_FEATURES.items())
    return LogisticModel(model.bias + kept, weights)


def _read_calibration(file: Traversable) -> Calibration:
    try:
        data = json.loads(file.read_text("utf-8"))
        fitted = data["answerability"]
        risks = fitted.get("held_out", {}).get("risk", ())
        return Calibration(
            answerability=_logistic(fitted),
            relevance=_logistic(data["relevance"])
            if "relevance" in data
            else _borrow_answerability(),
            risks=tuple(Risk(*(float(figure) for figure in risk)) for risk in risks),
            floor=float(fitted.get("floor", 0.0)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSettings(f"{file} is no calibration; fit it again, or delete it.") from error


def _logistic(fitted: Mapping[str, Any]) -> LogisticModel:
    weights = {name: float(weight) for name, weight in fitted["weights"].items()}
    return LogisticModel(float(fitted["bias"]), weights)


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
    asked: str = ""
    """The question in its own words, where others were taken from the conversation."""


_ASKING = frozenset(
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
"""Words of asking: a book lists weak points without calling them drawbacks."""


def answerability_features(signals: Signals) -> dict[str, float]:
    """Describe whether the passages hold what the question asks for."""
    statistics = signals.statistics
    asked = set(terms(signals.question))
    wanted = asked - _ASKING or asked
    together = {term for text in signals.texts for term in terms(text)}
    # What the conversation was about is in the book: it says nothing about what is asked now.
    own = wanted & set(terms(signals.asked)) or wanted
    total = sum(statistics.weight(term) for term in own) or 1.0
    unknown = [statistics.weight(t) for t in own if not statistics.frequency.get(t)]
    telling = statistics.documents / (statistics.documents + SHORT_BOOK)
    read = [e.score for e in signals.evidence if e.score > UNREAD_SCORE]
    return {
        "reader": _bounded(max(read, default=UNREAD_SCORE)),
        "lift": max(signals.cosines, default=0.0) - signals.floor,
        "together": statistics.coverage(wanted, together),
        "unknown": telling * sum(unknown) / total,
    }


def relevance_features(place: int, signals: Signals) -> dict[str, float]:
    """Describe whether the passage at `place`, counted from 0, is about what is asked."""
    asked = set(terms(signals.question))
    wanted = asked - _ASKING or asked
    own = [e.score for e in signals.evidence if e.passage.number == place + 1]
    read = [score for score in own if score != UNREAD_SCORE]
    return {
        "lift": signals.cosines[place] - signals.floor,
        "words": signals.statistics.coverage(wanted, terms(signals.texts[place])),
        "reader": _bounded(max(read)) if read else 0.0,
        # Once a sentence answers for sure, no more are read: that says nothing of the passage.
        "unread": float(not read),
    }


def _bounded(score: float) -> float:
    """Keep a logit where one more unit still says something."""
    return max(-8.0, min(8.0, score)) / 8.0
