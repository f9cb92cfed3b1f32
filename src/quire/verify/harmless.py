"""What is shown does nothing but say something: no link leads away, and no order is passed on."""

from collections.abc import Sequence
from dataclasses import replace

from quire.domain import Chunk, Claim, Hit
from quire.prose.inert import inert
from quire.prose.plain import inline_plain
from quire.prose.sentences import Span, split_spans
from quire.prose.terms import terms
from quire.verify.claims import Piece
from quire.verify.orders import is_order, rests_on_order
from quire.verify.reference import leans_back


def without_links(piece: Piece) -> Piece:
    """Give a piece in which nothing leads anywhere; the links of an answer are its citations."""
    if piece.kind in ("code", "math"):
        return piece
    return replace(piece, text=inert(piece.text))


def obeys(claim: Claim, hits: Sequence[Hit]) -> bool:
    """Tell whether a claim is an order to the one who answers, or rests on one."""
    chunks = {hit.chunk.id: hit.chunk.text for hit in hits}
    return is_order(claim.text) or any(
        rests_on_order(chunks[one.chunk_id], one.start, one.end)
        for one in claim.citations
        if one.chunk_id in chunks
    )


def is_beside_the_point(claim: Claim, hits: Sequence[Hit], question: str) -> bool:
    """Tell whether all that proves a claim stands apart from what the passage is about.

    A sentence that was put into a page for whoever reads it aloud has no word in common with the
    question, the headings it stands under, or a sentence beside it that has.
    """
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    places = [(chunks[c.chunk_id], c.start, c.end) for c in claim.citations if c.chunk_id in chunks]
    return bool(places) and not any(_belongs(*place, question) for place in places)


def _belongs(chunk: Chunk, start: int, end: int, question: str) -> bool:
    headings = chunk.heading if chunk.source_file else ""  # a selection has none of its own
    about = set(terms(f"{question} {headings}"))
    spans = split_spans(chunk.text)
    within = [n for n, span in enumerate(spans) if span.start < end and start < span.end]
    if not within or any(spans[n].kind != "sentence" for n in within):
        return True
    text = inline_plain(chunk.text[start:end])
    own = set(terms(text))
    if not own or own & about:
        return True
    near = {n: set(terms(inline_plain(spans[n].of(chunk.text)))) for n in _beside(within, spans)}
    if text.endswith(":"):
        own |= near.get(within[-1] + 1, set())  # what it announces is what it is about
        if own & about:
            return True
    before = near.get(within[0] - 1, set())
    return any(said & about and said & own for said in near.values()) or bool(
        before & about and leans_back(text)
    )


def _beside(within: Sequence[int], spans: Sequence[Span]) -> list[int]:
    return [n for n in (within[0] - 1, within[-1] + 1) if 0 <= n < len(spans)]


def refused(claim: Claim) -> Claim:
    """Give such a claim as one that the book does not support: it states nothing that it could."""
    return replace(claim, verdict="unsupported", probability=0.0, citations=())
