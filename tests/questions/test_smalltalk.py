import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.questions.analyze import small_talk


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hello!", "greeting"),
        ("hi, how are you?", "greeting"),
        ("good morning citewell", "greeting"),
        ("thank you so much!", "thanks"),
        ("thx a lot", "thanks"),
        ("ok thanks, bye", "parting"),
        ("See you later", "parting"),
        ("Hi Citewell! Who are you?", "identity"),
        ("What's your name?", "identity"),
        ("are you a robot?", "identity"),
        ("What can you do?", "abilities"),
        ("what can I ask you", "abilities"),
        ("help", "abilities"),
        ("You're stupid", "insult"),
        ("this is useless", "insult"),
        ("wow that’s really helpful", "praise"),
        ("good bot", "praise"),
        ("ok", "assent"),
        ("???", "nothing"),
        ("👍", "nothing"),
    ],
)
def test_small_talk_is_told_by_its_kind(text: str, kind: str) -> None:
    assert small_talk(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "hello world program in C?",
        "thanks to what does the robot balance?",
        "hey, what is SLAM?",
        "thanks, and what about services?",
        "help the robot stand up",
        "what can a robot do?",
        "are robots smart?",
        "how does it work?",
        "no, I meant the Python one",
        "yes but why",
        "why?",
        "tell me more",
        "really?",
        "is that true",
        "what is a good gripper",
        "great circle distance",
        "right hand rule",
        "fine tuning",
        "Welcome",
        "testing",
    ],
)
def test_what_may_be_a_question_is_none(text: str) -> None:
    assert small_talk(text) is None


@given(st.text(max_size=80))
def test_a_message_with_a_word_that_is_no_talk_is_none(text: str) -> None:
    assert small_talk(f"{text} odometry") is None
