"""Which sentences of the passages speak to the question, and how much of it they cover."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quire.prose.plain import inline_plain
from quire.prose.sentences import Span, split_spans
from quire.prose.terms import TermStatistics, terms

HEADING_CREDIT = 0.6
"""A question word found in the heading above a sentence counts this much of one found in it."""
NEIGHBOUR_CREDIT = 0.25

_DEFINES = re.compile(
    r"\b(?:is|are|was|means?|refers? to|stands? for|denotes?|describes?|represents?|defines?"
    r"|consists? of|called|known as)\b",
    re.I,
)
_ASKS_WHAT = re.compile(r"^\s*(?:what(?:'s|’s| is| are| was)|define|who (?:is|was|are))\b", re.I)
_ASKS_WHY = re.compile(r"\bwhy\b|\breasons?\b|\bhow come\b", re.I)
_REASON = re.compile(
    r"\b(?:because|since|so that|therefore|hence|thus|due to|reason|otherwise|to avoid|prevents?"
    r"|so|as a result|in order to|which means|causes?|leads? to)\b",
    re.I,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|fast|long|far|large|big|often|high|heavy|wide|deep|old)\b"
    r"|\bwhat (?:rate|frequency|value|number|size|speed|range|percentage|year)\b|\bat (?:which|what)\b"
    r"|\bwhen\b|\bdefault\b",
    re.I,
)
_NUMBER = re.compile(r"\d")
_ASKS_STEPS = re.compile(r"^\s*how (?:do|can|to|should|would)\b|\bcommand\b|\bsteps?\b", re.I)
_ANAPHOR = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|here|both|the (?:former|latter|same)"
    r"|otherwise|however|therefore|hence|thus|instead|for this reason|then|so|but|and|also)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as a model sees it."""

    number: int
    text: str
    heading: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence of a passage, and how well it speaks to the question."""

    passage: Passage
    place: int
    """Position among the sentences of its passage."""
    span: Span
    score: float
    coverage: float
    """Share of the question's weight that the sentence and its surroundings cover, 0 to 1."""

    @property
    def text(self) -> str:
        """The sentence, byte for byte."""
        return self.span.of(self.passage.text)

    @property
    def leans_back(self) -> bool:
        """Whether the sentence needs the one before it to be understood."""
        return bool(_ANAPHOR.match(inline_plain(self.text)))


def rank_evidence(
    question: str, passages: Sequence[Passage], statistics: TermStatistics
) -> list[Evidence]:
    """Score every sentence of the passages against the question, best first."""
    wanted = {term: statistics.weight(term) for term in terms(question)}
    found = [
        evidence
        for passage in passages
        for evidence in _score_passage(question, wanted, passage)
    ]
    return sorted(found, key=lambda e: (-e.score, e.passage.number, e.place))


def _score_passage(question: str, wanted: dict[str, float], passage: Passage) -> list[Evidence]:
    spans = split_spans(passage.text)
    said = [set(terms(inline_plain(span.of(passage.text)))) for span in spans]
    heading = set(terms(passage.heading))
    total = sum(wanted.values()) or 1.0
    scored = []
    for place, span in enumerate(spans):
        near = said[place - 1] if place else set()
        near = near | (said[place + 1] if place + 1 < len(said) else set())
        covered = sum(
            weight * _credit(term, said[place], heading, near) for term, weight in wanted.items()
        )
        coverage = covered / total
        sentence = span.of(passage.text)
        score = coverage + _fit(question, sentence, span, place) + 0.2 * passage.similarity
        scored.append(Evidence(passage, place, span, score, coverage))
    return scored


def _credit(term: str, own: set[str], heading: set[str], near: set[str]) -> float:
    if term in own:
        return 1.0
    if term in heading:
        return HEADING_CREDIT
    return NEIGHBOUR_CREDIT if term in near else 0.0


def _fit(question: str, sentence: str, span: Span, place: int) -> float:
    """Judge by its form whether a sentence answers this kind of question."""
    words = sentence.split()
    fit = 0.0
    if sentence.rstrip("*_ ").endswith("?") or span.kind == "heading":
        fit -= 0.6
    if len(words) < 4 and span.kind in ("sentence", "item"):
        fit -= 0.3
    if span.kind in ("row", "code", "math"):
        fit -= 0.15
    if _ASKS_WHAT.match(question):
        early = _DEFINES.search(" ".join(words[:14]))
        fit += (0.12 if early else 0.0) + (0.08 if place == 0 else 0.0)
    if _ASKS_WHY.search(question) and _REASON.search(sentence):
        fit += 0.15
    if _ASKS_NUMBER.search(question) and _NUMBER.search(sentence):
        fit += 0.15
    if _ASKS_STEPS.search(question) and (span.kind == "code" or "`" in sentence):
        fit += 0.1
    return fit
