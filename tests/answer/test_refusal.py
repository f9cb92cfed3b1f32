from quire.answer.refusal import MAX_SHOWN, refusal_text
from tests.verify.samples import hit_of


def test_a_refusal_says_what_was_looked_for_and_what_is_nearest() -> None:
    nearest = [hit_of(chapter="The lens", section="Orders"), hit_of(chapter="Fog", section="Fog")]

    assert refusal_text("How heavy\nis it?", nearest) == (
        "The book does not answer this. I searched it for “How heavy is it?”. "
        "The nearest passages are about: The lens › Orders; Fog."
    )


def test_each_place_is_named_once_and_three_at_most() -> None:
    nearest = [hit_of(chapter=name, section=name) for name in "AABCD"]

    assert refusal_text("x", nearest).endswith("about: A; B; C.")


def test_with_nothing_near_it_says_so() -> None:
    assert refusal_text("x", []).endswith("“x” and found nothing near it.")


def test_a_long_question_is_shortened() -> None:
    text = refusal_text("x" * 500, [])

    assert "x" * (MAX_SHOWN - 1) + "…”" in text
    assert "x" * MAX_SHOWN not in text
