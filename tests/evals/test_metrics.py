import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals import metrics


def test_a_hit_counts_only_within_the_first_k() -> None:
    assert metrics.hit_at(["a", "b", "c"], {"c"}, 3) == 1
    assert metrics.hit_at(["a", "b", "c"], {"c"}, 2) == 0


def test_recall_is_the_share_of_what_is_right() -> None:
    assert metrics.recall_at(["a", "x", "b"], {"a", "b", "c"}, 10) == pytest.approx(2 / 3)
    assert metrics.recall_at(["a"], set(), 10) == 0


def test_reciprocal_rank_looks_at_the_first_right_one() -> None:
    assert metrics.reciprocal_rank(["x", "a", "b"], {"a", "b"}) == 0.5
    assert metrics.reciprocal_rank(["x"] * 10 + ["a"], {"a"}) == 0


def test_ndcg_is_one_when_everything_right_comes_first() -> None:
    assert metrics.ndcg_at(["a", "b", "x"], {"a", "b"}) == 1
    assert metrics.ndcg_at(["x", "a"], {"a"}) == pytest.approx(0.6309, abs=1e-4)
    assert metrics.ndcg_at(["x"], set()) == 0


def test_auroc_counts_ties_as_half() -> None:
    assert metrics.auroc([0.1, 0.9], [False, True]) == 1
    assert metrics.auroc([0.9, 0.1], [False, True]) == 0
    assert metrics.auroc([0.5, 0.5, 0.5], [False, True, True]) == 0.5
    assert metrics.auroc([0.5, 0.6], [True, True]) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=30))
def test_auroc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[float, bool]]) -> None:
    positive = [s for s, label in rows if label]
    negative = [s for s, label in rows if not label]
    found = metrics.auroc([s for s, _ in rows], [label for _, label in rows])
    if not positive or not negative:
        assert found is None
        return
    won = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    assert found == pytest.approx(won / len(positive) / len(negative))


def test_calibration_error_is_the_distance_of_said_and_seen() -> None:
    assert metrics.calibration_error([1.0, 1.0, 0.0], [True, True, False]) == 0
    assert metrics.calibration_error([0.9] * 10, [True] * 6 + [False] * 4) == pytest.approx(0.3)
    assert metrics.calibration_error([], []) == 0


def test_the_surest_are_answered_first() -> None:
    curve = metrics.risk_coverage([0.2, 0.9, 0.8, 0.1], [False, True, True, False])

    assert curve == [(0.25, 0), (0.5, 0), (0.75, 1 / 3), (1, 0.5)]
    assert metrics.answered_at_risk([0.2, 0.9, 0.8, 0.1], [False, True, True, False]) == 0.5
    assert metrics.answered_at_risk([0.9], [False]) == 0


def test_equal_scores_are_answered_together() -> None:
    curve = metrics.risk_coverage([0.9, 0.5, 0.5, 0.5], [True, True, False, False])

    assert curve == [(0.25, 0), (1, 0.5)]


def test_risk_is_read_where_at_least_that_share_is_answered() -> None:
    curve = metrics.risk_coverage([0.9, 0.8, 0.2, 0.1], [True, True, False, False])

    assert [metrics.risk_at(curve, share) for share in (0.1, 0.5, 0.6, 1)] == [0, 0, 1 / 3, 0.5]
    assert metrics.risk_at([], 0.5) == 0
