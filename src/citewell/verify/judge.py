"""Judges decide whether the passages support a claim."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from math import exp, log, log1p

from citewell.citations.quotes import find_quote
from citewell.domain import Verdict, VerdictKind
from citewell.ports import EntailmentLogits, EntailmentScorer
from citewell.text.plain_text import detach_from_page, strip_inline_markup
from citewell.text.sentences import split_spans
from citewell.text.terms import terms
from citewell.verify.agreement import (
    comparable_terms,
    find_disagreements,
    holds_out_of_context,
    names_of,
    topic_terms,
)
from citewell.verify.literal import EvidenceSpans, cited_first, is_literal, judge_literal
from citewell.verify.quantities import quantities
from citewell.verify.reversals import is_reversal

SUPPORTED_OVERLAP = 1.0
"""All content terms must be in the evidence, since a missing one may be invented."""
PARTLY_OVERLAP = 0.6
_UNSUPPORTED = Verdict(kind="unsupported", probability=0.0)


@dataclass(frozen=True, slots=True)
class _Match:
    """One or two sentences of a passage that share terms with the claim."""

    overlap: float
    passage: int
    start: int
    end: int
    text: str
    is_single_sentence: bool

    @property
    def evidence(self) -> EvidenceSpans:
        return ((self.passage + 1, self.start, self.end),)


class LexicalJudge:
    """Supports claims that a passage contains verbatim, or with the same terms.

    Negations, numbers, names, conditions and the like must agree exactly (`agreement`). Code,
    formulas and tables must be copied. Undecided claims count as unsupported.
    """

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Judge a claim; `cited` are the indices of the passages that it cites."""
        if is_literal(claim):
            return judge_literal(claim, passages, cited)
        order = cited_first(len(passages), cited)
        verbatim = _find_verbatim(claim, passages, order)
        if verbatim:
            return Verdict(kind="supported", probability=1.0, evidence=verbatim)
        return _compare(claim, passages, order)


def _find_verbatim(claim: str, passages: Sequence[str], order: Sequence[int]) -> EvidenceSpans:
    specific = _is_specific(strip_inline_markup(claim))
    for index in order:
        passage = passages[index]
        offsets = find_quote(passage, claim) or _find_rendered_quote(claim, passage)
        if not offsets:
            continue
        whole_sentence = any((s.start, s.end) == offsets for s in split_spans(passage))
        if whole_sentence or (specific and _holds_alone(passage, *offsets)):
            return ((index + 1, *offsets),)
    return ()


def _find_rendered_quote(claim: str, passage: str) -> tuple[int, int] | None:
    """Return the offsets of the sentence that equals the claim when rendered without its page."""
    claim_words = claim.split()
    return next(
        (
            (span.start, span.end)
            for span in split_spans(passage)
            if detach_from_page(span.of(passage)).split() == claim_words
        ),
        None,
    )


def _is_specific(plain: str) -> bool:
    """Return whether a text names a topic; “150 mm.” could be from any sentence."""
    return bool(topic_terms(plain)) and len(set(comparable_terms(plain))) > 1


def _holds_alone(passage: str, start: int, end: int) -> bool:
    """Return whether a part of a sentence is true without the rest."""
    return all(
        holds_out_of_context(passage[span.start : start], passage[end : span.end])
        for span in split_spans(passage)
        if span.kind in ("sentence", "item") and span.start < end and start < span.end
    )


def _compare(claim: str, passages: Sequence[str], order: Sequence[int]) -> Verdict:
    """Compare the claim with the sentences that share its terms."""
    plain = strip_inline_markup(claim)
    claim_terms = set(comparable_terms(plain))
    matches = sorted(_matches(claim_terms, passages, order), key=lambda match: -match.overlap)
    if not matches or not _is_specific(plain):
        return _UNSUPPORTED
    for match in matches:
        if match.overlap < SUPPORTED_OVERLAP:
            break
        if not find_disagreements(claim, match.text):
            return Verdict(kind="supported", probability=1.0, evidence=match.evidence)
    for match in matches:
        if match.overlap < PARTLY_OVERLAP / 2:
            break
        if _contradicts(claim, plain, match):
            return Verdict(kind="contradicted", probability=0.0, evidence=match.evidence)
    best = matches[0]
    if best.overlap < PARTLY_OVERLAP:
        return Verdict(kind="unsupported", probability=round(best.overlap, 3))
    if find_disagreements(claim, best.text):
        return Verdict(
            kind="unsupported", probability=round(min(best.overlap, PARTLY_OVERLAP) / 2, 3)
        )
    return Verdict(kind="partly", probability=round(best.overlap, 3), evidence=best.evidence)


