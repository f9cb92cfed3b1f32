import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.questions.followup import Exchange, standalone_question
from citewell.text.terms import terms
from tests.retrieve.samples import follow


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("How fast is DDS?", "is Zenoh faster?", "is Zenoh faster than DDS?"),
        ("What is DDS?", "is Zenoh better than MQTT?", "is Zenoh better than MQTT?"),
    ],
)
def test_a_comparison_gets_its_other_side_if_it_has_none(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("How do I install the client?", "no, I meant the server", "How do I install the server?"),
        ("How do I read a file in Ruby?", "no, in Perl", "How do I read a file in Perl?"),
        ("What is the GDP of Norway?", "sorry, Sweden", "What is the GDP of Sweden?"),
        (
            "What is the capital of the province?",
            "not the province, the country",
            "What is the capital of the country?",
        ),
        ("How heavy is an apple?", "I mean a pear, not an apple", "How heavy is a pear?"),
        ("How is the gearbox oiled?", "I was asking about the clutch", "How is the clutch oiled?"),
    ],
)
def test_a_correction_asks_the_last_question_again_with_what_was_meant(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


LOCKS = "There are two kinds:\n\n1. A mutex puts the thread to sleep.\n2. A spin lock keeps trying."
PHASES = "The phases are prophase, metaphase and anaphase. [1]"


@pytest.mark.parametrize(
    ("previous", "answer", "question", "expected"),
    [
        ("Compare oil and tar.", "", "How thick is the former?", "How thick is oil?"),
        ("How do oil and tar differ?", "", "And the latter, is it thick?", "tar, is it thick?"),
        ("How does oil differ from tar?", "", "Is the second one thick?", "Is tar thick?"),
        (
            "Which locks exist?",
            LOCKS,
            "Is the second one fair?",
            "Is the second one fair (A spin lock keeps trying)?",
        ),
        ("Which phases are there?", PHASES, "How long is the last?", "How long is anaphase?"),
        (
            "What is oil?",
            "It is thick.",
            "How thick is the latter?",
            "How thick is the latter (oil)?",
        ),
    ],
)
def test_one_of_several_is_named_by_its_place_in_the_question_or_the_answer(
    previous: str, answer: str, question: str, expected: str
) -> None:
    assert standalone_question(question, [Exchange(previous, answer=answer)]) == expected


_VOCABULARY = """
what how why is does can and of in it its that they one a the lens RT-2 winds rings horn if about
with better
"""
_WORDS = st.lists(st.sampled_from(_VOCABULARY.split()), max_size=9).map(" ".join)


@given(_WORDS, _WORDS)
def test_no_word_of_a_question_is_lost(previous: str, question: str) -> None:
    rewritten = follow(previous + "?", question + "?")

    assert set(terms(question)) <= set(terms(rewritten))


@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_anything_may_follow_anything(previous: str, question: str) -> None:
    assert follow(previous or "?", question)
