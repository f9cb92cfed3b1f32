"""The judge that reads: a small trained model and the strict checks, joined into a probability.

What stands in the book nearly word for word is decided by the strict checks alone. For a claim in
other words, the model reads it beside the sentences that bear on it, and what the two say
differently (numbers, names, negations, directions) counts against it. The weights were fitted by
`training/judge/fit.py` and ship as JSON, with the figures on claims they were not fitted on.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import exp, log

from quire.domain import Verdict
from quire.ports import Entailed, Entailment
from quire.prose.plain import inline_plain
from quire.prose.sentences import Span, split_spans
from quire.prose.terms import terms
from quire.verify.agreement import disagreements
from quire.verify.judges import LexicalJudge
from quire.verify.support import bearing, shown

_LITERAL = ("```", "~~~", "$$", "|")
_KINDS = (
    "number", "unit", "bound", "name", "link", "negation", "quantifier", "direction", "condition",
    "arrangement",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """What was fitted for one model."""

    bias: float
    weights: dict[str, float]
    supported: float
    """At least this probability shows a claim as supported."""
    partly: float

    def probability(self, features: dict[str, float]) -> float:
        """Give the probability that the evidence supports the claim."""
        total = self.bias + sum(w * features[name] for name, w in self.weights.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=2)
def load_scale(model: str) -> Scale:
    """Read the weights fitted for a model."""
    folder = resources.files("quire.verify") / "calibration"
    data = json.loads((folder / f"{model.partition('@')[0]}.json").read_text("utf-8"))
    return Scale(
        data["bias"], data["weights"], data["thresholds"]["supported"], data["thresholds"]["partly"]
    )


def features_of(claim: str, evidence: str, present: float, said: Entailed) -> dict[str, float]:
    """Describe how a claim stands to the sentences that bear on it."""
    wanted = set(terms(inline_plain(claim)))
    count = len(wanted) or 1
    different = {one.kind for one in disagreements(claim, evidence)}
    rest = _joined(said.contradicted, said.unsupported)
    return {
        "supported": _bounded(said.supported - rest),
        "contradicted": _bounded(said.contradicted - _joined(said.supported, said.unsupported)),
        "covered": len(wanted & set(terms(evidence))) / count,
        "present": present,
        "length": log(1 + count) / 4,
        **{kind: float(kind in different) for kind in _KINDS},
    }


class TrainedJudge:
    """Decides by the strict checks where they are sure, and by reading where they are not."""

    def __init__(self, model: Entailment) -> None:
        """Read with `model`."""
        self.id = model.id
        self._model = model
        self._strict = LexicalJudge()
        self._scale = load_scale(model.id)
        self.threshold = self._scale.supported

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Check one claim; `cited` are the indices of the passages it names."""
        strict = self._strict.judge(claim, passages, cited)
        if strict.kind == "supported" or claim.lstrip().startswith(_LITERAL):
            return strict
        places = [
            (number, span)
            for number, passage in enumerate(passages)
            for span in split_spans(passage)
            if span.kind != "heading"
        ]
        sentences = [inline_plain(span.of(passages[number])) for number, span in places]
        found = bearing(claim, sentences)
        if not found.places:
            return strict
        evidence = shown(sentences, found.places)
        said = self._model.entails([(inline_plain(claim), evidence)])[0]
        features = features_of(claim, evidence, found.present, said)
        probability = round(self._scale.probability(features), 4)
        proof = tuple(_place(*places[i]) for i in found.places)
        return self._verdict(strict, probability, said, proof)

    def _verdict(
        self,
        strict: Verdict,
        probability: float,
        said: Entailed,
        found: tuple[tuple[int, int, int], ...],
    ) -> Verdict:
        if strict.kind == "contradicted":
            return Verdict(
                kind="contradicted",
                probability=min(probability, self._scale.partly),
                evidence=strict.evidence,
            )
        if probability >= self._scale.supported:
            return Verdict(kind="supported", probability=probability, evidence=found)
        if said.contradicted > max(said.supported, said.unsupported):
            return Verdict(kind="contradicted", probability=probability, evidence=found)
        if probability >= self._scale.partly:
            return Verdict(kind="partly", probability=probability, evidence=found)
        return Verdict(kind="unsupported", probability=probability)


def _place(number: int, span: Span) -> tuple[int, int, int]:
    return (number + 1, span.start, span.end)


def _joined(one: float, other: float) -> float:
    """Give the logit of two outcomes together."""
    high = max(one, other)
    return high + log(exp(one - high) + exp(other - high))


def _bounded(logit: float) -> float:
    return max(-8.0, min(8.0, logit)) / 4.0
