import pytest

from citewell.text.vocabulary import Vocabulary, abbreviations_in, is_english


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("We use simultaneous localisation and mapping (SLAM).", "SLAM", None),
        ("It has IK (inverse kinematics).", "IK", "inverse kinematics"),
        ("The quality of service (QoS) is set.", "QoS", "quality of service"),
        ("Low-rank adaptation (LoRA) is cheap.", "LoRA", "Low-rank adaptation"),
        ("A rapidly-exploring random tree (RRT) grows.", "RRT", "rapidly-exploring random tree"),
        ("Six degrees of freedom (DoFs).", "DoFs", "degrees of freedom"),
        ("Hypertext Markup Language (HTML)", "HTML", "Hypertext Markup Language"),
    ],
)
def test_abbreviations_are_found_where_the_text_explains_them(
    text: str, short: str, long: str | None
) -> None:
    long = long or "simultaneous localisation and mapping"

    assert dict(abbreviations_in(text)) == {short: long}


@pytest.mark.parametrize(
    "text",
    [
        "The lens (see Figure 2).",
        "A robot (AB) walks.",
        "(SLAM)",
        "Nothing.",
        "Rings (of glass).",
    ],
)
def test_other_brackets_explain_nothing(text: str) -> None:
    assert list(abbreviations_in(text)) == []


def test_the_long_form_that_is_used_most_is_kept() -> None:
    texts = ["The mean lens (ML).", "Machine learning (ML).", "Machine learning (ML)."]

    assert Vocabulary.of(texts).abbreviations == {"ML": "Machine learning"}


def test_words_are_counted_as_the_book_writes_them_without_markup_and_identifiers() -> None:
    words = Vocabulary.of(["The **lens** turns; `lens_order`, x.lens; the Lens."]).words

    assert words == {"lens": 2, "the": 2, "turns": 1}


def test_english_words_are_known_in_their_forms() -> None:
    assert is_english("running")
    assert is_english("Bananas")
    assert not is_english("odommetry")
