"""The sentence of the book that bears most on a claim, to be quoted in its place."""

from collections.abc import Sequence
from dataclasses import replace

from citewell.citations.quotes import render_quote
from citewell.domain import Hit
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import Kind, split_spans
from citewell.text.terms import TermStatistics, terms
from citewell.verify.claims import Piece, QuotedSpan
from citewell.verify.context import is_anaphoric
from citewell.verify.literal import cited_first

MIN_COVERAGE = 0.5
"""Share of the claim's terms, by rarity, that the sentence must contain."""
UNCITED_MARGIN = 0.15
"""Share by which a sentence of a passage that the claim does not cite must be better."""


def bearing_sentence(
    claim: str, hits: Sequence[Hit], cited: Sequence[int], statistics: TermStatistics
) -> tuple[int, int, int] | None:
    """Return the passage number, start and end of the sentence that says most of the claim.

    Sentences that refer to the one before are left out, since they say little alone.
    """
    wanted = terms(strip_inline_markup(claim))
    best, best_score = None, MIN_COVERAGE
    for index in cited_first(len(hits), cited):
        text = hits[index].chunk.text
        for span in split_spans(text):
            if span.kind not in ("sentence", "item") or is_anaphoric(span.of(text)):
                continue
            score = statistics.coverage(wanted, terms(strip_inline_markup(span.of(text))))
            score -= UNCITED_MARGIN * (index not in cited)
            if score > best_score:
                best, best_score = (index + 1, span.start, span.end), score
    return best


def quote_piece(piece: Piece, hit: Hit, found: tuple[int, int, int]) -> Piece:
    """Return a piece that quotes a sentence of the book in the place of another piece."""
    number, start, end = found
    kind: Kind = "item" if piece.kind == "item" else "sentence"
    return replace(
        piece,
        text=render_quote(hit.chunk.text, start, end, kind),
        cited=(number,),
        kind=kind,
        quoted_spans=(QuotedSpan(number, start, end),),
    )
