"""PDF files, set by the tests themselves."""

import random
from pathlib import Path

import pytest
from fpdf import FPDF
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdfium2 import PdfDocument

from citewell.domain import Block, Book, Page, SkippedFile
from citewell.ingest.detect import detect_format
from citewell.ingest.formats.pdf.document import PdfFormat
from citewell.options import IngestOptions
from tests.ingest.paper import MARGIN, Paper

WORDS = (
    "lamp oil light wick flame glass chimney keeper tower night fog signal mirror brass engine"
    " turning steady bright harbour captain"
)


def prose(seed: int, sentences: int = 6) -> str:
    """Text without repeats, so that a lost or doubled line is seen."""
    chance = random.Random(seed)
    words = WORDS.split(" ")
    made = [
        " ".join(f"{chance.choice(words)}{chance.randrange(1000)}" for _ in range(12))
        for _ in range(sentences)
    ]
    return " ".join(f"{text.capitalize()}." for text in made)


def read(path: Path, **options: object) -> Book:
    reader = detect_format(path)
    assert reader.name == "pdf"
    return reader.read(path, IngestOptions(**options))  # type: ignore[arg-type]


def tree(page: Page) -> list[tuple[tuple[str, ...], str]]:
    return [(section.path, section.anchor) for section in page.sections]


def texts(book: Book) -> list[str]:
    return [b.text for page in book.pages for section in page.sections for b in section.blocks]


@pytest.mark.parametrize("outline", [True, False])
def test_chapters_and_sections_come_from_the_bookmarks_or_the_size_of_the_letters(
    tmp_path: Path, outline: bool
) -> None:
    paper = Paper("On Lamps")
    for number, chapter in enumerate(("1 Light", "2 Oil", "3 Fog")):
        paper.add_page()
        paper.heading(chapter, outline=outline)
        paper.paragraph(prose(number))
        paper.heading(f"Of {chapter[2:]}", level=1, size=14, outline=outline)
        paper.paragraph(prose(number + 10))

    book = read(paper.save(tmp_path / "lamps.pdf"))

    assert (book.title, book.kind, book.skipped) == ("On Lamps", "pdf", ())
    assert [page.title for page in book.pages] == ["1 Light", "2 Oil", "3 Fog"]
    assert tree(book.pages[1]) == [
        (("2 Oil",), "page=2"),
        (("2 Oil", "Of Oil"), "page=2"),
    ]
    assert texts(book) == [prose(n) for n in (0, 10, 1, 11, 2, 12)]


def test_a_long_section_is_cut_where_the_page_turns(tmp_path: Path) -> None:
    paper = Paper("On Lamps")
    paper.add_page()
    paper.heading("Light", outline=True)
    for number in range(20):
        paper.paragraph(prose(number))
    paper.heading("Oil", outline=True)
    paper.paragraph(prose(99))

    book = read(paper.save(tmp_path / "lamps.pdf"), site_url="https://x.example")

    light = book.pages[0]
    assert tree(light) == [(("Light",), f"page={n}") for n in range(1, len(light.sections) + 1)]
    assert len(light.sections) > 1
    assert light.url == "https://x.example/lamps.pdf"
    # A paragraph that runs over the page belongs to the page that it begins on.
    assert texts(book) == [prose(n) for n in (*range(20), 99)]
    assert [page.source for page in book.pages] == ["lamps.pdf/page-1", "lamps.pdf/page-4"]


def test_running_heads_and_page_numbers_are_dropped(tmp_path: Path) -> None:
    paper = Paper("The Keeper's Handbook")
    for number in range(4):
        paper.add_page()
        paper.paragraph(prose(number))

    found = " ".join(texts(read(paper.save(tmp_path / "a.pdf"))))

    assert found == " ".join(prose(n) for n in range(4))


