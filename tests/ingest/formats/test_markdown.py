from pathlib import Path

import pytest

from citewell.domain import Block, Section, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SourceFile
from citewell.ingest.formats.markdown import (
    MarkdownFormat,
    markdown_files,
    parse_blocks,
    parse_page,
    read_text,
)
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook

OPTIONS = IngestOptions()


def test_a_page_is_cut_into_sections_with_their_path_and_anchor() -> None:
    page = parse_page(
        "Before.\n\n# Lamps\n\nOne.\n\n## Lens\n\nTwo.\n\n"
        "### Rings\n\nThree.\n\n## Oil {#fuel}\n\nFour.\n",
        mdx=False,
    )

    assert page.heading == "Lamps"
    assert [(s.path, s.anchor, s.blocks[0].text) for s in page.sections] == [
        (("Lamps",), "", "Before."),
        (("Lamps",), "", "One."),
        (("Lamps", "Lens"), "lens", "Two."),
        (("Lamps", "Lens", "Rings"), "rings", "Three."),
        (("Lamps", "Oil"), "fuel", "Four."),
    ]


def test_the_title_of_the_front_matter_stands_above_every_section() -> None:
    page = parse_page("---\ntitle: Lamps\n---\n## Lens\n\nText.\n", mdx=False)

    assert page.heading is None
    assert page.sections == (
        Section(path=("Lamps", "Lens"), anchor="lens", blocks=(Block(kind="prose", text="Text."),)),
    )


def test_a_second_heading_of_the_first_level_is_a_section() -> None:
    page = parse_page("# Lamps\n\nOne.\n\n# Oil\n\nTwo.\n", mdx=False)

    assert [(s.path, s.anchor) for s in page.sections] == [
        (("Lamps",), ""),
        (("Lamps", "Oil"), "oil"),
    ]


def test_a_heading_is_named_by_its_words_not_its_markup() -> None:
    page = parse_page("## The `/cmd_vel` **topic**\n\nText.\n", mdx=False)

    assert (page.sections[0].path, page.sections[0].anchor) == (
        ("The /cmd_vel topic",),
        "the-cmd_vel-topic",
    )


def test_headings_without_text_make_no_section() -> None:
    assert parse_page("# One\n\n## Two\n\n***\n\n[ref]: https://x.y\n", mdx=False).sections == ()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("prose", "A paragraph\nof two lines."),
        ("list", "- one\n- two\n\n  more of two"),
        ("list", "3. three\n4. four"),
        ("code", "```py\na\n\n# not a heading\n```"),
        ("code", "    indented = 1"),
        ("table", "| a | b |\n| - | - |\n| 1 | 2 |"),
        ("math", "$$\nx\n\n= 1\n$$"),
        ("math", "$$\nx\n$$ (label)"),
        ("quote", "> said\n> so"),
        ("admonition", ":::warning[Fog]\n\n## Not a section\n\nSound it.\n"),
    ],
)
def test_each_block_keeps_its_kind_and_the_bytes_of_the_author(kind: str, text: str) -> None:
    closing = ":::\n\n" if kind == "admonition" else "\n"
    page = parse_page(f"Before.\n\n{text}\n{closing}After.\n", mdx=False)

    assert [b.kind for b in page.sections[0].blocks] == ["prose", kind, "prose"]
    assert page.sections[0].blocks[1].text == text.rstrip()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_gives_the_same_page(end: str) -> None:
    text = "# Lamps\n\nOne\ntwo.\n\n## Lens\n\n- a\n- b\n"

    assert parse_page(text.replace("\n", end), mdx=False) == parse_page(text, mdx=False)


def test_files_are_found_in_order_without_hidden_ones_partials_and_packages(
    write_book: WriteBook,
) -> None:
    left_out = ("_part.md", "_parts/p.md", ".git/g.md", "node_modules/n.md", "notes.txt")
    book = write_book(dict.fromkeys(("b.md", "a/z.md", "a/x.mdx", *left_out), ""))

    assert [file.name for file in markdown_files(book)] == ["b.md", "a/x.mdx", "a/z.md"]


def test_a_folder_that_links_to_its_parent_is_not_followed(write_book: WriteBook) -> None:
    folder = write_book({"a/b.md": "Text."})
    (folder / "a" / "loop").symlink_to(folder, target_is_directory=True)

    book = MarkdownFormat().read(folder, OPTIONS)

    assert [page.source for page in book.pages] == ["a/b.md"]
    assert book.skipped == (
        SkippedFile(source="a/loop", reason="link to a folder, not followed", failed=False),
    )


