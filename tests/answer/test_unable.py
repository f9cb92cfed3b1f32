"""What is said to requests that quoting the book cannot meet."""

from citewell.answer.replies import unsupported_reply
from citewell.domain import Contents, Heading, HeadingKind


def heading(title: str, kind: HeadingKind, *children: Heading) -> Heading:
    return Heading(
        id=title, kind=kind, title=title, url="", source_file="a.md", chunks=(title,), position=1,
        children=children,
    )  # fmt: skip


SAFETY = heading("Safety", "chapter", heading("Stops", "section"), heading("Summary", "section"))
FRAMES = heading("Frames", "chapter", heading("Poses", "section"))
BOOK = Contents(
    headings=(
        heading("Part 1: Basics", "part", FRAMES),
        heading("Part 2: Humanoids", "part", SAFETY),
    )
)


def test_a_chapter_with_a_summary_of_its_own_is_summed_up_by_it() -> None:
    said = unsupported_reply("Summarise the chapter on safety", BOOK)

    assert said
    assert said.text.endswith("Its own summary is “Safety › Summary”.")
    assert said.chunk_ids == ("Summary",)


def test_the_summary_of_a_chapter_is_not_taken_for_that_of_its_part() -> None:
    said = unsupported_reply("Summarise part 2", BOOK)

    assert said
    assert said.text.endswith("The section to read is “Part 2: Humanoids”.")


def test_exercises_and_opinions_are_not_made_up() -> None:
    for asked in ("Give me some exercises", "What do you think about robots?"):
        assert unsupported_reply(asked, BOOK)
    assert unsupported_reply("What is a stop?", BOOK) is None
