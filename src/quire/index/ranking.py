"""The same list from every engine: who is cut off, and who comes first, is not left to chance."""

from collections.abc import Callable, Sequence

Scored = tuple[str, float]

NOISE = 1e-6
"""Scores this close, as a share of their size, are equal: engines add up in different orders."""
SPARE = 24
"""How many more are asked for than are wanted, to see where those end that score the same."""
MOST = 4096
"""Where more than so many score the same, the engine may choose among them."""


def best(ask: Callable[[int], Sequence[Sequence[Scored]]], depth: int) -> list[list[Scored]]:
    """Give the best `depth` of each list, those of equal score by id.

    `ask` gives every list up to a number, best first. It is asked for more until the last of those
    that score like the last one wanted are seen.
    """
    limit = depth + SPARE
    while True:
        lists = ask(limit)
        if limit >= MOST or all(_is_settled(one, depth, limit) for one in lists):
            return [_in_order(one)[:depth] for one in lists]
        limit *= 4


def _is_settled(found: Sequence[Scored], depth: int, limit: int) -> bool:
    return len(found) < limit or not _alike(found[depth - 1][1], found[-1][1])


def _in_order(found: Sequence[Scored]) -> list[Scored]:
    groups: list[list[Scored]] = []
    for one in found:
        if groups and _alike(groups[-1][-1][1], one[1]):
            groups[-1].append(one)
        else:
            groups.append([one])
    # Equal means equal: all of a group have the score of its first.
    return [(identity, group[0][1]) for group in groups for identity, _ in sorted(group)]


def _alike(higher: float, lower: float) -> bool:
    return higher - lower <= NOISE * max(abs(higher), abs(lower))
