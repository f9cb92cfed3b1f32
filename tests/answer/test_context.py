"""What an answer may rest on; the context is packed by value, not by order."""

from dataclasses import replace

from citewell.answer.context import apply_answerability_gate, apply_target_risk, fit_to_budget
from citewell.domain import Hit, Question
from citewell.retrieve.calibration import Calibration, LogisticModel, Risk
from citewell.retrieve.search import SearchResult
from tests.verify.samples import hit_of


def hit(rank: int, tokens: int, similarity: float = 0.9) -> Hit:
    made = hit_of("Text.", identity=str(rank), token_count=tokens)
    return replace(made, rank=rank, similarity=similarity)


def ranks(hits: list[Hit]) -> list[int]:
    return [one.rank for one in hits]


def test_a_long_passage_gives_way_to_several_that_say_more_together() -> None:
    hits = [hit(1, 200), hit(2, 800), hit(3, 300), hit(4, 300), hit(5, 200)]

    assert ranks(fit_to_budget(hits, 1_000)) == [1, 3, 4, 5]
    assert ranks(fit_to_budget(hits, 1_800)) == [1, 2, 3, 4, 5]


def test_a_long_passage_that_is_worth_more_is_kept() -> None:
    hits = [hit(1, 200), hit(2, 800), hit(9, 400, 0.2), hit(10, 400, 0.2)]

    assert ranks(fit_to_budget(hits, 1_000)) == [1, 2]


def test_the_best_passage_is_shown_however_long_it_is() -> None:
    assert ranks(fit_to_budget([hit(1, 5_000), hit(2, 10)], 1_000)) == [1]


def test_what_was_shown_before_takes_its_room() -> None:
    shown = [hit(1, 600)]

    assert ranks(
        fit_to_budget([hit(1, 600), hit(2, 500), hit(3, 300)], 1_000, already_shown=shown)
    ) == [3]
    assert fit_to_budget([hit(2, 500)], 1_000, already_shown=shown) == []


def test_the_threshold_filters_passages_one_by_one() -> None:
    found = SearchResult((hit(1, 10), hit(2, 10, 0.8), hit(3, 10, 0.2)), 0.9)

    used, confidence = apply_answerability_gate(found, Question(text="x"))

    assert ranks(used) == [1, 2]
    assert (confidence.num_chunks, confidence.min_similarity) == (2, 0.8)


def test_answerability_alone_decides_whether_relevant_passages_are_answered_from() -> None:
    relevant = (hit(1, 10), hit(2, 10), hit(3, 10))

    for threshold in (0.0, 0.7):
        asked = Question(text="x", threshold=threshold)
        used, confidence = apply_answerability_gate(SearchResult(relevant, 0.69), asked)
        assert used == []
        assert (confidence.num_chunks, confidence.should_answer) == (0, False)
        assert confidence.answerability == 0.69

    assert len(apply_answerability_gate(SearchResult(relevant, 0.7), Question(text="x"))[0]) == 3


def test_one_relevant_passage_of_many_is_answered_from_with_low_confidence() -> None:
    found = SearchResult((hit(1, 10), hit(2, 10, 0.1)), 0.99)

    used, confidence = apply_answerability_gate(found, Question(text="x"))

    assert [one.rank for one in used] == [1]
    assert confidence.level == "low"


def test_a_target_risk_raises_the_gate_and_leaves_the_threshold() -> None:
    risks = (Risk(0.5, 0.2, 0.9), Risk(0.9, 0.04, 0.5))
    calibration = Calibration(LogisticModel(0.0, {}), risks=risks)

    strict = apply_target_risk(Question(text="x"), calibration, 0.05)

    assert (strict.min_answerability, strict.threshold) == (0.9, 0.7)
    assert apply_target_risk(Question(text="x"), calibration, 0.5).min_answerability == 0.7