def _contradicts(claim: str, plain: str, match: _Match) -> bool:
    """Return whether a sentence covers the topic of the claim, and conflicts with it."""
    topic = topic_terms(plain)
    match_topic = topic_terms(strip_inline_markup(match.text))
    if not match.is_single_sentence or not topic or not topic <= match_topic:
        return False
    disagreements = find_disagreements(claim, match.text)
    return any(one.is_conflict for one in disagreements) and not any(
        one.kind in ("name", "link", "condition") for one in disagreements
    )


def _matches(
    claim_terms: set[str], passages: Sequence[str], order: Sequence[int]
) -> Iterator[_Match]:
    """Yield all sentences and pairs of adjacent sentences that share terms with the claim."""
    if not claim_terms:
        return
    # Single sentences first: in a pair, terms may belong to different statements.
    for width in (1, 2):
        for index in order:
            spans = split_spans(passages[index])
            for first, last in zip(spans, spans[width - 1 :], strict=False):
                # Separated, so that no comparison crosses the end of a heading or list item.
                text = " ; ".join(
                    dict.fromkeys((first.of(passages[index]), last.of(passages[index])))
                )
                common = claim_terms & set(comparable_terms(strip_inline_markup(text)))
                if common:
                    overlap = len(common) / len(claim_terms)
                    yield _Match(overlap, index, first.start, last.end, text, width == 1)


class TrainedJudge:
    """Combines the lexical judge with a calibrated entailment model."""

    def __init__(self, model: EntailmentScorer) -> None:
        """Score entailment with `model`."""
        self.id = model.id
        self._model = model
        self._lexical = LexicalJudge()
        self._calibration = load_judge_calibration(model.id)
        self.threshold = round(1 - self._calibration.flagged, 4)

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Judge a claim; `cited` are the indices of the passages that it cites."""
        lexical = self._lexical.judge(claim, passages, cited)
        if lexical.kind == "supported" or is_literal(claim):
            return lexical
        spans = [
            (number, span)
            for number, passage in enumerate(passages)
            for span in split_spans(passage)
            if span.kind != "heading"
        ]
        sentences = [strip_inline_markup(span.of(passages[number])) for number, span in spans]
        selected = select_evidence(claim, sentences).indices
        if not selected:
            return lexical
        (logits,) = self._model.predict_entailment(
            [(strip_inline_markup(claim), join_evidence(sentences, selected))]
        )
        features = claim_features(claim, sentences, selected)
        probability = round(self._calibration.probability(features, support_logit(logits)), 4)
        evidence = tuple((spans[i][0] + 1, spans[i][1].start, spans[i][1].end) for i in selected)
        if lexical.kind == "contradicted":
            probability = min(probability, self._calibration.partly)
            return replace(lexical, probability=probability)
        is_reversed = probability >= self._calibration.partly and is_reversal(
            claim, sentences, selected
        )
        kind: VerdictKind = "unsupported"
        if probability >= self._calibration.supported and not is_reversed:
            kind = "supported"
        elif logits.contradicted > max(logits.supported, logits.unsupported):
            kind = "contradicted"
        elif probability >= self._calibration.partly and not is_reversed:
            kind = "partly"
        if is_reversed:
            probability = min(probability, self._calibration.supported)
        if kind == "unsupported":
            evidence = ()
        return Verdict(kind=kind, probability=probability, evidence=evidence)


CLAIM_FEATURES = ("absent", "apart", "unread", "name", "number")
"""Shares of the claim's terms that are missing in all sentences, in the best one, and in the
selected ones; whether a name or a quantity is missing."""


@dataclass(frozen=True, slots=True)
class LogitCalibration:
    """Maps the model's logit to a probability."""

    bias: float
    slope: float
    trust: float
    """Shrinks the logit, from 0 to 1, for books unlike the training data."""

    def log_probability(self, logit: float) -> float:
        """Return the log-probability that the claim is supported."""
        return -log1p(exp(-self.trust * (self.bias + self.slope * logit)))


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """The parameters fitted for an entailment model."""

    bias: float
    weights: dict[str, float]
    reading: LogitCalibration
    level: float
    spread: float
    """Bias and slope of the final probability, for a balanced set of claims."""
    supported: float
    """Minimum probability of a supported claim."""
    partly: float
    flagged: float
    """Threshold for a binary decision."""

    def probability(self, features: dict[str, float], logit: float) -> float:
        """Return the probability that the evidence supports the claim."""
        penalty = self.bias + sum(self.weights[name] * value for name, value in features.items())
        log_likelihood = self.reading.log_probability(logit) - penalty
        total = self.level + self.spread * log_likelihood
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=2)
def load_judge_calibration(model: str) -> JudgeCalibration:
    """Load the calibration of an entailment model."""
    folder = resources.files("citewell.verify") / "fitted"
    data = json.loads((folder / f"{model.partition('@')[0]}.json").read_text("utf-8"))
    thresholds = data["thresholds"]
    return JudgeCalibration(
        bias=data["bias"],
        weights=data["weights"],
        reading=LogitCalibration(**data["reading"]),
        level=data["level"],
        spread=data["spread"],
        supported=thresholds["supported"],
        partly=thresholds["partly"],
        flagged=thresholds["flagged"],
    )


