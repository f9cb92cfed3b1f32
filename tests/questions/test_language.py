import pytest

from citewell.questions.analyze import (
    foreign_language,
    language_notice,
    translate_definition_question,
)
from citewell.text.terms import TermStatistics

ENGLISH = TermStatistics.count(["The Kalman filter and SLAM are used by a robot.", "A gripper."])


@pytest.mark.parametrize(
    ("question", "language", "english"),
    [
        ("Was ist ein Kalman filter?", "German", "What is Kalman filter?"),
        ("Wie funktioniert ein Lidar?", "German", None),
        ("Qu'est-ce que SLAM ?", "French", "What is SLAM?"),
        ("¿Qué es la localización?", "Spanish", None),
        ("Che cosa è un gripper?", "Italian", "What is gripper?"),
        ("O que é SLAM?", "Portuguese", "What is SLAM?"),
        ("Wat is een gripper?", "Dutch", "What is gripper?"),
        ("SLAM nedir?", "Turkish", "What is SLAM?"),
        ("slam kya hai", "Urdu", "What is slam?"),
        ("SLAM کیا ہے؟", "Urdu", "What is SLAM?"),
        ("روبوٹ کیسے چلتا ہے؟", "Urdu", None),
        ("ما هو الروبوت؟", "Arabic", None),
        ("SLAM क्या है", "Hindi", "What is SLAM?"),
        ("Что такое SLAM?", "Russian", "What is SLAM?"),
        ("SLAMとは何ですか", "Japanese", "What is SLAM?"),
        ("SLAM是什么", "Chinese", "What is SLAM?"),
        ("机器人如何行走", "Chinese", None),
    ],
)
def test_a_language_is_told_and_what_is_x_is_put_into_english(
    question: str, language: str, english: str | None
) -> None:
    found = foreign_language(question, ENGLISH)

    assert found is not None
    assert found.name == language
    assert translate_definition_question(question, found, ENGLISH) == english
    assert "English" in language_notice(found)


@pytest.mark.parametrize(
    "question",
    [
        "What is SLAM?",
        "How do I die?",
        "Is a de facto standard in use?",
        "what is la Nina",
        "What is μ in friction?",
        "What does 机器人 mean?",
        "θ filter",
        "lidar sensor fusion",
        "",
    ],
)
def test_english_questions_are_not_foreign(question: str) -> None:
    assert foreign_language(question, ENGLISH) is None


def test_a_book_in_that_language_is_asked_in_it() -> None:
    german = TermStatistics.count(["Was ist ein Filter? Das ist ein Filter."] * 3)
    russian = TermStatistics.count(["Что такое робот"] * 3)

    assert foreign_language("Was ist ein Filter?", german) is None
    assert foreign_language("Что такое робот?", russian) is None


def test_a_script_without_a_sentence_of_its_own_is_answered_in_english() -> None:
    found = foreign_language("Τι είναι το SLAM;", ENGLISH)

    assert found is not None
    assert language_notice(found).startswith("The book is in English")
