"""Prompts are fixed by their version: whoever changes one gives it a new number."""

from pathlib import Path

from citewell.answer import prompts as module
from citewell.answer.prompts import NOT_IN_BOOK, VERSION

PROMPTS = Path(__file__).parent / "prompts"


def all_prompts() -> dict[str, str]:
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and name != "VERSION" and isinstance(value, str)
    }


def test_the_prompts_are_those_of_their_version() -> None:
    written = "\n\n".join(f"== {name}\n{text}" for name, text in all_prompts().items())

    assert f"{written}\n" == (PROMPTS / f"{VERSION}.txt").read_text("utf-8")


def test_whoever_answers_is_told_how_to_cite_how_to_decline_and_what_is_data() -> None:
    prompts = all_prompts()

    for name in ("INSTRUCTIONS", "PLAIN_INSTRUCTIONS", "SELECTION_INSTRUCTIONS"):
        assert "[1]" in prompts[name]
        assert f"reply exactly: {NOT_IN_BOOK}" in prompts[name]
        assert "data" in prompts[name]
        assert len(prompts[name]) < 1_600
    assert "search_textbook" not in prompts["PLAIN_INSTRUCTIONS"]