def claim_features(
    claim: str, sentences: Sequence[str], selected: Sequence[int]
) -> dict[str, float]:
    """Return features of what the sentences lack; `selected` are indices of the evidence."""
    plain = strip_inline_markup(claim)
    claim_terms = frozenset(terms(plain))
    common = [claim_terms.intersection(terms(sentence)) for sentence in sentences]
    features = dict.fromkeys(CLAIM_FEATURES, 0.0)
    if claim_terms:
        total = len(claim_terms)
        features["absent"] = 1 - len(frozenset().union(*common)) / total
        features["apart"] = 1 - max(map(len, common), default=0) / total
        features["unread"] = 1 - len(frozenset().union(*(common[i] for i in selected))) / total
    text = " ".join(sentences).lower()
    features["name"] = float(any(name.lower() not in text for name in names_of(claim)))
    claimed = {quantity.key for quantity in quantities(plain)}
    if claimed:
        known = {quantity.key for sentence in sentences for quantity in quantities(sentence)}
        features["number"] = float(not claimed <= known)
    return features


def support_logit(logits: EntailmentLogits) -> float:
    """Return the scaled log-odds of support against all else."""
    high = max(logits.contradicted, logits.unsupported)
    # The log-sum-exp of the other two logits.
    rest = high + log(exp(logits.contradicted - high) + exp(logits.unsupported - high))
    return max(-8.0, min(8.0, logits.supported - rest)) / 4.0


MAX_EVIDENCE_SENTENCES = 3
MAX_EVIDENCE_CHARS = 520
"""Together, as much as the model reads at once."""
_MIN_GAIN, _MIN_FIRST_GAIN = 0.08, 0.01
"""Share of the claim's weight that a further sentence, and the first one, must add."""


@dataclass(frozen=True, slots=True)
class EvidenceSelection:
    """The sentences selected as evidence."""

    indices: tuple[int, ...]
    """Indices among all sentences, in order."""
    coverage: float
    """Share of the claim's terms in any of the sentences, selected or not."""


def select_evidence(claim: str, sentences: Sequence[str]) -> EvidenceSelection:
    """Greedily select the sentences that together cover the claim best.

    Each is selected for the terms that the others do not cover, so that a claim combined from two
    sentences is judged against both.
    """
    sentence_terms = [frozenset(terms(strip_inline_markup(sentence))) for sentence in sentences]
    frequency = Counter(term for one in sentence_terms for term in one)
    uncovered = {
        t: log(1 + len(sentences) / (0.5 + frequency[t]))
        for t in set(terms(strip_inline_markup(claim)))
    }
    total = sum(uncovered.values())
    known = sum(1 for term in uncovered if frequency[term])
    coverage = known / len(uncovered) if uncovered else 1.0
    selected: list[int] = []
    budget = MAX_EVIDENCE_CHARS
    while uncovered and len(selected) < MAX_EVIDENCE_SENTENCES:
        gains = {
            i: sum(weight for term, weight in uncovered.items() if term in one)
            / (1 + len(one) / 100)
            for i, one in enumerate(sentence_terms)
            if i not in selected and (len(sentences[i]) <= budget or not selected)
        }
        best = max(gains, key=lambda i: (gains[i], -i), default=None)
        if best is None or gains[best] < (_MIN_GAIN if selected else _MIN_FIRST_GAIN) * total:
            break
        selected.append(best)
        budget -= len(sentences[best])
        uncovered = {t: weight for t, weight in uncovered.items() if t not in sentence_terms[best]}
    return EvidenceSelection(tuple(sorted(selected)), coverage)


def join_evidence(sentences: Sequence[str], selected: Sequence[int]) -> str:
    """Return the selected sentences as input for the entailment model."""
    text = " ".join(" ".join(strip_inline_markup(sentences[i]).split()) for i in selected)
    return text[: MAX_EVIDENCE_CHARS + 80]
