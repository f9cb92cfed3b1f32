"""Headings and columns of PDFs that are not simply there."""

from pathlib import Path

from tests.ingest.formats.test_pdf import prose, read, texts, tree
from tests.ingest.paper import MARGIN, Paper


def test_a_bold_line_that_stands_alone_is_a_heading(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    for number, title in enumerate(("Of Light", "Of Oil")):
        paper.heading(title, size=11)
        paper.paragraph(prose(number))

    book = read(paper.save(tmp_path / "a.pdf"))

    assert [page.title for page in book.pages] == ["Of Light", "Of Oil"]


def test_a_title_above_all_chapters_is_no_chapter(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.heading("The Whole Art of Lamps", size=28)
    paper.paragraph(prose(9))
    for number in range(2):
        paper.heading(f"Chapter {number}")
        paper.paragraph(prose(number))

    book = read(paper.save(tmp_path / "a.pdf"))

    assert [page.title for page in book.pages] == [
        "The Whole Art of Lamps",
        "Chapter 0",
        "Chapter 1",
    ]


def test_a_heading_of_two_lines_is_one_heading(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    for number in range(2):
        paper.heading(f"A heading {number} that is so long that the page is too narrow to hold it")
        paper.paragraph(prose(number))

    titles = [page.title for page in read(paper.save(tmp_path / "a.pdf")).pages]

    assert titles == [
        f"A heading {n} that is so long that the page is too narrow to hold it" for n in range(2)
    ]


def test_the_label_above_a_chapter_is_part_of_its_heading(tmp_path: Path) -> None:
    paper = Paper()
    for number, title in enumerate(("Light", "Oil")):
        paper.add_page()
        paper.lines(f"Chapter {number + 1}")
        paper.heading(title, outline=True)
        paper.paragraph(prose(number))

    book = read(paper.save(tmp_path / "a.pdf"))

    assert [page.title for page in book.pages] == ["Light", "Oil"]
    assert texts(book) == [prose(0), prose(1)]


def test_a_bookmark_that_stands_nowhere_on_its_page_counts_where_it_leads(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.paragraph(prose(0))
    paper.start_section("Hidden")
    paper.paragraph(prose(1))
    paper.add_page()
    paper.start_section("Plain")
    paper.paragraph(prose(2))

    book = read(paper.save(tmp_path / "a.pdf"))

    assert [(page.title, tree(page)) for page in book.pages] == [
        ("On Lamps", [(("On Lamps",), "page=1")]),
        ("Hidden", [(("Hidden",), "page=1")]),
        ("Plain", [(("Plain",), "page=2")]),
    ]
    assert texts(book) == [prose(0), prose(1), prose(2)]


def test_a_line_across_both_columns_parts_what_is_above_from_what_is_below(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    made: list[str] = []
    for band in range(2):
        top = paper.get_y()
        for column in range(2):
            paper.set_xy(MARGIN + 90 * column, top)
            made.append(prose(10 * band + column, 5))
            paper.paragraph(made[-1], width=80)
        paper.set_x(MARGIN)
        if not band:
            made.append(
                "A caption that runs across both of the columns, from one margin to the other."
            )
            paper.paragraph(made[-1])

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == made
