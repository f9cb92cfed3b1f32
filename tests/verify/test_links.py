from urllib.parse import unquote

import pytest

from quire.verify.links import sentence_link

PAGE = "https://tiny.example/lens"


def test_a_short_sentence_is_the_fragment() -> None:
    assert sentence_link(PAGE, "A lens turns.") == f"{PAGE}#:~:text=A%20lens%20turns."


def test_an_anchor_is_kept() -> None:
    assert sentence_link(f"{PAGE}#orders", "Turns.") == f"{PAGE}#orders:~:text=Turns."


def test_hyphens_commas_and_ampersands_are_encoded() -> None:
    link = sentence_link(PAGE, "First-order, thin & light.")

    assert link.endswith(":~:text=First%2Dorder%2C%20thin%20%26%20light.")


def test_a_long_sentence_is_given_by_its_first_and_last_words() -> None:
    sentence = (
        "The keeper winds the clockwork every four hours, as a falling weight turns the lens."
    )

    fragment = sentence_link(PAGE, sentence).partition(":~:text=")[2]

    start, end = fragment.split(",")
    assert unquote(start) == "The keeper winds the clockwork"
    assert unquote(end) == "falling weight turns the lens."


def test_a_few_long_words_are_not_cut() -> None:
    words = " ".join(["identifier_of_twenty_letters"] * 4)

    assert unquote(sentence_link(PAGE, words)).endswith(words)


def test_markup_and_line_breaks_are_not_part_of_the_fragment() -> None:
    link = sentence_link(PAGE, "The **thin**\n> [lens](x.md) `turns`.")

    assert unquote(link).endswith(":~:text=The thin lens turns.")


@pytest.mark.parametrize(
    "source",
    ["The length is $f = 920$ mm.", "```\nwind\n```", "~~~\nwind\n~~~", "| first | 920 mm |", ""],
)
def test_what_is_rendered_with_other_characters_falls_back_to_the_page(source: str) -> None:
    assert sentence_link(PAGE, source) == PAGE
