import pytest

from evals.metrics import Counts, best_f1, count, interval, overlap, quantile, span_f1

FLAGGED = [True, True, True, False, False, False, False, False]
WRONG = [True, True, False, True, False, False, False, False]
"""Two found, one false alarm, one missed, four rightly passed."""


def test_decisions_are_counted_against_labels() -> None:
    assert count(FLAGGED, WRONG) == Counts(hits=2, false_alarms=1, misses=1, passes=4)


def test_the_figures_of_a_table_of_four() -> None:
    counts = count(FLAGGED, WRONG)

    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(2 / 3)
    assert counts.f1 == pytest.approx(2 / 3)
    assert counts.macro_f1 == pytest.approx((2 / 3 + 8 / 10) / 2)
    assert counts.balanced_accuracy == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_nothing_flagged_and_nothing_wrong_divides_by_nothing() -> None:
    counts = count([], [])

    assert (counts.precision, counts.recall, counts.f1, counts.balanced_accuracy) == (0, 0, 0, 0)


def test_the_best_threshold_flags_all_of_equal_score_or_none() -> None:
    # At 0.8: one of one found, F1 2/3; at 0.5: two of two and one false alarm, F1 4/5.
    assert best_f1([0.8, 0.5, 0.5, 0.1], [True, True, False, False]) == (0.5, pytest.approx(0.8))


def test_the_best_threshold_of_nothing_wrong_flags_nothing() -> None:
    assert best_f1([0.8, 0.5], [False, False]) == (1.0, 0.0)


def test_spans_are_compared_by_characters_whatever_their_number() -> None:
    found, gold = [(0, 10), (5, 12)], [(8, 20)]

    assert overlap(found, gold) == (4, 12, 12)
    assert span_f1([overlap(found, gold), overlap([], [(0, 4)])]) == pytest.approx(8 / 28)


def test_an_interval_holds_the_figure_and_is_the_same_every_time() -> None:
    values = [0.0, 1.0] * 50

    def mean(places: object) -> float:
        return sum(values[p] for p in places) / len(values)  # type: ignore[attr-defined]

    first, again = interval(100, mean), interval(100, mean)

    assert first is not None
    assert first == again
    assert 0.35 < first[0] < 0.5 < first[1] < 0.65


def test_there_is_no_interval_of_a_figure_that_never_exists() -> None:
    assert interval(3, lambda _: None) is None
    assert interval(0, lambda _: 1.0) is None


def test_quantiles_are_values_that_occurred() -> None:
    assert [quantile([3, 1, 2, 4], share) for share in (0, 0.5, 0.95, 1)] == [1, 3, 4, 4]
    assert quantile([], 0.5) == 0
