"""Who decides whether a passage says what a claim says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quire.domain import Verdict
from quire.prose.plain import inline_plain, unreferenced
from quire.prose.sentences import split_spans
from quire.verify.agreement import core, disagreements, meaning, stands_alone
from quire.verify.literal import Places, cited_first, is_literal, judge_literal
from quire.verify.quotes import find_quote

SUPPORTED = 1.0
"""Every word of meaning is in the evidence; one that is not may be the one that was invented."""
PARTLY = 0.6
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
    enough = _says_enough(inline_plain(claim))
    for index in order:
        place = find_quote(passages[index], claim) or _as_shown(claim, passages[index])
        if not place:
            continue
        whole = any((s.start, s.end) == place for s in split_spans(passages[index]))
        if whole or (enough and _stands_alone(passages[index], *place)):
            return ((index + 1, *place),)
    return ()


def _as_shown(claim: str, passage: str) -> tuple[int, int] | None:
    """Return the offsets of the sentence that reads like the claim away from its page."""
    said = claim.split()
    shown = ((span, unreferenced(span.of(passage)).split()) for span in split_spans(passage))
    return next(((span.start, span.end) for span, words in shown if words == said), None)


def _says_enough(plain: str) -> bool:
    """Whether words say what they are about: “150 mm.” may be taken from any sentence."""
    return bool(core(plain)) and len(set(meaning(plain))) > 1


def _stands_alone(passage: str, start: int, end: int) -> bool:
    """Whether the rest of its sentence leaves the quote true."""
    return all(
        stands_alone(passage[span.start : start], passage[end : span.end])
        for span in split_spans(passage)
        if span.kind in ("sentence", "item") and span.start < end and start < span.end
    )


def _compare(claim: str, passages: Sequence[str], order: Sequence[int]) -> Verdict:
    """Compare the claim with the sentences that share most of its words."""
    plain = inline_plain(claim)
    wanted = set(meaning(plain))
    matches = sorted(_matches(wanted, passages, order), key=lambda match: -match.share)
    if not matches or not _says_enough(plain):
        return _UNSUPPORTED
    for match in matches:
        if match.share < SUPPORTED:
            break
        if not disagreements(claim, match.text):
            return Verdict(kind="supported", probability=1.0, evidence=match.place)
    for match in matches:
        if match.share < PARTLY / 2:
            break
        if _contradicts(claim, plain, match):
            return Verdict(kind="contradicted", probability=0.0, evidence=match.place)
    best = matches[0]
    if best.share < PARTLY:
        return Verdict(kind="unsupported", probability=round(best.share, 3))
    if disagreements(claim, best.text):
        return Verdict(kind="unsupported", probability=round(min(best.share, PARTLY) / 2, 3))
    return Verdict(kind="partly", probability=round(best.share, 3), evidence=best.place)


def _contradicts(claim: str, plain: str, match: _Match) -> bool:
    """Whether a sentence is about the very same, and says it otherwise."""
    said = core(plain)
    if not match.single or not said or not said <= core(inline_plain(match.text)):
        return False
    found = disagreements(claim, match.text)
    return any(one.is_conflict for one in found) and not any(
        one.kind in ("name", "link", "condition") for one in found
    )


def _matches(wanted: set[str], passages: Sequence[str], order: Sequence[int]) -> Iterator[_Match]:
    """Give every sentence, and every two in a row, with the share of the claim's words in it."""
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
                share = len(wanted & set(meaning(inline_plain(text)))) / len(wanted)
                if share:
                    yield _Match(share, index, first.start, last.end, text, width == 1)
