"""The answer without a language model: the blocks of the passages that hold what answers."""

import re
from collections.abc import Sequence, Set
from dataclasses import replace

from quire.answer.instructions import NOT_IN_BOOK
from quire.answer.quoting import quote_blocks
from quire.prose.plain import inline_plain
from quire.prose.terms import terms
from quire.retrieve.evidence import UNREAD, Evidence
from quire.verify.claims import Piece
from quire.verify.orders import is_order

MAX_SENTENCES = 4
_ALSO = 3.0
"""A further sentence may be this much less fitting than the best one."""
_NEAR = 4.0
"""The same, for a sentence next to the best one."""
_SAME = 0.6
"""Sentences that share more of their terms than this say the same."""


_ASKS_HOW = re.compile(
    r"\bhow (?:do|does|can|could|would|should|must) (?:i|you|we|one)\b|\bhow to\b|\bshow me\b"
    r"|\b(?:commands?|shell|terminal|syntax|code|snippet|listing|script|examples?)\b",
    re.I,
)
_LISTED = 0.5
"""Code that has this share of the question's words shows what was asked for."""
_BEGINNING = 600
"""Characters of a passage that are quoted where it is asked about as a whole."""
_LONGEST_CODE = 40
"""Lines of code beyond which an answer would be nothing else."""


def compose_answer(question: str, ranked: Sequence[Evidence]) -> list[Piece]:
    """Return the pieces of an answer: the blocks that hold what answers, the best passage first."""
    chosen = _choose(ranked)
    chosen += _shown(question, chosen, ranked) if chosen else []
    return _quoted(chosen, set(terms(question)))


def quote_beginning(ranked: Sequence[Evidence]) -> list[Piece]:
    """Return how a passage begins; a short one as a whole."""
    said = sorted((one for one in ranked if not is_order(one.text)), key=lambda one: one.place)
    parts: list[Evidence] = []
    for one in said:
        if parts and sum(len(part.text) for part in parts) + len(one.text) > _BEGINNING:
            break
        parts.append(one)
    return _quoted(parts)


def _quoted(chosen: Sequence[Evidence], asked: Set[str] = frozenset()) -> list[Piece]:
    pieces: list[Piece] = []
    for passage in dict.fromkeys(one.passage for one in chosen):
        wanted = [one.span for one in chosen if one.passage is passage]
        pieces += quote_blocks(passage, wanted, asked)
    if not any(piece.quoted for piece in pieces):
        return [Piece("", NOT_IN_BOOK, (), "sentence", ours=True)]
    return [replace(pieces[0], lead=pieces[0].lead.lstrip("\n")), *pieces[1:]]


def _choose(ranked: Sequence[Evidence]) -> list[Evidence]:
    # Looked at one by one: most sentences are never wanted, and need not be told from orders.
    fitting = (one for one in ranked if one.score > UNREAD and not is_order(one.text))
    best = next(fitting, None)
    if best is None:
        return []
    chosen = [best]
    untold = [one for one in ranked if one is not best and not one.told]
    if best.told and untold and untold[0].score > UNREAD:
        # The best is known to who asks: what comes next to it may be what they want to know.
        return [best, *_choose(untold)][:MAX_SENTENCES]
    for evidence in fitting:
        near = evidence.passage is best.passage and abs(evidence.place - best.place) == 1
        if len(chosen) == MAX_SENTENCES or evidence.score < max(best.score - _NEAR, UNREAD + 1):
            break
        if evidence.score < best.score - _ALSO and not near:
            continue
        own = _terms(evidence)
        if not any(_alike(own, _terms(other)) for other in chosen):
            chosen.append(evidence)
    return chosen


def _shown(question: str, chosen: Sequence[Evidence], ranked: Sequence[Evidence]) -> list[Evidence]:
    """Give the code that shows how, if that is asked: the reader of sentences passes it over."""
    if not _ASKS_HOW.search(question) or any(e.span.kind == "code" for e in chosen):
        return []
    listings = [
        e
        for e in ranked
        if e.span.kind == "code"
        and e.coverage >= _LISTED
        and e.text.count("\n") <= _LONGEST_CODE
        and not is_order(e.text)
    ]
    return sorted(listings, key=lambda e: (-e.coverage, e.passage.number, e.place))[:1]


def _terms(evidence: Evidence) -> set[str]:
    return set(terms(inline_plain(evidence.text)))


def _alike(ours: set[str], theirs: set[str]) -> bool:
    return len(ours & theirs) > _SAME * min(len(ours), len(theirs)) if ours and theirs else False
