"""Who decides whether a passage says what a claim says."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import exp, log, log1p

from citewell.citations.quotes import find_quote
from citewell.domain import Verdict
from citewell.errors import ModelError
from citewell.ports import EntailmentLogits, EntailmentScorer
from citewell.text.plain_text import detach_from_page, strip_inline_markup
from citewell.text.sentences import Span, split_spans
from citewell.text.terms import terms
from citewell.verify.agreement import (
    comparable_terms,
    find_disagreements,
    holds_out_of_context,
    names_of,
    topic_terms,
)
from citewell.verify.literal import Places, cited_first, is_literal, judge_literal
from citewell.verify.quantities import quantities
from citewell.verify.reversals import is_reversal

SUPPORTED_THRESHOLD = 1.0
"""Every word of meaning is in the evidence; one that is not may be the one that was invented."""
PARTLY_THRESHOLD = 0.6
_UNSUPPORTED = Verdict(kind="unsupported", probability=0.0)


@dataclass(frozen=True, slots=True)
class _Match:
    share: float
    passage: int
    start: int
    end: int
    text: str
    single: bool

    @property
    def place(self) -> Places:
        return ((self.passage + 1, self.start, self.end),)


class LexicalJudge:
    """Supports a claim that stands in a passage word for word, or nearly so with nothing changed.

    What a small change of words can turn into its opposite must agree exactly (`agreement`). Code,
    formulas and tables must be the book's own. A claim it cannot decide is not supported; one whose
    words the book uses to say otherwise is contradicted.
    """

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Check one claim; `cited` are the indices of the passages it names."""
        if is_literal(claim):
            return judge_literal(claim, passages, cited)
        order = cited_first(len(passages), cited)
        verbatim = _verbatim(claim, passages, order)
        if verbatim:
            return Verdict(kind="supported", probability=1.0, evidence=verbatim)
        return _compare(claim, passages, order)


