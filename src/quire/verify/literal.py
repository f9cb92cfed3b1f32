"""Code, formulas and tables: what an answer may only copy from the book, sign by sign."""

from collections.abc import Sequence

from quire.domain import Verdict
from quire.prose.quoting import code_lines, fence_info
from quire.prose.sentences import split_spans
from quire.verify.quotes import find_quote
from quire.verify.tables import Table, find_table, tables_of

Places = tuple[tuple[int, int, int], ...]
"""(passage number, start, end) of each quote."""


def is_literal(claim: str) -> bool:
    """Whether a claim is a code block, a block formula or a table."""
    return claim.lstrip().startswith(("```", "~~~", "$$", "|"))


def judge_literal(claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
    """Support code, a formula or a table that a passage has; there is nothing to weigh."""
    places = _find(claim.strip(), passages, cited_first(len(passages), cited))
    if not places:
        return Verdict(kind="unsupported", probability=0.0)
    return Verdict(kind="supported", probability=1.0, evidence=places)


def cited_first(count: int, cited: Sequence[int]) -> list[int]:
    """Give the indices of the passages, those that a claim names before the others."""
    order = [*dict.fromkeys(index for index in cited if 0 <= index < count)]
    return order + [index for index in range(count) if index not in order]


def listing_info(passage: str, place: int) -> str:
    """Return the language and title of the fenced listing that a place of a passage stands in."""
    for span in split_spans(passage):
        if span.kind == "code" and span.start <= place < span.end:
            opening = span.of(passage).split("\n", 1)[0]
            return fence_info(opening.lstrip("`~"))
    return ""


def _find(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    if claim.startswith("|"):
        return _tabled(claim, passages, order)
    words = code_lines(claim) if claim[0] in "`~" else claim
    if not words.strip():
        return ()
    for index in order:
        place = find_quote(passages[index], words)
        if place:
            return ((index + 1, *place),)
    return ()


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
