import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.questions.analyze import correct_spelling, edit_distance
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary

BOOK = [
    "Odometry drifts. A quaternion has four numbers, and inverse kinematics has many solutions.",
    "A node publishes messages to a topic; a subscriber receives them. The behaviour of Gazebo.",
    "Localisation by lidar and reinforcement learning of a manipulator.",
]
VOCABULARY, STATISTICS = Vocabulary.of(BOOK), TermStatistics.count(BOOK)


def spelled(question: str) -> str:
    return correct_spelling(question, VOCABULARY, STATISTICS)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("waht is odommetry?", "what is odometry?"),
        ("How does a quaternoin work", "How does a quaternion work"),
        ("Odometrey drifts why", "Odometry drifts why"),
        ("what is kinamatics", "what is kinematics"),
        ("a subscirber recieves mesages", "a subscriber receives messages"),
        ("write to a topc", "write to a topic"),
        ("what is localization", "what is localisation"),
        ("the behavior of gazeebo", "the behaviour of gazebo"),
    ],
)
def test_slips_are_put_right_by_the_words_of_the_book(question: str, expected: str) -> None:
    assert spelled(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is a Unitree robot?",
        "who is Quaternoin",
        "what is nvme",
        "How do I bake sourdough bread?",
        "what does `odommetry` print",
        "is “odommetry” a word",
        "set odom_metry and odommetry/raw",
        "run node.publsh()",
        "LIDR",
        "tf2 and cmd_vel",
        "a banana for the giraffe",
    ],
)
def test_names_identifiers_and_english_words_are_left_alone(question: str) -> None:
    assert spelled(question) == question


def test_without_a_vocabulary_nothing_is_changed() -> None:
    assert correct_spelling("odommetry", Vocabulary(), STATISTICS) == "odommetry"


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("lens", "lens", 0),
        ("lesn", "lens", 1),
        ("lns", "lens", 1),
        ("lems", "lens", 1),
        ("a", "xyz", 3),
    ],
)
def test_slips_are_counted(one: str, other: str, count: int) -> None:
    assert edit_distance(one, other, 2) == count


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_slips_are_the_same_from_both_sides(one: str, other: str) -> None:
    assert edit_distance(one, other, 9) == edit_distance(other, one, 9)
    assert (edit_distance(one, other, 9) == 0) == (one == other)


@given(st.text(max_size=60))
def test_any_text_may_be_spelled(text: str) -> None:
    assert len(spelled(text).split()) == len(text.split())
