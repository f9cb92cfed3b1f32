"""Each piece of an answer against the passages: verdict, proof, and the text that may be shown."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from quire.domain import PROVEN, Chunk, Citation, Claim, Hit, Verdict
from quire.ports import Judge
from quire.prose.inert import masked
from quire.verify.claims import Piece
from quire.verify.frames import statement_of, states_nothing
from quire.verify.literal import judge_literal
from quire.verify.reference import leans_back, refers_alike

Link = Callable[[Chunk, int, int], str]
"""Gives the address of the words that stand in a chunk from one place to another."""


def check_piece(
    piece: Piece, hits: Sequence[Hit], judge: Judge, link: Link, before: Claim | None = None
) -> tuple[Claim, str]:
    """Judge one piece; give its claim, and its text with the marks that are proven.

    A wrong mark is replaced, a missing one added, one that points nowhere is struck. `before` is
    the claim shown last, which a piece that leans back refers to.
    """
    titles = {title for hit in hits for title in (hit.chunk.chapter, *hit.chunk.path)}
    if states_nothing(piece, titles):
        verdict = Verdict(kind="not_a_claim", probability=1.0)
        return _claim(piece, verdict, ()), piece.lead + piece.text
    claim = _judged(piece, hits, judge, link)
    if claim.verdict in PROVEN and before and leans_back(piece.text):
        claim = _about_the_same(claim, before, piece, hits, judge, link)
    return claim, piece.lead + piece.text + _marks(piece, claim)


def _about_the_same(
    claim: Claim, before: Claim, piece: Piece, hits: Sequence[Hit], judge: Judge, link: Link
) -> Claim:
    """Keep a leaning claim only on evidence that is about what the claim before it is about."""
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    # The same words may stand in several passages: where the last ones stood is looked at next.
    near = tuple(citation.number for citation in before.citations)
    again = replace(piece, marks=near + piece.marks)
    for found in (claim, _judged(again, hits, judge, link)):
        if found.verdict in PROVEN and refers_alike(found, before, chunks):
            return found
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _judged(piece: Piece, hits: Sequence[Hit], judge: Judge, link: Link) -> Claim:
    """Judge the words as they are and, if they do not stand so, without what frames them."""
    # What can only be copied is compared as it stands; words have to be there for all to see.
    shown = str if piece.is_block else masked
    passages = [shown(hit.chunk.text) for hit in hits]
    cited = [number - 1 for number in piece.marks]
    stated = statement_of(piece)
    # What can only be copied is compared, whoever judges the rest.
    decide = judge_literal if piece.is_block else judge.judge
    verdict = decide(piece.text, passages, cited)
    if stated != piece.text and verdict.kind != "supported" and stated.strip():
        verdict = decide(stated, passages, cited)
    citations = tuple(
        _cite(hits[number - 1], number, (start, end), link)
        for number, start, end in verdict.evidence
    )
    return _claim(piece, verdict, citations)


def _marks(piece: Piece, claim: Claim) -> str:
    """Write the marks of what proves a claim; what speaks against it is no proof."""
    if claim.verdict not in PROVEN or not claim.citations:
        return ""
    numbers = dict.fromkeys(citation.number for citation in claim.citations)
    glue = "\n\n" if piece.is_block else " "
    return glue + "".join(f"[{number}]" for number in numbers)


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