def test_a_head_that_changes_with_the_chapter_is_known_by_its_page_number(tmp_path: Path) -> None:
    paper = Paper("Light")
    for number, head in enumerate(("Light", "Oil", "Fog", "Storm")):
        paper.head = head
        paper.add_page()
        paper.paragraph(prose(number))

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == [prose(n) for n in range(4)]


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.heading("A Paper in Two Columns")
    top = paper.get_y()
    left, right = prose(1, 9), prose(2, 9)
    # The second column first: the order of the file is not the order of reading.
    paper.set_xy(110, top)
    paper.paragraph(right, width=80)
    paper.set_xy(MARGIN, top)
    paper.paragraph(left, width=80)

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == [left, right]


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_shown(tmp_path: Path, turned: int) -> None:
    paper = Paper()
    paper.add_page()
    with paper.rotation(turned, 105, 105):
        paper.lines("The first line of a page that", "somebody laid on its side.")
    plain = paper.save(tmp_path / "plain.pdf")
    with PdfDocument(plain) as document:
        document[0].set_rotation(turned)
        document.save(tmp_path / "a.pdf")

    assert texts(read(tmp_path / "a.pdf")) == [
        "The first line of a page that somebody laid on its side."
    ]


def test_a_word_parted_at_the_end_of_a_line_is_whole_again(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.lines(
        "The keeper trims the wick every morn-",
        "ing, and keeps a well-",
        "kept lamp in a half-",
        "Gothic tower. A well-kept lamp lasts.",
    )

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == [
        "The keeper trims the wick every morning, and keeps a well-kept lamp in a half-Gothic"
        " tower. A well-kept lamp lasts."
    ]


def test_code_keeps_its_lines_and_its_indent(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.paragraph(prose(1))
    paper.lines("def light(oil):", "    if oil:", "        return `3`", font="Courier")
    paper.paragraph(prose(2))

    book = read(paper.save(tmp_path / "a.pdf"))

    assert book.pages[0].sections[0].blocks[1] == Block(
        kind="code", text="```\ndef light(oil):\n    if oil:\n        return `3`\n```"
    )


def test_a_long_name_that_fills_a_line_is_not_taken_for_code(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.paragraph(prose(1))
    paper.lines("The keeper calls", gap=5)
    paper.set_y(paper.get_y() - 3)
    paper.lines("light_the_lamp(oil, wick)", font="Courier")
    paper.set_y(paper.get_y() - 3)
    paper.lines("and waits.")

    assert texts(read(paper.save(tmp_path / "a.pdf")))[1:] == [
        "The keeper calls light_the_lamp(oil, wick) and waits."
    ]


def test_a_typescript_is_not_taken_for_code(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.lines("All of this was typed", "on a machine.", font="Courier")

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == ["All of this was typed on a machine."]


def test_a_table_keeps_its_rows_and_columns(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.paragraph(prose(1))
    paper.rows(("Oil", "Light", "Price"), ("Whale", "12", "high|low"), ("Colza", "9", "low"))
    paper.paragraph(prose(2))

    book = read(paper.save(tmp_path / "a.pdf"))

    assert book.pages[0].sections[0].blocks[1] == Block(
        kind="table",
        text="| Oil | Light | Price |\n| --- | --- | --- |\n"
        "| Whale | 12 | high\\|low |\n| Colza | 9 | low |",
    )


def test_lists_keep_their_items(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.lines("Before the night:")
    paper.lines(
        "1. Trim the wick.", "2. Fill the lamp with oil, and", "    wipe the glass.", "3. Light it."
    )

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == [
        "Before the night:",
        "1. Trim the wick.\n2. Fill the lamp with oil, and wipe the glass.\n3. Light it.",
    ]


def test_lines_of_a_table_of_contents_are_left_out(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.lines("1 Light . . . . . . . . . . . 3", "2 Oil . . . . . . . . . . . . . 14")
    paper.paragraph(prose(1))

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == [prose(1)]


def test_words_that_look_like_markdown_stay_words(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.lines("# is a number sign, and *this* is not slanted.")

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == [
        "\\# is a number sign, and \\*this\\* is not slanted."
    ]


def test_an_encrypted_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.paragraph("Secret.")

    book = read(paper.save(tmp_path / "a.pdf", password="secret"))

    assert book.pages == ()
    assert book.skipped == (
        SkippedFile(source="a.pdf", reason="is encrypted; save a copy without a password"),
    )


def test_a_file_that_only_forbids_printing_is_read(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.paragraph("Open.")

    assert texts(read(paper.save(tmp_path / "a.pdf", owner="owner"))) == ["Open."]


def test_a_scan_is_reported_as_having_no_text(tmp_path: Path) -> None:
    paper = FPDF()
    paper.add_page()
    paper.rect(20, 20, 100, 100, style="F")
    paper.output(str(tmp_path / "a.pdf"))

    assert read(tmp_path / "a.pdf").skipped == (
        SkippedFile(source="a.pdf", reason="has no text (scanned?)"),
    )


def test_a_broken_or_huge_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7 and nothing else")

    assert read(path).skipped[0].reason == "is damaged or not a PDF"
    with path.open("r+b") as sparse:
        sparse.truncate(201_000_000)
    assert read(path).skipped[0].reason == (
        "201.0 MB is more than the limit of 200 MB (CITEWELL_INGEST__MAX_FILE_BYTES)"
    )


def test_a_book_without_headings_is_one_page_named_by_its_file(tmp_path: Path) -> None:
    paper = Paper()
    paper.set_title("draft.docx")
    paper.add_page()
    paper.paragraph(prose(1))

    book = read(paper.save(tmp_path / "lamps.pdf"), site_url="https://x.example/lamps.PDF")

    assert [(page.title, page.url) for page in book.pages] == [
        ("lamps", "https://x.example/lamps.PDF")
    ]


def test_a_folder_of_files_is_a_book_of_volumes(tmp_path: Path) -> None:
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in ("a.pdf", "b.PDF"):
        paper = Paper()
        paper.set_title(f"Volume {name[0]}")
        paper.add_page()
        paper.paragraph(f"Text of {name[0]}.")
        paper.save(folder / name)
    (folder / "c.epub").write_bytes(b"no zip")
    (folder / "cover.jpg").write_bytes(b"")

    reader = detect_format(folder)
    book = reader.read(folder, IngestOptions())

    assert [file.name for file in reader.files(folder)] == ["a.pdf", "b.PDF", "c.epub"]
    assert [(page.part, page.url) for page in book.pages] == [
        ("Volume a", "/a.pdf"),
        ("Volume b", "/b.PDF"),
    ]
    assert book.skipped == (
        SkippedFile(source="c.epub", reason="is damaged: it is not a ZIP file"),
    )


def test_a_folder_with_markdown_beside_its_files_is_a_markdown_book(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Text.")
    (tmp_path / "b.pdf").write_bytes(b"")

    assert detect_format(tmp_path).name == "markdown"


def test_letters_far_off_the_page_are_left_out(tmp_path: Path) -> None:
    paper = Paper()
    paper.add_page()
    paper.lines("On the page.")
    paper.lines("Far off.", x=9_000_000, font="Courier")

    assert texts(read(paper.save(tmp_path / "a.pdf"))) == ["On the page."]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    paper = Paper("Lamps")
    paper.set_compression(False)
    for number in range(2):
        paper.add_page()
        paper.heading(f"Chapter {number}", outline=True)
        paper.paragraph(prose(number, 2))
        paper.rows(("a", "b"), ("c", "d"))
    return paper.save(tmp_path_factory.mktemp("pdf") / "a.pdf").read_bytes()


@settings(max_examples=60)
@given(data=st.data())
def test_any_damage_is_read_or_reported_and_never_raised(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("pdf") / "a.pdf"
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 40))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(changed[: data.draw(st.integers(len(changed) // 2, len(changed)))])

    book = PdfFormat().read(path, IngestOptions())

    assert book.pages or book.skipped


@settings(max_examples=40)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_reported(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("pdf") / "a.pdf"
    path.write_bytes(b"%PDF-1.4\n" + data)

    book = PdfFormat().read(path, IngestOptions())

    assert book.pages or book.skipped