def _verbatim(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    enough = _says_enough(strip_inline_markup(claim))
    for index in order:
        place = find_quote(passages[index], claim) or _find_rendered_quote(claim, passages[index])
        if not place:
            continue
        whole = any((s.start, s.end) == place for s in split_spans(passages[index]))
        if whole or (enough and _stands_alone(passages[index], *place)):
            return ((index + 1, *place),)
    return ()


def _find_rendered_quote(claim: str, passage: str) -> tuple[int, int] | None:
    """Return the offsets of the sentence that reads like the claim away from its page."""
    said = claim.split()
    shown = ((span, detach_from_page(span.of(passage)).split()) for span in split_spans(passage))
    return next(((span.start, span.end) for span, words in shown if words == said), None)


def _says_enough(plain: str) -> bool:
    """Whether words say what they are about: “150 mm.” may be taken from any sentence."""
    return bool(topic_terms(plain)) and len(set(comparable_terms(plain))) > 1


def _stands_alone(passage: str, start: int, end: int) -> bool:
    """Whether the rest of its sentence leaves the quote true."""
    return all(
        holds_out_of_context(passage[span.start : start], passage[end : span.end])
        for span in split_spans(passage)
        if span.kind in ("sentence", "item") and span.start < end and start < span.end
    )


def _compare(claim: str, passages: Sequence[str], order: Sequence[int]) -> Verdict:
    """Compare the claim with the sentences that share most of its words."""
    plain = strip_inline_markup(claim)
    wanted = set(comparable_terms(plain))
    matches = sorted(_matches(wanted, passages, order), key=lambda match: -match.share)
    if not matches or not _says_enough(plain):
        return _UNSUPPORTED
    for match in matches:
        if match.share < SUPPORTED_THRESHOLD:
            break
        if not find_disagreements(claim, match.text):
            return Verdict(kind="supported", probability=1.0, evidence=match.place)
    for match in matches:
        if match.share < PARTLY_THRESHOLD / 2:
            break
        if _contradicts(claim, plain, match):
            return Verdict(kind="contradicted", probability=0.0, evidence=match.place)
    best = matches[0]
    if best.share < PARTLY_THRESHOLD:
        return Verdict(kind="unsupported", probability=round(best.share, 3))
    if find_disagreements(claim, best.text):
        return Verdict(
            kind="unsupported", probability=round(min(best.share, PARTLY_THRESHOLD) / 2, 3)
        )
    return Verdict(kind="partly", probability=round(best.share, 3), evidence=best.place)


def _contradicts(claim: str, plain: str, match: _Match) -> bool:
    """Whether a sentence is about the very same, and says it otherwise."""
    said = topic_terms(plain)
    if not match.single or not said or not said <= topic_terms(strip_inline_markup(match.text)):
        return False
    found = find_disagreements(claim, match.text)
    return any(one.is_conflict for one in found) and not any(
        one.kind in ("name", "link", "condition") for one in found
    )


def _matches(wanted: set[str], passages: Sequence[str], order: Sequence[int]) -> Iterator[_Match]:
    """Yield every sentence, and every two in a row, with the share of the claim's words in it."""
    if not wanted:
        return
    # One sentence before two: in two, a word may belong to the other statement.
    for width in (1, 2):
        for index in order:
            spans = split_spans(passages[index])
            for first, last in zip(spans, spans[width - 1 :], strict=False):
                # Set apart, so that nothing is read across the end of a heading or an item.
                text = " ; ".join(
                    dict.fromkeys((first.of(passages[index]), last.of(passages[index])))
                )
                share = len(wanted & set(comparable_terms(strip_inline_markup(text)))) / len(wanted)
                if share:
                    yield _Match(share, index, first.start, last.end, text, width == 1)


_LITERAL = ("```", "~~~", "$$", "|")


class TrainedJudge:
    """Decides by the strict checks where they are sure, and by weighing where they are not."""

    def __init__(self, model: EntailmentScorer) -> None:
        """Read with `model`."""
        self.id = model.id
        self._model = model
        self._strict = LexicalJudge()
        self._scale = load_judge_calibration(model.id)
        self.threshold = round(1 - self._scale.flagged, 4)

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
        sentences = [strip_inline_markup(span.of(passages[number])) for number, span in places]
        found = select_evidence(claim, sentences)
        if not found.places:
            return strict
        said = self._model.predict_entailment(
            [(strip_inline_markup(claim), shown(sentences, found.places))]
        )[0]
        signs = claim_features(claim, sentences, found.places)
        probability = round(self._scale.probability(signs, support_logit(said)), 4)
        proof = tuple(_place(*places[i]) for i in found.places)
        if strict.kind == "contradicted":
            return Verdict(
                kind="contradicted",
                probability=min(probability, self._scale.partly),
                evidence=strict.evidence,
            )
        if probability >= self._scale.partly and is_reversal(claim, sentences, found.places):
            return self._reject_reversal(probability, said, proof)
        return self._verdict(probability, said, proof)

    def _verdict(self, probability: float, said: EntailmentLogits, found: Places) -> Verdict:
        if probability >= self._scale.supported:
            return Verdict(kind="supported", probability=probability, evidence=found)
        if _contradicts_evidence(said):
            return Verdict(kind="contradicted", probability=probability, evidence=found)
        if probability >= self._scale.partly:
            return Verdict(kind="partly", probability=probability, evidence=found)
        return Verdict(kind="unsupported", probability=probability)

    def _reject_reversal(
        self, probability: float, said: EntailmentLogits, found: Places
    ) -> Verdict:
        """Keep back what uses the book's words to say something else."""
        probability = min(probability, self._scale.supported)
        if _contradicts_evidence(said):
            return Verdict(kind="contradicted", probability=probability, evidence=found)
        return Verdict(kind="unsupported", probability=probability)


def _contradicts_evidence(said: EntailmentLogits) -> bool:
    return said.contradicted > max(said.supported, said.unsupported)


def _place(number: int, span: Span) -> tuple[int, int, int]:
    return (number + 1, span.start, span.end)


CLAIM_FEATURES = ("absent", "apart", "unread", "name", "number")
"""Shares of the claim's words that stand in no sentence, not in the best one, in none of those
read; whether a name or a quantity of it stands nowhere."""


@dataclass(frozen=True, slots=True)
class LogitCalibration:
    """What the model's output is worth."""

    bias: float
    slope: float
    trust: float
    """How far it is believed of books it did not learn from, from 0 to 1."""

    def log_probability(self, logit: float) -> float:
        """Return the logarithm of the chance that the claim is there, read so."""
        return -log1p(exp(-self.trust * (self.bias + self.slope * logit)))


@dataclass(frozen=True, slots=True)
class JudgeCalibration:
    """What was fitted for one model."""

    bias: float
    weights: dict[str, float]
    reading: LogitCalibration
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
        """Return the logarithm of the chance that nothing is missing and it was read so."""
        failed = self.bias + sum(self.weights[name] * sign for name, sign in signs.items())
        return self.reading.log_probability(logit) - failed

    def probability(self, signs: dict[str, float], logit: float) -> float:
        """Return the probability that the sentences support the claim."""
        total = self.level + self.spread * self.likelihood(signs, logit)
        return 1 / (1 + exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=2)
def load_judge_calibration(model: str) -> JudgeCalibration:
    """Read the weights fitted for a model."""
    folder = resources.files("citewell.verify") / "fitted"
    data = json.loads((folder / f"{model.partition('@')[0]}.json").read_text("utf-8"))
    cuts = data["thresholds"]
    return JudgeCalibration(
        bias=data["bias"],
        weights=data["weights"],
        reading=LogitCalibration(**data["reading"]),
        level=data["level"],
        spread=data["spread"],
        supported=cuts["supported"],
        partly=cuts["partly"],
        flagged=cuts["flagged"],
    )


def claim_features(claim: str, sentences: Sequence[str], read: Sequence[int]) -> dict[str, float]:
    """Return what of a claim is missing; `read` are the places of the sentences chosen for it."""
    plain = strip_inline_markup(claim)
    wanted = frozenset(terms(plain))
    held = [wanted.intersection(terms(sentence)) for sentence in sentences]
    signs = dict.fromkeys(CLAIM_FEATURES, 0.0)
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


def support_logit(said: EntailmentLogits) -> float:
    """Return how much more likely the model finds it that the claim is supported than not."""
    high = max(said.contradicted, said.unsupported)
    rest = high + log(exp(said.contradicted - high) + exp(said.unsupported - high))
    return max(-8.0, min(8.0, said.supported - rest)) / 4.0


MAX_SENTENCES = 3
MAX_CHARACTERS = 520
"""Of the chosen sentences together: what the judge reads at once."""
_ENOUGH = 0.08
"""A further sentence must add this share of the claim's weight."""


@dataclass(frozen=True, slots=True)
class EvidenceSelection:
    """The sentences that bear on a claim."""

    places: tuple[int, ...]
    """Where they stand among all sentences, in order."""
    present: float
    """Share of the claim's words that stand in any of the sentences, chosen or not."""


def select_evidence(claim: str, sentences: Sequence[str]) -> EvidenceSelection:
    """Choose the sentences that together cover the claim best.

    Each next one is chosen for what the others leave uncovered, so that a claim joined from two
    places is judged against both.
    """
    held = [frozenset(terms(strip_inline_markup(sentence))) for sentence in sentences]
    known = Counter(term for own in held for term in own)
    left = {
        t: log(1 + len(sentences) / (0.5 + known[t]))
        for t in set(terms(strip_inline_markup(claim)))
    }
    total = sum(left.values())
    present = sum(1 for term in left if known[term]) / len(left) if left else 1.0
    chosen: list[int] = []
    room = MAX_CHARACTERS
    while left and len(chosen) < MAX_SENTENCES:
        gains = {
            place: sum(weight for term, weight in left.items() if term in own)
            / (1 + len(own) / 100)
            for place, own in enumerate(held)
            if place not in chosen and (len(sentences[place]) <= room or not chosen)
        }
        best = max(gains, key=lambda place: (gains[place], -place), default=None)
        if best is None or gains[best] < (_ENOUGH if chosen else 0.01) * total:
            break
        chosen.append(best)
        room -= len(sentences[best])
        left = {term: weight for term, weight in left.items() if term not in held[best]}
    return EvidenceSelection(tuple(sorted(chosen)), present)


def shown(sentences: Sequence[str], chosen: Sequence[int]) -> str:
    """Write the chosen sentences as the judge reads them."""
    text = " ".join(" ".join(strip_inline_markup(sentences[place]).split()) for place in chosen)
    return text[: MAX_CHARACTERS + 80]


AskModel = Callable[[str], Awaitable[str]]
MAX_LLM_SENTENCES = 8
"""Sentences that the model is shown."""
LLM_JUDGE_PROBABILITY = 0.75
"""What its word counts as, in probability: less than what was compared."""


async def second_opinion(claim: str, passages: Sequence[str], ask: AskModel) -> Verdict | None:
    """Return a verdict if the model names a sentence that may say so; nothing if it does not."""
    nearest = _most_similar(strip_inline_markup(claim), passages)
    if not nearest:
        return None
    listed = "\n".join(f"{n}. {text}" for n, (text, _) in enumerate(nearest, start=1))
    try:
        said = await ask(f"Claim: {strip_inline_markup(claim)}\n\nSentences:\n{listed}")
    except ModelError:
        return None
    named = re.fullmatch(r"\[?(\d{1,2})[\].]?", said.strip())
    if not named or not 1 <= int(named[1]) <= len(nearest):
        return None
    text, place = nearest[int(named[1]) - 1]
    # The order of words is what the model was asked about; all else is not its to decide.
    differs = any(one.kind != "arrangement" for one in find_disagreements(claim, text))
    if differs or is_reversal(claim, [text], [0]):
        return None
    return Verdict(kind="supported", probability=LLM_JUDGE_PROBABILITY, evidence=place)


def _most_similar(claim: str, passages: Sequence[str]) -> list[tuple[str, Places]]:
    """Return the sentences that share most words with the claim, and where they stand."""
    wanted = set(terms(claim))
    found = [
        (strip_inline_markup(span.of(passage)), ((number, span.start, span.end),))
        for number, passage in enumerate(passages, start=1)
        for span in split_spans(passage)
        if span.kind in ("sentence", "item")
    ]
    shared = [(len(wanted & set(terms(text))), text, place) for text, place in found]
    best = sorted((one for one in shared if one[0]), key=lambda one: -one[0])
    return [(text, place) for _, text, place in best[:MAX_LLM_SENTENCES]]
