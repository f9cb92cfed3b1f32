import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain import Confidence
from citewell.verify.confidence import confidence_level, score_confidence
from tests.verify.samples import hit_of


def confidence(*scores: float, top_k: int = 5) -> Confidence:
    hits = [hit_of(similarity=score) for score in scores]
    return score_confidence(hits, top_k=top_k, answerability=0.9)


@pytest.mark.parametrize(
    ("average", "count", "level"),
    [
        (0.85, 5, "high"),
        (0.85, 4, "medium"),
        (0.84, 5, "medium"),
        (0.75, 3, "medium"),
        (0.75, 2, "low"),
        (0.74, 5, "low"),
        (0.60, 2, "low"),
        (0.60, 1, "low"),
        (0.59, 5, "insufficient"),
        (0.99, 1, "low"),
        (0.99, 0, "insufficient"),
    ],
)
def test_the_level_follows_from_average_and_count(average: float, count: int, level: str) -> None:
    assert confidence(*[average] * count).level == level


@pytest.mark.parametrize("top_k", [1, 2, 3, 4])
def test_no_more_passages_are_needed_than_were_asked_for(top_k: int) -> None:
    assert confidence(*[0.9] * top_k, top_k=top_k).level == "high"


@pytest.mark.parametrize(("average", "level"), [(0.75, "medium"), (0.60, "low")])
def test_a_single_passage_reaches_every_level(average: float, level: str) -> None:
    assert confidence(average, top_k=1).level == level


def test_more_passages_than_needed_do_not_hurt() -> None:
    # Ten times 0.6, added up and divided by ten, is just below 0.6.
    assert confidence(*[0.6] * 10, top_k=10).level == "low"
    assert confidence(*[0.85] * 7, top_k=10).level == "high"


@pytest.mark.parametrize(("score", "answers"), [(0.9, True), (0.6, True), (0.5, False)])
def test_every_level_but_insufficient_answers(score: float, answers: bool) -> None:
    assert confidence(*[score] * 5).should_answer is answers


def test_nothing_found_is_insufficient() -> None:
    assert confidence() == Confidence(
        average_similarity=0.0,
        min_similarity=0.0,
        max_similarity=0.0,
        num_chunks=0,
        chunk_diversity=0.0,
        level="insufficient",
        should_answer=False,
        answerability=0.9,
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_average_lies_between_the_extremes(scores: list[float]) -> None:
    found = confidence(*scores)

    assert 0 <= found.min_similarity <= found.average_similarity <= found.max_similarity <= 1
    assert found.num_chunks == len(scores)


def test_diversity_is_one_minus_the_mean_cosine_of_the_pairs() -> None:
    vectors = [(1.0, 0.0), (0.0, 1.0), (0.6, 0.8)]
    hits = [hit_of(vector=vector) for vector in vectors]

    found = score_confidence(hits, top_k=5, answerability=0.9)

    assert found.chunk_diversity == pytest.approx(1 - (0.0 + 0.6 + 0.8) / 3)


def test_one_passage_has_no_diversity() -> None:
    assert confidence(0.9).chunk_diversity == 0.0


def test_the_same_passage_twice_has_no_diversity() -> None:
    assert confidence(0.9, 0.9).chunk_diversity == 0.0


def test_diversity_never_exceeds_one() -> None:
    hits = [hit_of(vector=(1.0, 0.0)), hit_of(vector=(-1.0, 0.0))]

    assert score_confidence(hits, top_k=5, answerability=0.9).chunk_diversity == 1.0


@pytest.mark.parametrize(
    ("average", "count", "enough"), [(0.75, 3, True), (0.99, 2, False), (0.74, 5, False)]
)
def test_context_is_sufficient_with_three_passages_of_three_quarters(
    average: float, count: int, enough: bool
) -> None:
    assert confidence(*[average] * count).has_sufficient_context is enough


def test_counts_are_taken_against_what_was_asked_for_and_not_against_what_was_found() -> None:
    assert confidence_level(0.99, 2, top_k=5) == "low"
    assert confidence_level(0.99, 4, top_k=5) == "medium"
    assert confidence_level(0.99, 2, top_k=2) == "high"


@pytest.mark.parametrize(("average", "level"), [(0.99, "low"), (0.59, "insufficient")])
def test_one_relevant_passage_is_enough_for_an_answer_with_a_disclaimer(
    average: float, level: str
) -> None:
    assert confidence_level(average, 1, top_k=5) == level