def test_a_folder_of_markdown_is_a_book_of_pages(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "lens.md": "---\ntitle: The lens\n---\nRound.",
            "oil/colza.md": "# Colza\n\nOily.",
            "plain.md": "No title.",
        }
    )

    book = MarkdownFormat().read(folder, IngestOptions(site_url="https://lamps.example/"))

    assert (book.title, book.kind, book.skipped) == ("book", "markdown", ())
    assert [(page.source, page.title, page.url) for page in book.pages] == [
        ("lens.md", "The lens", "https://lamps.example/lens"),
        ("plain.md", "plain", "https://lamps.example/plain"),
        ("oil/colza.md", "Colza", "https://lamps.example/oil/colza"),
    ]


def test_one_file_is_a_book_of_one_page(write_book: WriteBook) -> None:
    folder = write_book({"lens.md": "Round.", "other.md": "Not in the book."})

    book = MarkdownFormat().read(folder / "lens.md", OPTIONS)

    assert (book.title, [page.url for page in book.pages]) == ("lens", ["/lens"])


def test_a_page_that_cannot_be_read_is_reported_and_the_rest_is_read(
    write_book: WriteBook,
) -> None:
    folder = write_book({"bad.md": "---\n[\n---\n", "good.md": "Text."})

    book = MarkdownFormat().read(folder, OPTIONS)

    assert [page.source for page in book.pages] == ["good.md"]
    assert book.skipped == (
        SkippedFile(source="bad.md", reason="front matter is not valid YAML (line 3)"),
    )


def test_a_byte_order_mark_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf# Title\n")

    assert read_text(SourceFile(tmp_path / "a.md", "a.md"), OPTIONS) == "# Title\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04\0\0", "is a binary file, not text"),
        (b"caf\xe9", r"is not UTF-8 text \(byte 3\)"),
        (b"x" * 2_000_001, r"2.0 MB is more than the limit of 2 MB \(CITEWELL_INGEST__MAX_PAGE"),
    ],
)
def test_a_file_that_is_not_a_page_is_refused_with_its_reason(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    (tmp_path / "a.md").write_bytes(data)

    with pytest.raises(UnreadableFile, match=reason):
        read_text(SourceFile(tmp_path / "a.md", "a.md"), IngestOptions(max_page_bytes=2_000_000))


def test_a_link_to_nothing_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to(tmp_path / "gone.md")

    with pytest.raises(UnreadableFile, match="cannot be opened: No such file or directory"):
        read_text(SourceFile(tmp_path / "a.md", "a.md"), OPTIONS)


def test_a_device_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("/dev/zero")

    with pytest.raises(UnreadableFile, match="is not a regular file"):
        read_text(SourceFile(tmp_path / "a.md", "a.md"), OPTIONS)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read_if_it_says_so(tmp_path: Path, encoding: str) -> None:
    mark = b"" if encoding == "utf-16" else b"\xfe\xff"
    (tmp_path / "a.md").write_bytes(mark + "Größe".encode(encoding))

    assert read_text(SourceFile(tmp_path / "a.md", "a.md"), OPTIONS) == "Größe"


def test_broken_utf_16_is_refused_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfea")

    with pytest.raises(UnreadableFile, match=r"is not UTF-16 text \(byte 2\)"):
        read_text(SourceFile(tmp_path / "a.md", "a.md"), OPTIONS)


def test_a_footnote_of_one_word_is_text_and_the_target_of_a_link_is_not() -> None:
    page = parse_page("Text.[^1]\n\n[^1]: https://x.y\n\n[link]: https://z\n", mdx=False)

    assert [block.text for block in page.sections[0].blocks] == ["Text.[^1]", "[^1]: https://x.y"]


def test_what_is_indented_is_code_in_markdown_and_text_in_mdx() -> None:
    text = "<Card>\n\n    Inside.\n\n</Card>\n"

    kinds = [parse_page(text, mdx=mdx).sections[0].blocks[0].kind for mdx in (False, True)]

    assert kinds == ["code", "prose"]


def test_text_is_cut_into_blocks_without_changing_it() -> None:
    text = "# A <b>\n\n- c\n- d\n\n```\ne\n```"

    assert [(block.kind, block.text) for block in parse_blocks(text)] == [
        ("prose", "# A <b>"),
        ("list", "- c\n- d"),
        ("code", "```\ne\n```"),
    ]


def test_what_looks_like_a_tag_in_indented_code_is_code() -> None:
    page = parse_page("A <b>tag</b>.\n\n    Vec<T> <!-- c -->\n\n<i>After</i>.\n", mdx=False)

    assert [(block.kind, block.text) for block in page.sections[0].blocks] == [
        ("prose", "A tag."),
        ("code", "    Vec<T> <!-- c -->"),
        ("prose", "After."),
    ]
