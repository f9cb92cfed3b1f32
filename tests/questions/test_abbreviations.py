"""Abbreviations that the book explains, through the whole pipeline."""

from pathlib import Path

import pytest

from citewell.domain import Answer, Question
from citewell.events import Done
from citewell.ingest.pipeline import ingest
from citewell.questions.abbreviations import expand_abbreviations
from citewell.text.vocabulary import Vocabulary
from tests.servers import HashEmbedder, build_services

PAGE = """\
# Arms

Inverse kinematics (IK) finds the joint angles for a pose of the hand.

IK has several solutions for most arms.

A linear quadratic regulator (LQR) weighs error against effort.

The sea surface area (SEA) is wide.
"""
VOCABULARY = Vocabulary.of([PAGE])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is IK?", "What is IK (inverse kinematics)?"),
        ("what is ik?", "what is IK (inverse kinematics)?"),
        ("What is inverse kinematics?", "What is inverse kinematics (IK)?"),
        ("Why an LQR?", "Why an LQR (linear quadratic regulator)?"),
        ("What is inverse kinematics (IK)?", None),
        ("Is the sea deep?", None),
        ("What is IKEA?", None),
        ("What is a lens?", None),
    ],
)
def test_either_form_becomes_both(question: str, expected: str | None) -> None:
    assert expand_abbreviations(question, VOCABULARY) == expected


async def test_both_ways_of_asking_find_the_same(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "arms.md").write_text(PAGE, "utf-8")
    ingest(tmp_path / "book", tmp_path / "data" / "books", HashEmbedder(), book="arms")
    answers: list[Answer] = []
    async with build_services(tmp_path / "data") as services:
        for text in ("What is IK?", "What is inverse kinematics?"):
            events = services.answerer.answer(Question(text=text))
            answers += [event.answer async for event in events if isinstance(event, Done)]

    short, long = answers
    assert short.text.startswith(long.text)
    assert [hit.chunk for hit in short.hits] == [hit.chunk for hit in long.hits]
    assert short.standalone_question == "What is IK (inverse kinematics)?"
    assert long.standalone_question == "What is inverse kinematics (IK)?"
