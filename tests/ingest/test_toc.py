"""The table of contents, from chunks as ingest makes them."""

from datetime import UTC, datetime

import pytest

from citewell.domain import Block, Contents, Heading, Page, Section
from citewell.ingest.chunking import chunk_page
from citewell.ingest.toc import build_contents
from citewell.options import IngestOptions

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def page(title: str, *headings: tuple[str, ...], source: str = "", part: str = "") -> Page:
    """Make a page with a text under its title and under each heading."""
    return Page(
        source=source or f"{title.lower()}.md",
        title=title,
        part=part,
        url=f"https://x.y/{title.lower()}",
        sections=tuple(
            Section(
                path=(title, *path),
                anchor="-".join(path).lower(),
                blocks=(Block(kind="prose", text=f"On {' '.join((title, *path))}."),),
            )
            for path in ((), *headings)
        ),
    )


def contents(*pages: Page, title: str = "Lamps and Fog") -> Contents:
    return build_contents(
        title,
        [
            chunk
            for one in pages
            for chunk in chunk_page(
                one,
                book="lamps",
                count=lambda texts: [len(text.split()) for text in texts],
                options=IngestOptions(),
                now=NOW,
            )
        ],
    )


def tree(*headings: Heading) -> list[object]:
    """Give titles, each with the list of those below it if there are any."""
    return [(one.title, tree(*one.children)) if one.children else one.title for one in headings]


def numbers(found: Contents) -> dict[str, int | None]:
    return {one.title: one.number for one in found.walk() if one.kind in ("chapter", "page")}


def test_sections_are_nested_as_their_headings_are() -> None:
    found = contents(page("Lens", ("Glass",), ("Glass", "Cut"), ("Light",)), page("Oil"))

    assert tree(*found.headings) == [("Lens", [("Glass", ["Cut"]), "Light"]), "Oil"]
    assert [one.position for one in found.walk()] == [1, 2, 3, 4, 5]
    assert [one.url for one in found.walk()][:3] == [
        "https://x.y/lens",
        "https://x.y/lens#glass",
        "https://x.y/lens#glass-cut",
    ]


def test_every_passage_stands_under_one_heading_in_reading_order() -> None:
    found = contents(page("Lens", ("Glass",), ("Glass", "Cut")), page("Oil", ("Colza",)))

    ids = [identity for one in found.walk() for identity in one.chunks]
    assert len(ids) == len(set(ids)) == 5
    assert all(len(one.chunks) == 1 for one in found.walk())


def test_a_heading_without_text_of_its_own_has_its_line_too() -> None:
    found = contents(page("Lens", ("Glass", "Cut"), ("Glass", "Ground")))

    (lens,) = found.headings
    assert tree(lens) == [("Lens", [("Glass", ["Cut", "Ground"])])]
    assert lens.children[0].url == "https://x.y/lens#glass-cut"


def test_two_headings_of_one_name_are_two_lines_with_ids_of_their_own() -> None:
    twice = page("Lens", ("Summary",), ("Light",), ("Summary",))

    (lens,) = contents(twice).headings

    assert [one.title for one in lens.children] == ["Summary", "Light", "Summary"]
    assert [one.id for one in lens.children] == [
        "lens.md#summary",
        "lens.md#light",
        "lens.md#summary~2",
    ]


def test_absurdly_deep_headings_still_have_their_passages_in_the_contents() -> None:
    found = contents(page("Lens", tuple(f"H{n}" for n in range(3000))))

    ids = [identity for one in found.walk() for identity in one.chunks]
    # One passage under the title; the 3,000 words under the headings make eight.
    assert (len(set(ids)), len(list(found.walk()))) == (9, 20)


def test_pages_of_a_part_stand_under_it_and_are_the_chapters() -> None:
    found = contents(
        page("Welcome"), page("Lens", part="Lamps"), page("Oil", part="Lamps"), page("Thanks")
    )

    assert tree(*found.headings) == ["Welcome", ("Lamps", ["Lens", "Oil"]), "Thanks"]
    assert [one.kind for one in found.walk()] == ["page", "part", "chapter", "chapter", "page"]
    assert numbers(found) == {"Welcome": None, "Lens": 1, "Oil": 2, "Thanks": None}


def test_pages_of_a_chapter_are_its_sections() -> None:
    found = contents(page("Lens"), page("Glass", ("Cut",), part="Lens"), page("Oil"))

    assert tree(*found.headings) == [("Lens", [("Glass", ["Cut"])]), "Oil"]
    assert numbers(found) == {"Lens": 1, "Oil": 2}


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ((page("Preface"), page("Lens"), page("Glossary")), [None, 1, None]),
        ((page("Lamps and Fog"), page("Lens")), [None, 1]),
        ((page("Start", source="docs/index.md"), page("Lens")), [None, 1]),
        ((page("Chapter 4: Lens"), page("Chapter 5: Oil"), page("Notes")), [4, 5, None]),
        ((page("7. Lens"), page("8. Oil")), [7, 8]),
        ((page("Lens", source="src/ch03-00-lens.md"), page("End", source="src/end.md")), [3, None]),
        ((page("Zero", source="ch00-00.md"), page("Lens", source="chapter-1-lens.md")), [None, 1]),
        ((page("3D lenses"), page("2024 in lamps")), [1, 2]),
    ],
)
def test_chapters_have_their_own_numbers_or_are_counted(
    pages: tuple[Page, ...], expected: list[int | None]
) -> None:
    assert list(numbers(contents(*pages)).values()) == expected


def text_page(title: str, *texts: str) -> Page:
    blocks = tuple(Block(kind="prose", text=text) for text in texts)
    return Page(
        source="a.md",
        title=title,
        part="",
        url="https://x.y/a",
        sections=(Section(path=(title,), anchor="", blocks=blocks),),
    )


def test_figures_are_listed_by_their_captions() -> None:
    found = contents(
        text_page(
            "Lens",
            "![A lens in section](lens.png)",
            "*Figure 1: a lens, cut open.*",
            "Figure 1 shows a lens. Figure 2: no.",
            "![Oil lamp](oil.png)",
            "![](nameless.png)",
        )
    )

    assert [one.text for one in found.figures] == ["*Figure 1: a lens, cut open.*", "Oil lamp"]


def test_the_terms_of_a_glossary_are_listed_where_they_stand() -> None:
    texts = (
        "**Lens**: bends light.",
        "- **Oil** – burns.\n- **Wick:** soaks.",
        "**Mind** the gap.",
    )

    glossary = contents(text_page("Glossary", *texts)).definitions
    elsewhere = contents(text_page("Lamps", *texts)).definitions

    assert [one.text for one in glossary] == ["Lens", "Oil", "Wick"]
    whole = "\n\n".join(texts)
    assert all(whole[one.start : one.end] == one.text for one in glossary)
    assert elsewhere == ()
