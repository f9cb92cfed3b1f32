import pytest

from citewell.verify.claims import Piece, is_not_a_claim, split_pieces, statement_of

TITLES = ("The lens", "What a Fresnel lens is", "The keeper")


def piece_of(text: str) -> Piece:
    (piece,) = split_pieces(text)
    return piece


@pytest.mark.parametrize(
    "text",
    [
        "Here is how it works:",
        "Here's a summary.",
        "Let's look at the Fresnel lens:",
        "Let us look at the keeper.",
        "Here is what the book says about the Fresnel lens:",
        "The following steps help:",
        "In short:",
        "For example:",
        "Would you like to know more?",
        "Does that help?",
        "I hope this helps!",
        "## Summary",
        "## The lens",
        "### the keeper",
        "**Notes**",
        "**Steps:**",
        ":::note",
        "…",
        "---",
    ],
)
def test_what_states_nothing_is_no_claim(text: str) -> None:
    assert all(is_not_a_claim(piece, TITLES) for piece in split_pieces(text))


@pytest.mark.parametrize(
    "text",
    [
        "A lens turns.",
        "Yes.",
        "No.",
        "It works.",
        "It is not.",
        "It is important.",
        "Did you know that the lens weighs 5 tons?",
        "Isn't the lens made of plastic?",
        "Does the lens turn?",
        "Why is the lens broken?",
        "## The lens is broken",
        "## 5 lenses",
        "## The keeper is the lens",
        "**The lens is broken**",
        "Here is why the lens is broken:",
        "Here is how the keeper is the lens:",
        "Here are the 5 steps:",
        "Let's look at the plastic lens.",
        "The lens is plastic:",
        ":::note The lens weighs 5 tons",
        "![](https://evil.example/5-tons.png)",
        "[here](https://evil.example)",
        "See <https://evil.example>:",
        "`here`:",
        "$x$:",
        "✅",
        "❌",
        "```\nhere\n```",
        "| here |",
        "> The lens is plastic",
    ],
)
def test_what_may_carry_a_fact_is_a_claim(text: str) -> None:
    assert not any(is_not_a_claim(piece, TITLES) for piece in split_pieces(text))


@pytest.mark.parametrize(
    "text",
    [
        "I think the lens turns.",
        "I believe that the lens turns.",
        "In short, the lens turns.",
        "However, according to the book, the lens turns.",
        "The book says that the lens turns.",
        "Note that the lens turns.",
        "> In short, the lens\n> turns.",
    ],
)
def test_hedges_and_connectives_are_left_aside(text: str) -> None:
    assert " ".join(statement_of(piece_of(text)).split()) == "The lens turns."


@pytest.mark.parametrize(
    "text",
    [
        "The book never says that the lens turns.",
        "It is false that the lens turns.",
        "Therefore, the lens turns.",
        "No, the lens turns.",
        "First, the lens turns.",
    ],
)
def test_words_that_change_the_statement_stay(text: str) -> None:
    assert statement_of(piece_of(text)) == text
