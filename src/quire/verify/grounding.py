"""Each piece of an answer against the passages: verdict, proof, and the text that may be shown."""

from collections.abc import Callable, Sequence

from quire.domain import Chunk, Citation, Claim, Hit, Verdict
from quire.ports import Judge
from quire.verify.claims import Piece

Link = Callable[[Chunk, int, int], str]
"""Gives the address of the words that stand in a chunk from one place to another."""


def check_piece(piece: Piece, hits: Sequence[Hit], judge: Judge, link: Link) -> tuple[Claim, str]:
    """Judge one piece; give its claim, and its text with the marks that are proven.

    A wrong mark is replaced, a missing one added, one that points nowhere is struck.
    """
    if not piece.is_claim:
        verdict = Verdict(kind="not_a_claim", probability=1.0)
        return _claim(piece, verdict, ()), piece.lead + piece.text
    passages = [hit.chunk.text for hit in hits]
    verdict = judge.judge(piece.text, passages, [number - 1 for number in piece.marks])
    citations = tuple(
        _cite(hits[number - 1], number, (start, end), link)
        for number, start, end in verdict.evidence
    )
    numbers = dict.fromkeys(citation.number for citation in citations)
    marks = "".join(f"[{number}]" for number in numbers)
    glue = "\n\n" if piece.kind in ("code", "row", "math") else " "
    return _claim(piece, verdict, citations), piece.lead + piece.text + (
        glue + marks if marks else ""
    )


def _cite(hit: Hit, number: int, place: tuple[int, int], link: Link) -> Citation:
    chunk = hit.chunk
    start, end = place
    return Citation(
        number=number,
        chunk_id=chunk.id,
        chapter=chunk.chapter,
        section=chunk.section,
        quote=chunk.text[start:end],
        start=start,
        end=end,
        url=link(chunk, start, end),
    )


def _claim(piece: Piece, verdict: Verdict, citations: tuple[Citation, ...]) -> Claim:
    return Claim(
        text=piece.text,
        start=0,
        end=0,
        verdict=verdict.kind,
        probability=verdict.probability,
        citations=citations,
    )
