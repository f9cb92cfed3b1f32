import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.citations.quotes import find_quote

WORDS = st.lists(st.sampled_from(["lens", "der", "920 mm", "the", "ünï", "x."]), min_size=1)
BREAKS = st.sampled_from([" ", "\n", "  ", "\n  ", "\t"])


def test_a_quote_is_found_at_its_exact_place() -> None:
    assert find_quote("In fog the keeper sounds a horn.", "keeper sounds") == (11, 24)


def test_hard_line_breaks_do_not_matter() -> None:
    passage = "The keeper\n  winds the\nclockwork."

    place = find_quote(passage, "keeper winds the clockwork.")

    assert place is not None
    assert passage[slice(*place)] == "keeper\n  winds the\nclockwork."


@given(WORDS, WORDS, WORDS, st.data())
def test_words_are_found_byte_for_byte_however_they_are_wrapped(
    before: list[str], words: list[str], after: list[str], data: st.DataObject
) -> None:
    wrapped = "".join(word + data.draw(BREAKS) for word in [*before, *words, *after])

    place = find_quote(wrapped, " ".join(words))

    assert place is not None
    assert wrapped[slice(*place)].split() == " ".join(words).split()


@pytest.mark.parametrize(
    ("passage", "words"),
    [
        ("It runs at 110 Hz.", "10 Hz"),
        ("It moves 2.5 m.", "5 m"),
        ("It moves 5.2 m.", "5"),
        ("A lens", "A len"),
        ("A lens turns.", "The lens"),
        ("A lens turns.", ""),
        ("A lens turns.", " \n"),
        ("", "lens"),
    ],
)
def test_parts_of_words_and_other_words_are_not_found(passage: str, words: str) -> None:
    assert find_quote(passage, words) is None


def test_a_number_at_the_end_of_a_sentence_is_found() -> None:
    assert find_quote("It runs at 10.", "at 10") == (8, 13)
