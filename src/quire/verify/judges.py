"""Who decides whether a passage says what a claim says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quire.domain import Verdict, VerdictKind
from quire.prose.plain import inline_plain
from quire.prose.sentences import split_spans
from quire.prose.terms import terms
from quire.verify.quotes import find_quote

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:\s?(?:%|[a-zA-Zµ°Ω]{1,3}(?:/[a-z]+)?)\b)?")
_CODE = re.compile(r"`([^`]+)`|\b\w+(?:[_/]\w+)+\b")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|cannot|without|unable|fails? to|lacks?|instead of)\b"
    r"|n['’]t\b",
    re.I,
)
_ORDER = re.compile(
    r"\b(?:more|less|fewer|greater|smaller|higher|lower|larger|faster|slower|before|after|increases?"
    r"|decreases?|raises?|reduces?|above|below|always|only|all|every|must|first|last|maximum|minimum)\b",
    re.I,
)
SUPPORTED = 0.85
PARTLY = 0.6


@dataclass(frozen=True, slots=True)
class _Match:
    share: float
    passage: int
    start: int
    end: int


class LexicalJudge:
    """Supports a claim that stands in a passage word for word, or nearly so with nothing changed.

    What a small change of words can turn into its opposite must agree exactly: numbers with their
    units, names of code, negations, and words of order and degree. A claim it cannot decide is not
    supported.
    """

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Check one claim; `cited` are the indices of the passages it names."""
        order = [*dict.fromkeys(i for i in cited if 0 <= i < len(passages))]
        order += [i for i in range(len(passages)) if i not in order]
        verbatim = _verbatim(claim, passages, order)
        if verbatim:
            return Verdict(kind="supported", probability=1.0, evidence=verbatim)
        best = _closest(claim, passages, order)
        if best is None:
            return Verdict(kind="unsupported", probability=0.0)
        share = best.share
        if share >= PARTLY and not _agrees(claim, passages[best.passage][best.start : best.end]):
            share = min(share, PARTLY) / 2
        kind: VerdictKind = "unsupported"
        if share >= SUPPORTED:
            kind = "supported"
        elif share >= PARTLY:
            kind = "partly"
        proof = ((best.passage + 1, best.start, best.end),) if kind != "unsupported" else ()
        return Verdict(kind=kind, probability=round(share, 3), evidence=proof)


def _verbatim(
    claim: str, passages: Sequence[str], order: Sequence[int]
) -> tuple[tuple[int, int, int], ...]:
    lines = _stated_lines(claim)
    for index in order:
        places = [find_quote(passages[index], line) for line in lines]
        if places and all(places):
            return tuple((index + 1, *place) for place in places if place)
    return ()


def _stated_lines(claim: str) -> list[str]:
    """Give what must be found: each row of a table by itself, anything else as a whole."""
    if claim.lstrip().startswith("|"):
        rows = [span.of(claim) for span in split_spans(claim) if span.kind == "row"]
        return rows or [claim]
    if claim.lstrip().startswith(("```", "~~~")):
        return ["\n".join(claim.strip().split("\n")[1:-1])]
    return [claim]


def _closest(claim: str, passages: Sequence[str], order: Sequence[int]) -> _Match | None:
    """Find the sentence, or two in a row, that share most of the claim's words."""
    wanted = set(terms(inline_plain(claim)))
    if not wanted:
        return None
    best: _Match | None = None
    for index in order:
        spans = split_spans(passages[index])
        for first in range(len(spans)):
            for last in range(first, min(first + 2, len(spans))):
                start, end = spans[first].start, spans[last].end
                said = set(terms(inline_plain(passages[index][start:end])))
                share = len(wanted & said) / len(wanted)
                if best is None or share > best.share + 1e-9:
                    best = _Match(share, index, start, end)
    return best


def _agrees(claim: str, evidence: str) -> bool:
    ours, theirs = inline_plain(claim), inline_plain(evidence)
    numbers = {n.replace(" ", "") for n in _NUMBER.findall(ours)}
    if not numbers <= {n.replace(" ", "") for n in _NUMBER.findall(theirs)}:
        return False
    if bool(_NEGATION.search(ours)) != bool(_NEGATION.search(theirs)):
        return False
    if not _names(claim) <= {*_names(evidence), *theirs.split()}:
        return False
    return {w.lower() for w in _ORDER.findall(ours)} <= {w.lower() for w in _ORDER.findall(theirs)}


def _names(text: str) -> set[str]:
    return {(m[1] or m[0]).strip() for m in _CODE.finditer(text)}
