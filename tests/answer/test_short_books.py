"""What a book of a few passages answers, and what it refuses, with the real models."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from citewell import Citewell
from citewell.domain import DEFAULT_MIN_ANSWERABILITY, Filters

COVERED = (
    "What is a Fresnel lens?",
    "How much glass does a Fresnel lens save?",
    "What focal length does a first-order lens have?",
    "How often does the keeper wind the clockwork?",
    "Why does the keeper wind the clockwork?",
    "What does the keeper do in fog?",
)
ELSEWHERE = (
    "What is the capital of Peru?",
    "How do I bake bread?",
    "How is a PID controller tuned?",
    "How many arms does an octopus have?",
)
OF_OTHER_PAGES = (
    "How is a PID controller tuned?",
    "What is loop closure in SLAM?",
    "What does a launch file do?",
)
PART = Filters(source_file=("docs/intro.mdx",))


@pytest.fixture
async def lighthouses(tiny_book: Path) -> AsyncIterator[Citewell]:
    """A book of four passages."""
    async with await Citewell.open(tiny_book) as book:
        yield book


async def test_a_short_book_answers_what_it_says(lighthouses: Citewell) -> None:
    answers = [await lighthouses.ask(question) for question in COVERED]

    assert [
        a.question for a in answers if a.confidence.answerability < DEFAULT_MIN_ANSWERABILITY
    ] == []
    assert {a.status for a in answers} == {"answered"}


async def test_a_short_book_refuses_what_is_not_its_subject(lighthouses: Citewell) -> None:
    answers = [await lighthouses.ask(question) for question in ELSEWHERE]

    assert [
        a.question for a in answers if a.confidence.answerability >= DEFAULT_MIN_ANSWERABILITY
    ] == []
    assert [a.status for a in answers].count("not_in_book") >= 3
    assert answers[1].text == "I couldn't find that in the book. It doesn't mention “bread”."


async def test_a_page_of_a_long_book_refuses_what_other_pages_answer(sample_data: Path) -> None:
    async with await Citewell.open(data_dir=sample_data) as book:
        answers = [await book.ask(question, filters=PART) for question in OF_OTHER_PAGES]

    assert [
        a.question for a in answers if a.confidence.answerability >= DEFAULT_MIN_ANSWERABILITY
    ] == []
    assert "answered" not in {a.status for a in answers}
