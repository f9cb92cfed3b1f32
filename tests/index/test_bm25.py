import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.index.bm25 import K1, B, SparseWeights, passage_weights, query_weights

WORDS = st.lists(st.sampled_from(["lens", "lamp", "horn", "tower", "fog"]), max_size=40)


def weight_of(term: str, text: str, average: float) -> float:
    weights = passage_weights(text, average)
    return dict(zip(weights.indices, weights.values, strict=True))[query_weights(term).indices[0]]


def test_a_weight_is_what_bm25_says() -> None:
    length, average = 3, 2.0
    norm = K1 * (1 - B + B * length / average)

    assert weight_of("lens", "lens lens lamp", average) == pytest.approx(2 * (K1 + 1) / (2 + norm))
    assert weight_of("lamp", "lens lens lamp", average) == pytest.approx((K1 + 1) / (1 + norm))


def test_questions_and_passages_meet_in_the_same_places() -> None:
    passage = passage_weights("The keeper winds the clockwork.", 5)

    assert set(query_weights("winding clockworks").indices) <= set(passage.indices)
    assert not set(query_weights("submarine").indices) & set(passage.indices)


def test_each_term_of_a_question_counts_once() -> None:
    assert query_weights("lens lens lamp").values == [1.0, 1.0]


def test_text_without_terms_has_no_weights() -> None:
    assert query_weights("what is the") == passage_weights("", 5) == SparseWeights([], [])


@given(WORDS, st.floats(0, 50))
def test_weights_are_positive_and_bounded_and_their_places_distinct(
    words: list[str], average: float
) -> None:
    weights = passage_weights(" ".join(words), average)

    assert len(set(weights.indices)) == len(weights.indices) == len(set(words))
    assert all(0 < value < K1 + 1 for value in weights.values)


@given(st.integers(1, 20), st.integers(0, 20))
def test_a_term_counts_more_when_repeated_and_less_in_a_longer_passage(
    times: int, others: int
) -> None:
    text = "lens " * times + "lamp " * others

    assert weight_of("lens", f"{text} lens", 10) > weight_of("lens", f"{text} lamp", 10)
    assert weight_of("lens", f"{text} lamp", 10) < weight_of("lens", text, 10)
