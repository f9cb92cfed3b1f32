from quire.answer.refusal import MAX_SHOWN, refusal_text
from tests.verify.samples import hit_of


def test_a_refusal_says_what_was_looked_for_and_what_the_nearest_passages_say() -> None:
    nearest = [
        hit_of("A **big** lens is wide. It is heavy.", chapter="The lens", section="Orders"),
        hit_of("```\nhorn --loud\n```", chapter="Fog", section="Fog"),
    ]

    assert refusal_text("How heavy\nis it?", nearest) == (
        "The book does not answer this. I searched it for “How heavy is it?”. "
        "The nearest passages are about:\n\n"
        "- The lens › Orders: “A big lens is wide.”\n"
        "- Fog"
    )


def test_each_place_is_named_once_and_three_at_most() -> None:
    nearest = [hit_of(chapter=name, section=name) for name in "AABCD"]

    places = [line[2] for line in refusal_text("x", nearest).splitlines()[2:]]

    assert places == ["A", "B", "C"]


def test_with_nothing_near_it_says_so() -> None:
    assert refusal_text("x", []).endswith("“x” and found nothing near it.")


def test_a_long_question_is_shortened() -> None:
    text = refusal_text("x" * 500, [])

    assert "x" * (MAX_SHOWN - 1) + "…”" in text
    assert "x" * MAX_SHOWN not in text


def test_a_long_opening_is_shortened() -> None:
    line = refusal_text("x", [hit_of("word " * 100 + ".")]).splitlines()[-1]

    assert line.endswith("…”")
    assert len(line) < 2 * MAX_SHOWN
