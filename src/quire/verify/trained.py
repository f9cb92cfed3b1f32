"""The judge that reads: the strict checks, and where they do not decide, a fitted probability.

What stands in the book nearly word for word is decided by the strict checks alone. A claim in other
words is read by a small trained model beside the sentences that bear on it, and weighed with what
of it is nowhere to be found (`weighing`). However likely it seems, a claim that turns round what
the book says (`reversals`) is not shown.
"""

from collections.abc import Sequence

from quire.domain import Verdict
from quire.ports import Entailed, Entailment
from quire.prose.plain import inline_plain
from quire.prose.sentences import Span, split_spans
from quire.verify.judges import LexicalJudge
from quire.verify.literal import Places
from quire.verify.reversals import is_turned_round
from quire.verify.support import bearing, shown
from quire.verify.weighing import load_scale, logit_of, signs_of

_LITERAL = ("```", "~~~", "$$", "|")


class TrainedJudge:
    """Decides by the strict checks where they are sure, and by weighing where they are not."""

    def __init__(self, model: Entailment) -> None:
        """Read with `model`."""
        self.id = model.id
        self._model = model
        self._strict = LexicalJudge()
        self._scale = load_scale(model.id)
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
        sentences = [inline_plain(span.of(passages[number])) for number, span in places]
        found = bearing(claim, sentences)
        if not found.places:
            return strict
        said = self._model.entails([(inline_plain(claim), shown(sentences, found.places))])[0]
        signs = signs_of(claim, sentences, found.places)
        probability = round(self._scale.probability(signs, logit_of(said)), 4)
        proof = tuple(_place(*places[i]) for i in found.places)
        if strict.kind == "contradicted":
            return Verdict(
                kind="contradicted",
                probability=min(probability, self._scale.partly),
                evidence=strict.evidence,
            )
        if probability >= self._scale.partly and is_turned_round(claim, sentences, found.places):
            return self._turned(probability, said, proof)
        return self._verdict(probability, said, proof)

    def _verdict(self, probability: float, said: Entailed, found: Places) -> Verdict:
        if probability >= self._scale.supported:
            return Verdict(kind="supported", probability=probability, evidence=found)
        if _denies(said):
            return Verdict(kind="contradicted", probability=probability, evidence=found)
        if probability >= self._scale.partly:
            return Verdict(kind="partly", probability=probability, evidence=found)
        return Verdict(kind="unsupported", probability=probability)

    def _turned(self, probability: float, said: Entailed, found: Places) -> Verdict:
        """Keep back what uses the book's words to say something else."""
        probability = min(probability, self._scale.supported)
        if _denies(said):
            return Verdict(kind="contradicted", probability=probability, evidence=found)
        return Verdict(kind="unsupported", probability=probability)


def _denies(said: Entailed) -> bool:
    return said.contradicted > max(said.supported, said.unsupported)


def _place(number: int, span: Span) -> tuple[int, int, int]:
    return (number + 1, span.start, span.end)
