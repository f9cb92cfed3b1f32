"""Each piece of an answer against the passages: verdict, proof, and the text that may be shown."""

from collections.abc import Sequence

from quire.domain import Citation, Claim, Hit, Verdict
from quire.ports import Judge
from quire.verify.claims import Piece
from quire.verify.links import sentence_link


def check_piece(piece: Piece, hits: Sequence[Hit], judge: Judge) -> tuple[Claim, str]:
    """Judge one piece; give its claim, and its text with the marks that are proven.

    A wrong mark is replaced, a missing one added, one that points nowhere is struck.
    """
    if not piece.is_claim:
        verdict = Verdict(kind="not_a_claim", probability=1.0)
        return _claim(piece, verdict, ()), piece.lead + piece.text
    passages = [hit.chunk.text for hit in hits]
    verdict = judge.judge(piece.text, passages, [number - 1 for number in piece.marks])
    # Code and math are rendered with other characters than their source: no link can find them.
    exact = piece.kind in ("sentence", "item", "heading")
    citations = tuple(
        _cite(hits[number - 1], number, (start, end), exact=exact)
        for number, start, end in verdict.evidence
    )
    numbers = dict.fromkeys(citation.number for citation in citations)
    marks = "".join(f"[{number}]" for number in numbers)
    glue = "\n\n" if piece.kind in ("code", "row", "math") else " "
    return _claim(piece, verdict, citations), piece.lead + piece.text + (
        glue + marks if marks else ""
    )


def _cite(hit: Hit, number: int, place: tuple[int, int], *, exact: bool) -> Citation:
    chunk = hit.chunk
    start, end = place
    words = chunk.text[start:end]
    return Citation(
        number=number,
        chunk_id=chunk.id,
        chapter=chunk.chapter,
        section=chunk.section,
        quote=words,
        start=start,
        end=end,
        url=sentence_link(chunk.url, words) if exact else chunk.url,
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
