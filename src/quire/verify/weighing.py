"""How likely it is that sentences say what a claim says: what is missing, and what reading finds.

A claim fails if words of it are nowhere to be found, or if the model that reads both does not find
the one in the other. Nothing that is missing can make it more likely, so no weight is below zero,
and the chances of not failing either way are multiplied. The weights ship as JSON, fitted by
`training/judge/fit.py`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import exp, log, log1p

from quire.ports import Entailed
from quire.prose.plain import inline_plain
from quire.prose.terms import terms
from quire.verify.agreement import names_of
from quire.verify.quantities import quantities

SIGNS = ("absent", "apart", "unread", "name", "number")
"""Shares of the claim's words that stand in no sentence, not in the best one, in none of those
read; whether a name or a quantity of it stands nowhere."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model's output is worth."""

    bias: float
    slope: float
    trust: float
    """How far it is believed of books it did not learn from, from 0 to 1."""

    def log_likely(self, logit: float) -> float:
        """Give the logarithm of the chance that the claim is there, read so."""
        return -log1p(exp(-self.trust * (self.bias + self.slope * logit)))


@dataclass(frozen=True, slots=True)
class Scale:
    """What was fitted for one model."""

    bias: float
    weights: dict[str, float]
    reading: Reading
    level: float
    spread: float
    """Make a probability of the product where half of all claims are supported."""
    supported: float
    """At least this probability shows a claim as supported."""
    partly: float
    flagged: float
    """Below this probability a claim counts as unsupported where all must be called one or the
    other."""

    def likelihood(self, signs: dict[str, float], logit: float) -> float:
        """Give the logarithm of the chance that nothing is missing and it was read so."""
        failed = self.bias + sum(self.weights[name] * sign for name, sign in signs.items())
        return self.reading.log_likely(logit) - failed

    def probability(self, signs: dict[str, float], logit: float) -> float:
        """Give the probability that the sentences support the claim."""
        total = self.level + self.spread * self.likelihood(signs, logit)
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=2)
def load_scale(model: str) -> Scale:
    """Read the weights fitted for a model."""
    folder = resources.files("quire.verify") / "calibration"
    data = json.loads((folder / f"{model.partition('@')[0]}.json").read_text("utf-8"))
    cuts = data["thresholds"]
    return Scale(
        bias=data["bias"],
        weights=data["weights"],
        reading=Reading(**data["reading"]),
        level=data["level"],
        spread=data["spread"],
        supported=cuts["supported"],
        partly=cuts["partly"],
        flagged=cuts["flagged"],
    )


def signs_of(claim: str, sentences: Sequence[str], read: Sequence[int]) -> dict[str, float]:
    """Give what of a claim is missing; `read` are the places of the sentences chosen for it."""
    plain = inline_plain(claim)
    wanted = frozenset(terms(plain))
    held = [wanted.intersection(terms(sentence)) for sentence in sentences]
    signs = dict.fromkeys(SIGNS, 0.0)
    if wanted:
        one = max(map(len, held), default=0)
        signs["absent"] = 1 - len(frozenset().union(*held)) / len(wanted)
        signs["apart"] = 1 - one / len(wanted)
        signs["unread"] = 1 - len(frozenset().union(*(held[n] for n in read))) / len(wanted)
    text = " ".join(sentences).lower()
    signs["name"] = float(any(name.lower() not in text for name in names_of(claim)))
    asked = {quantity.key for quantity in quantities(plain)}
    if asked:
        said = {quantity.key for sentence in sentences for quantity in quantities(sentence)}
        signs["number"] = float(not asked <= said)
    return signs


def logit_of(said: Entailed) -> float:
    """Give how much more likely the model finds it that the claim is supported than not."""
    high = max(said.contradicted, said.unsupported)
    rest = high + log(exp(said.contradicted - high) + exp(said.unsupported - high))
    return max(-8.0, min(8.0, said.supported - rest)) / 4.0
