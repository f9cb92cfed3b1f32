"""What is shown does nothing but say something: no link leads away, and no order is passed on."""

from collections.abc import Sequence
from dataclasses import replace

from quire.domain import Claim, Hit
from quire.prose.inert import inert
from quire.verify.claims import Piece
from quire.verify.orders import is_order, rests_on_order


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


def refused(claim: Claim) -> Claim:
    """Give such a claim as one that the book does not support: it states nothing that it could."""
    return replace(claim, verdict="unsupported", probability=0.0, citations=())
