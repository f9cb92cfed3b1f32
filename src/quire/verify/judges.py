"""Who decides whether a passage says what a claim says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quire.domain import Verdict, VerdictKind
from quire.prose.plain import inline_plain
from quire.prose.sentences import split_spans
from quire.prose.terms import terms
from quire.verify.quotes import find_quote

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:\s?(?:%|[a-zA-Zµ°Ω]{1,3}(?:/[a-z]+)?\b))?")
_CODE = re.compile(r"`([^`]+)`|\b\w+(?:[_/]\w+)+\b")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|cannot|without|unable|fails? to|lacks?|instead of)\b"
    r"|n['’]t\b",
    re.I,
)
_ORDER = re.compile(
    r"\b(?:more|less|fewer|greater|smaller|higher|lower|larger|faster|slower|before|after|increases?"
    r"|decreases?|raises?|reduces?|above|below|always|only|all|every|must|first|last|maximum|minimum"
    r"|than|most|least|off|up|down|one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand"
    r"|half|twice|once)\b",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|except|only|off|false|wrong|myth|assum\w+|suppos\w+)\b", re.I
)
"""Words that change what the rest of their sentence says; with or without them is not the same."""
SUPPORTED = 1.0
"""Every word of meaning is in the evidence; one that is not may be the one that was invented."""
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
        if places and all(place and _stands_alone(passages[index], *place) for place in places):
            return tuple((index + 1, *place) for place in places if place)
    return ()


def _stands_alone(passage: str, start: int, end: int) -> bool:
    """Whether the rest of the sentence leaves the quote true: “it is false that …” does not."""
    around = (
        passage[span.start : start] + " " + passage[end : span.end]
        for span in split_spans(passage)
        if span.kind in ("sentence", "item") and span.start < end and start < span.end
    )
    return not any(_NEGATION.search(words) or _CONDITION.search(words) for words in around)


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
    # One sentence before two: in two, a word may belong to the other statement.
    for width in (1, 2):
        for index in order:
            spans = split_spans(passages[index])
            for first, last in zip(spans, spans[width - 1 :], strict=False):
                start, end = first.start, last.end
                said = set(terms(inline_plain(passages[index][start:end])))
                share = len(wanted & said) / len(wanted)
                if best is None or share > best.share + 1e-9:
                    best = _Match(share, index, start, end)
    return best


def _agrees(claim: str, evidence: str) -> bool:
    ours, theirs = inline_plain(claim), inline_plain(evidence)
    if _negated(ours) != _negated(theirs):
        return False
    if _found(_CONDITION, ours.lower()) != _found(_CONDITION, theirs.lower()):
        return False
    numbers, names, order = _found(_NUMBER, ours), _names(claim), _found(_ORDER, ours.lower())
    return (
        numbers <= _found(_NUMBER, theirs)
        and names <= {*_names(evidence), *theirs.split()}
        and order <= _found(_ORDER, theirs.lower())
        and (not (numbers or names or order) or _same_order(ours, theirs))
    )


def _found(pattern: re.Pattern[str], text: str) -> set[str]:
    return {match[0].replace(" ", "") for match in pattern.finditer(text)}


def _names(text: str) -> set[str]:
    return {(m[1] or m[0]).strip() for m in _CODE.finditer(text)}


def _negated(text: str) -> set[tuple[str, ...]]:
    """Give the word that each negation is about."""
    return {terms(text[negation.end() :])[:1] for negation in _NEGATION.finditer(text)}


def _same_order(ours: str, theirs: str) -> bool:
    """Whether the claim's words stand in the evidence in the same order, past no other number."""
    said = terms(theirs)
    wanted = [term for term in terms(ours) if term in said]
    for start in (place for place, term in enumerate(said) if term in wanted[:1]):
        left = iter(enumerate(said[start:], start=start))
        places = [next((p for p, term in left if term == word), None) for word in wanted]
        if places[-1] is not None:
            passed = said[start : places[-1] + 1]
            if all(term in wanted for term in passed if any(c.isdigit() for c in term)):
                return True
    return False
