from evals.readers import beginning, share_shown
from evals.styles import WrittenPiece, versions

FACTS = (("4 bytes", "four bytes"), ("`char`",))


def test_a_fact_is_shown_if_one_of_its_alternatives_stands_in_the_text() -> None:
    assert share_shown(FACTS, "A **char** takes\nFour bytes. [1]") == 1.0
    assert share_shown(FACTS, "A string takes 4 bytes.") == 0.5
    assert share_shown((), "Anything.") == 0.0


def test_the_first_words_are_those_a_reader_sees() -> None:
    assert beginning("one two " * 100).split() == ["one", "two"] * 40


def test_every_sentence_is_told_once_as_it_is_and_once_altered() -> None:
    pieces = [
        WrittenPiece(text="Two lamps:"),
        WrittenPiece(text="one burns [1]", altered="one is out [1]", join="\n- "),
        WrittenPiece(text="one blinks [2]", altered="one glows [2]", join="\n- "),
    ]

    texts, said = zip(*versions(pieces), strict=True)

    assert texts == (
        "Two lamps:\n- one burns [1]\n- one blinks [2]",
        "Two lamps:\n- one is out [1]\n- one blinks [2]",
        "Two lamps:\n- one burns [1]\n- one glows [2]",
    )
    assert said[1] == (("one is out", False), ("one blinks", True))
