"""Which questions are about how a book is built; the contents are those of a small book."""

import pytest

from citewell.domain import Contents
from citewell.errors import UnknownPage
from citewell.ingest.toc import build_contents
from citewell.questions.toc import find_section
from citewell.questions.toc_questions import (
    AdjacentQuestion,
    CoverageQuestion,
    ListQuestion,
    LocationQuestion,
    UnknownChapterQuestion,
    parse_toc_question,
)
from tests.verify.samples import chunk_of

BOOK = "The Lighthouse Handbook lighthouse"
PLACES = (
    ("", "Welcome", ()),
    ("Lamps", "The lens", ()),
    ("Lamps", "The lens", ("Orders of lenses",)),
    ("Lamps", "The lens", ("Exercises",)),
    ("Lamps", "Oil: colza and kerosene", ()),
    ("Lamps", "Oil: colza and kerosene", ("Burning oil",)),
    ("Lamps", "Oil: colza and kerosene", ("Exercises",)),
    ("Fog", "Horns", ()),
    ("Fog", "Bells", ("Striking the bell",)),
)
CONTENTS: Contents = build_contents(
    "The Lighthouse Handbook",
    [
        chunk_of(
            f"Text {number}.",
            identity=str(number),
            part=part,
            chapter=chapter,
            source_file=f"{chapter}.md",
            path=(chapter, *path),
            url=f"https://x.y/{chapter}" + "".join(f"#{one}" for one in path),
        )
        for number, (part, chapter, path) in enumerate(PLACES)
    ],
)


def asked(text: str) -> object:
    return parse_toc_question(text, BOOK, CONTENTS)


def titles(text: str) -> list[str]:
    found = asked(text)
    assert isinstance(found, CoverageQuestion | AdjacentQuestion)
    return [entry.heading.title for entry in found.entries]


@pytest.mark.parametrize(
    "text",
    [
        "List the chapters",
        "Please list all the chapters of this book.",
        "can you list the chapters?",
        "What chapters are there?",
        "Which chapters does the book have?",
        "what are the chapters of The Lighthouse Handbook?",
        "chapters",
        "table of contents",
        "Show me the table of contents",
        "What is the table of contents of the book?",
        "How is this book organised?",
    ],
)
def test_the_chapters_are_asked_for_in_many_ways(text: str) -> None:
    assert asked(text) == ListQuestion("chapter")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How many chapters are there?", ListQuestion("chapter", count_only=True)),
        ("How many chapters does the lighthouse handbook have?", ListQuestion("chapter", True)),
        ("how many chapters are in the book", ListQuestion("chapter", count_only=True)),
        ("How many parts does this book have?", ListQuestion("part", count_only=True)),
        ("List the parts of the book", ListQuestion("part")),
    ],
)
def test_parts_and_numbers_are_asked_for_too(text: str, expected: ListQuestion) -> None:
    assert asked(text) == expected


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What does chapter 2 cover?", "Oil: colza and kerosene"),
        ("What is chapter two about?", "Oil: colza and kerosene"),
        ("What is chapter 3?", "Horns"),
        ("what is in the last chapter", "Bells"),
        ("What is the first chapter called?", "The lens"),
        ("What does the chapter on oil cover?", "Oil: colza and kerosene"),
        ("Which sections does the lens chapter have?", "The lens"),
        ("List the sections of chapter 1", "The lens"),
        ("What does part 2 cover?", "Fog"),
    ],
)
def test_one_chapter_is_asked_for_by_its_number_or_its_name(text: str, title: str) -> None:
    assert isinstance(asked(text), CoverageQuestion)
    assert titles(text) == [title]


def test_a_chapter_that_does_not_exist_is_known_not_to() -> None:
    assert asked("What does chapter 9 cover?") == UnknownChapterQuestion(9)


@pytest.mark.parametrize(
    ("text", "title", "side"),
    [
        ("What comes after The lens?", "The lens", "after"),
        ("what comes after “lens”", "The lens", "after"),
        ("What comes directly before the chapter on horns?", "Horns", "before"),
        ("Which chapter follows chapter 2?", "Oil: colza and kerosene", "after"),
        ("Which section precedes Exercises?", None, "before"),
    ],
)
def test_what_stands_beside_a_heading_is_asked_for(text: str, title: str | None, side: str) -> None:
    found = asked(text)

    assert isinstance(found, AdjacentQuestion)
    assert found.side == side
    assert titles(text) == ([title] if title else ["Exercises", "Exercises"])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("In which chapter is the burning of oil explained?", "Burning oil"),
        ("In which chapter is burning oil explained?", "Burning oil"),
        ("Which chapter explains the lens?", "The lens"),
        ("Where are the orders of lenses described?", "Orders of lenses"),
        ("Which section covers kerosene?", "Oil: colza and kerosene"),
        ("In which chapter are exercises discussed?", None),
        ("Which chapter is about the keeper?", None),
        ("Which chapter covers oil?", "Oil: colza and kerosene"),
    ],
)
def test_a_place_is_given_only_if_a_title_says_it(text: str, title: str | None) -> None:
    found = asked(text)

    assert (found.entry.heading.title if isinstance(found, LocationQuestion) else None) == title


@pytest.mark.parametrize(
    "text",
    [
        "What comes after the handshake?",
        "What happens after the lens is lit?",
        "What is before the lens?",
        "List the sensors",
        "List the parts",
        "List the parts of a lens",
        "How many parts are there?",
        "How many chapters does Moby Dick have?",
        "List the chapters of the Odyssey",
        "What is the lens?",
        "What is “Oil”?",
        "What does the lens cover?",
        "What does chapter 2 say about wicks?",
        "What is the chapter on fog signals about?",
        "What is the section on burning oil about?",
        "How many orders of lenses are there?",
        "Why is the table of contents missing?",
        "What is the first part of a lamp?",
        "Where is the lighthouse?",
        "What is a chapter?",
        "",
        "?",
    ],
)
def test_what_only_looks_like_it_is_left_to_the_search(text: str) -> None:
    assert asked(text) is None


def test_a_book_without_parts_is_not_said_to_have_any() -> None:
    flat = build_contents("Flat", [chunk_of("Text.", part="")])

    assert parse_toc_question("List the parts of the book", "Flat", flat) is None


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("The lens.md#Exercises", "The lens.md#Exercises"),
        ("Burning oil", "Oil: colza and kerosene.md#Burning oil"),
        ("the LENS", "The lens.md"),
        ("chapter 3", "Horns.md"),
        ("Oil: colza and kerosene › Exercises", "Oil: colza and kerosene.md#Exercises"),
        ("Lamps", "part:Lamps"),
    ],
)
def test_a_section_is_found_by_its_id_number_or_name(name: str, identity: str) -> None:
    assert find_section(CONTENTS, name).heading.id == identity


def test_a_name_that_several_sections_have_is_said_to_be_unclear() -> None:
    with pytest.raises(UnknownPage, match=r"has 2 sections called 'Exercises': 'The lens\.md#Exer"):
        find_section(CONTENTS, "Exercises")
