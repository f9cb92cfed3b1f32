"""Which of those that score alike are kept, and in which order, does not depend on the engine."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.index.bm25 import MAX_LIMIT, Scored, top_k

SCORES = st.lists(st.sampled_from([0.25, 0.5, 0.75, 3.0]), min_size=1, max_size=200)


def engine(found: list[Scored], noise: Random) -> "list[Scored]":
    """Order as an engine does: by score, ties by chance, the last digit not to be trusted."""
    noise.shuffle(found)
    shaken = [(one, score * (1 + noise.choice((-2, 0, 2)) * 1e-7)) for one, score in found]
    return sorted(shaken, key=lambda pair: -pair[1])


@given(SCORES, st.integers(1, 50), st.integers())
def test_two_engines_give_the_same_best(scores: list[float], depth: int, seed: int) -> None:
    found = [(f"id-{place:03}", score) for place, score in enumerate(scores)]
    expected = sorted(found, key=lambda pair: (-pair[1], pair[0]))[:depth]
    ranked = engine(found, Random(seed))

    (given_,) = top_k(lambda limit: [ranked[:limit]], depth)

    assert [one for one, _ in given_] == [one for one, _ in expected]
    assert [s for _, s in given_] == pytest.approx([s for _, s in expected], rel=1e-6)
    assert [s for _, s in given_] == sorted((s for _, s in given_), reverse=True)


def test_an_engine_is_not_asked_for_ever_where_all_score_the_same() -> None:
    asked: list[int] = []

    def ask(limit: int) -> list[list[Scored]]:
        asked.append(limit)
        return [[(f"{place:09}", 1.0) for place in range(limit)]]

    (found,) = top_k(ask, 5)

    assert len(found) == 5
    assert asked[-2] < MAX_LIMIT <= asked[-1]


def test_lists_are_settled_each_for_itself() -> None:
    dense, words = top_k(lambda _: [[("a", 0.9), ("b", 0.8)], []], 1)

    assert (dense, words) == ([("a", 0.9)], [])
