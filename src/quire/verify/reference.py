"""Sentences that lean on the one before: “It then …” must be about the same as in the book."""

import re

from quire.domain import Chunk, Claim
from quire.prose.plain import inline_plain
from quire.prose.sentences import Span, split_spans
from quire.prose.terms import terms

_LEANING = re.compile(
    r"(?:it|its|they|them|their|this|these|that|those|he|she|his|her|such|then|there|the (?:former"
    r"|latter|same)|both|either|neither|one|another|afterwards|instead|otherwise)\b(?!['’])",
    re.I,
)
_EXPLETIVE = re.compile(
    r"(?:it(?: is|'s|’s) (?:\w+ly )?(?:also )?(?:important|possible|necessary|worth|best|common"
    r"|easy|hard|useful|wise|good|better)\b|there (?:is|are|was|were)\b"
    r"|this (?:book|chapter|section)\b)",
    re.I,
)
SHARED = 0.5
"""How much of the sentence before must be spoken of where the book's own sentence leans."""


def leans_back(text: str) -> bool:
    """Whether a sentence needs the one before it to be understood."""
    plain = inline_plain(text)
    return bool(_LEANING.match(plain)) and not _EXPLETIVE.match(plain)


def refers_alike(claim: Claim, before: Claim, chunks: dict[str, Chunk]) -> bool:
    """Whether a leaning claim refers, in the answer, to what its evidence refers to in the book.

    The book's sentence leans, too: on the nearest one before it that does not. The claim before
    must rest on one of these, or speak of the same things.
    """
    return any(
        _rests_on(before, citation.chunk_id, chain, chunks[citation.chunk_id].text)
        for citation in claim.citations
        for chain in [_chain(chunks[citation.chunk_id].text, citation.start, citation.end)]
    )


def _rests_on(before: Claim, chunk_id: str, chain: list[Span], text: str) -> bool:
    for citation in before.citations:
        if citation.chunk_id == chunk_id and any(
            span.start < citation.end and citation.start < span.end for span in chain
        ):
            return True
    mine = set(terms(inline_plain(before.text)))
    theirs = {term for span in chain for term in terms(inline_plain(span.of(text)))}
    return bool(mine) and len(mine & theirs) >= SHARED * len(mine)


def _chain(text: str, start: int, end: int) -> list[Span]:
    """Give the sentences from the one that the quote leans on to the quote."""
    spans = split_spans(text)
    quoted = [place for place, span in enumerate(spans) if span.start < end and start < span.end]
    first = quoted[0] if quoted else 0
    while first > 0 and leans_back(spans[first].of(text)):
        first -= 1
    return list(spans[first : quoted[-1] + 1]) if quoted else []
