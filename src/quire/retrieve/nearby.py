"""The chapter that a reader has open, as a hint: it decides between what is close anyway."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from quire.domain import Hit
from quire.retrieve.evidence import UNREAD, Evidence

LEAD = 1.0
"""By so much of the reader's score what stands elsewhere must be better to stay ahead: a third of
what parts the sentences of one answer."""
T = TypeVar("T")


def here_first(
    found: Sequence[T], is_here: Callable[[T], bool], score: Callable[[T], float]
) -> list[T]:
    """Let what is here pass those before it that are elsewhere and not clearly better.

    What was not read closely stays where it is: nobody knows how good it is.
    """
    order: list[T] = []
    for one in found:
        place = len(order)
        if is_here(one) and score(one) > UNREAD:
            while place and _gives_way(order[place - 1], one, is_here, score):
                place -= 1
        order.insert(place, one)
    return order


def _gives_way(
    before: T, one: T, is_here: Callable[[T], bool], score: Callable[[T], float]
) -> bool:
    return not is_here(before) and score(before) - score(one) <= LEAD


def prefer_chapter(
    hits: Sequence[Hit], evidence: Sequence[Evidence], chapter: str
) -> tuple[Hit, ...]:
    """Mark the hits of the chapter, and order those that are close; all of them stay.

    The evidence numbers its passages as the hits are ranked.
    """
    if not chapter:
        return tuple(hits)
    best: dict[int, float] = {}
    for one in evidence:
        best[one.passage.number] = max(one.score, best.get(one.passage.number, UNREAD))
    marked = [replace(hit, here=hit.chunk.chapter == chapter) for hit in hits]
    ordered = here_first(marked, lambda hit: hit.here, lambda hit: best.get(hit.rank, UNREAD))
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1))
