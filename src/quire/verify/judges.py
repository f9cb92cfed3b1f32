"""Who decides whether a passage says what a claim says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quire.domain import Verdict, VerdictKind
from quire.prose.plain import inline_plain
from quire.prose.sentences import split_spans
from quire.verify.agreement import core, disagreements, meaning, stands_alone
from quire.verify.quotes import find_quote
from quire.verify.tables import Table, find_table, tables_of

SUPPORTED = 1.0
"""Every word of meaning is in the evidence; one that is not may be the one that was invented."""
PARTLY = 0.6
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\n]*)\n?")
_LANGUAGE = re.compile(r"[A-Za-z+#-]{0,12}")
_UNSUPPORTED = Verdict(kind="unsupported", probability=0.0)

Places = tuple[tuple[int, int, int], ...]


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
        order = [*dict.fromkeys(i for i in cited if 0 <= i < len(passages))]
        order += [i for i in range(len(passages)) if i not in order]
        start = claim.lstrip()
        if start.startswith(("```", "~~~", "$$", "|")):
            places = _literal(start.rstrip(), passages, order)
            kind: VerdictKind = "supported" if places else "unsupported"
            return Verdict(kind=kind, probability=float(bool(places)), evidence=places)
        verbatim = _verbatim(claim, passages, order)
        if verbatim:
            return Verdict(kind="supported", probability=1.0, evidence=verbatim)
        return _compare(claim, passages, order)


def _literal(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    """Find code, a formula or a table, of which no sign may differ."""
    if claim.startswith("|"):
        return _tabled(claim, passages, order)
    words = _listing(claim) if claim[0] in "`~" else claim
    if not words.strip():
        return ()
    for index in order:
        place = find_quote(passages[index], words)
        if place:
            return ((index + 1, *place),)
    return ()


def _listing(claim: str) -> str:
    """Give the lines of a code block; nothing if its first line says more than a language."""
    opening = _FENCE.match(claim)
    if not opening or not _LANGUAGE.fullmatch(opening["language"].strip()):
        return ""
    lines = claim[opening.end() :].split("\n")
    # A block that the answer's end cut off has no closing fence: its last line is code, too.
    closed = set(lines[-1].strip()) == {opening["fence"][0]}
    return "\n".join(lines[:-1] if closed else lines)


def _tabled(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    found = [_find_table(table, claim, passages, order) for table in tables_of(claim)]
    return tuple(place for places in found for place in places) if all(found) else ()


def _find_table(table: Table, claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    for index in order:
        spans = find_table(table, passages[index])
        if spans:
            return tuple((index + 1, span.start, span.end) for span in spans)
    for index in order:
        # A table may be cut between its rows, with its header in another passage.
        places = [find_quote(passages[index], span.of(claim)) for span in table.spans]
        kept = [place for place in places if place]
        if len(kept) == len(places) and len(list(tables_of(passages[index]))) == 1:
            return tuple((index + 1, *place) for place in kept)
    return ()


def _verbatim(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    for index in order:
        place = find_quote(passages[index], claim)
        if place and _stands_alone(passages[index], *place):
            return ((index + 1, *place),)
    return ()


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
    if not matches:
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
