import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from citewell.domain import Book, SkippedFile
from citewell.errors import UnreadableFile, UnsupportedSource
from citewell.ingest.formats.mdbook import MdBookFormat, page_path, parse_summary
from citewell.ingest.formats.navigation import NavigationPage
from citewell.options import IngestOptions

OPTIONS = IngestOptions()
WriteBook = Callable[[Mapping[str, str]], Path]
SUMMARY = "# Summary\n\n- [A](a.md)\n"


def read(root: Path, options: IngestOptions = OPTIONS) -> Book:
    return MdBookFormat().read(root, options)


def text_of(book: Book) -> str:
    return "\n\n".join(b.text for p in book.pages for s in p.sections for b in s.blocks)


def test_the_summary_gives_order_titles_parts_and_nesting() -> None:
    heading, chapters = parse_summary(
        "# Summary\n\n[Preface](preface.md)\n\n- [Lamps](lamps/README.md)\n"
        "    - [The `lens`](./lamps/lens.md)\n        - [Rings](lamps/rings%20and.md)\n"
        "- [Draft]()\n\n---\n\n# Oil\n\n"
        "* [Colza](<oil/co lza.md>)\n  1. [Whale](oil/whale_(x).md)\n"
        "<!-- - [Gone](gone.md) -->\n\n-----------\n\n[Thanks](thanks.md)\n"
    )

    assert heading == "Summary"
    assert [(c.title, c.path, c.part) for c in chapters] == [
        ("Preface", "preface.md", ""),
        ("Lamps", "lamps/README.md", ""),
        ("The lens", "lamps/lens.md", "Lamps"),
        ("Rings", "lamps/rings and.md", "Lamps"),
        ("Draft", "", ""),
        ("Colza", "oil/co lza.md", "Oil"),
        ("Whale", "oil/whale_(x).md", "Oil"),
        ("Thanks", "thanks.md", ""),
    ]


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("a.md", "a.html"),
        ("README.md", "index.html"),
        ("part/readme.md", "part/index.html"),
        ("part/index.md", "part/index.html"),
        ("two words.md", "two%20words.html"),
    ],
)
def test_a_chapter_has_the_address_that_mdbook_gives_it(path: str, address: str) -> None:
    assert page_path(path) == address


def test_the_configuration_names_the_book_its_folder_and_its_address(
    write_book: WriteBook,
) -> None:
    root = write_book(
        {
            "book.toml": '[book]\ntitle = "Lamps"\nsrc = "text"\n'
            '[output.html]\nsite-url = "/lamps/"\n',
            "text/SUMMARY.md": SUMMARY,
            "text/a.md": "# Other\n\nOne.\n\n## Two {#two .wide}\n\nTwo.\n",
        }
    )

    book = read(root)

    assert (book.title, book.kind) == ("Lamps", "mdbook")
    assert [(p.source, p.title, p.url) for p in book.pages] == [("text/a.md", "A", "/lamps/a.html")]
    assert [(s.path, s.anchor) for s in book.pages[0].sections] == [
        (("A",), ""),
        (("A", "Two"), "two"),
    ]
    assert read(root, IngestOptions(site_url="https://x.y/")).pages[0].url == "https://x.y/a.html"


@pytest.mark.parametrize("place", ["src/", ""])
def test_a_summary_alone_makes_a_book(write_book: WriteBook, place: str) -> None:
    root = write_book({f"{place}SUMMARY.md": SUMMARY, f"{place}a.md": "One."})

    assert MdBookFormat().matches(root)
    assert text_of(read(root)) == "One."


def test_the_source_folder_stands_for_its_book(write_book: WriteBook) -> None:
    root = write_book(
        {"src/SUMMARY.md": SUMMARY, "src/a.md": "{{#include ../code/x.rs}}", "code/x.rs": "fn x()"}
    )

    assert read(root / "src").pages == read(root).pages
    assert text_of(read(root)) == "fn x()"


@pytest.mark.parametrize(
    ("span", "lines"),
    [
        ("", "1|2|3|4"),
        (":2", "2"),
        (":2:3", "2|3"),
        (":3:", "3|4"),
        ("::2", "1|2"),
        (":9:12", ""),
    ],
)
def test_an_include_takes_the_lines_it_asks_for(
    write_book: WriteBook, span: str, lines: str
) -> None:
    root = write_book(
        {"SUMMARY.md": SUMMARY, "a.md": f"{{{{#include x.txt{span}}}}}", "x.txt": "1\n2\n3\n4\n"}
    )

    assert text_of(read(root)) == lines.replace("|", "\n")


@pytest.mark.parametrize("directive", ["include", "rustdoc_include"])
def test_an_include_takes_what_stands_between_its_anchors(
    write_book: WriteBook, directive: str
) -> None:
    root = write_book(
        {
            "SUMMARY.md": SUMMARY,
            "a.md": f"```rust\n{{{{#{directive} x.rs:here}}}}\n```",
            "x.rs": "no\n// ANCHOR: here\nyes\n// ANCHOR: in\nmore\n// ANCHOR_END: here\nno\n",
        }
    )

    assert text_of(read(root)) == "```rust\nyes\nmore\n```"


def test_playgrounds_are_code_titles_are_not_text_and_escapes_are_shown(
    write_book: WriteBook,
) -> None:
    root = write_book(
        {
            "SUMMARY.md": SUMMARY,
            "a.md": "{{#title T}}\n\n{{#playground x.rs editable}}\n\n"
            "Write \\{{#include y}}.\n\n{{#unknown z}}",
            "x.rs": "fn x() {}",
        }
    )

    assert text_of(read(root)) == (
        "```rust\nfn x() {}\n```\n\nWrite {{#include y}}.\n\n{{#unknown z}}"
    )


def test_includes_are_found_from_the_file_that_holds_them(write_book: WriteBook) -> None:
    root = write_book(
        {
            "SUMMARY.md": SUMMARY,
            "a.md": "{{#include parts/b.md}}",
            "parts/b.md": "B. {{#include c.md}}",
            "parts/c.md": "C.",
        }
    )

    assert text_of(read(root)) == "B. C."


def test_an_include_that_is_missing_is_noted_and_the_page_is_kept(write_book: WriteBook) -> None:
    root = write_book({"SUMMARY.md": SUMMARY, "a.md": "Before.\n\n{{#include gone.md}}\n"})

    book = read(root)

    assert text_of(book) == "Before."
    assert book.skipped == (
        SkippedFile(source="gone.md", reason="does not exist (included by a.md)", failed=False),
    )


@pytest.mark.parametrize("path", ["../secret.txt", "../book-two/secret.txt", "link.txt"])
def test_an_include_does_not_climb_out_of_the_book(write_book: WriteBook, path: str) -> None:
    root = write_book({"SUMMARY.md": SUMMARY, "a.md": f"Before. {{{{#include {path}}}}}"})
    outside = root.parent / path.removeprefix("../")
    outside.parent.mkdir(exist_ok=True)
    outside.write_text("Secret.")
    if path == "link.txt":
        (root / path).symlink_to(outside)

    book = read(root)

    assert text_of(book) == "Before."
    assert "lies outside the book's folder" in book.skipped[0].reason
    assert book.skipped[0].failed


def test_files_that_include_each_other_are_reported(write_book: WriteBook) -> None:
    root = write_book(
        {"SUMMARY.md": SUMMARY, "a.md": "A. {{#include b.md}}", "b.md": "B. {{#include a.md}}"}
    )

    book = read(root)

    assert text_of(book) == "A. B."
    assert [skip.reason for skip in book.skipped] == ["includes itself (included by a.md)"]


def test_includes_that_multiply_are_stopped_by_the_size_limit(write_book: WriteBook) -> None:
    files = {f"{n}.md": f"{{{{#include {n + 1}.md}}}} " * 10 for n in range(9)}
    root = write_book({"SUMMARY.md": "- [A](0.md)", **files, "9.md": "x" * 1000})

    book = read(root, IngestOptions(max_page_bytes=20_000))

    assert book.pages == ()
    assert "with the files it includes, is larger than the limit" in book.skipped[0].reason


def test_hidden_lines_of_rust_code_are_left_out(write_book: WriteBook) -> None:
    code = "# use x;\n#[derive(A)]\n#\nfn f() {\n    # hidden\n## shown\n}"
    root = write_book(
        {
            "SUMMARY.md": SUMMARY,
            "a.md": f"```rust,ignore\n{code}\n```\n\n```python\n# comment\n```\n",
        }
    )

    assert text_of(read(root)) == (
        "```rust,ignore\n#[derive(A)]\nfn f() {\n# shown\n}\n```\n\n```python\n# comment\n```"
    )


def test_a_heading_that_repeats_the_title_is_not_a_section_of_its_own(
    write_book: WriteBook,
) -> None:
    root = write_book({"SUMMARY.md": SUMMARY, "a.md": "## A\n\nOne.\n\n### B\n\nTwo.\n"})

    assert [(s.path, s.anchor) for s in read(root).pages[0].sections] == [
        (("A",), "a"),
        (("A", "B"), "b"),
    ]


def test_chapters_that_cannot_be_read_are_reported(write_book: WriteBook) -> None:
    root = write_book(
        {"SUMMARY.md": "- [A](a.md)\n- [B](gone.md)\n- [C](../c.md)\n- [D](%00)\n", "a.md": "One."}
    )
    (root.parent / "c.md").write_text("Out.")

    book = read(root)

    assert [p.source for p in book.pages] == ["a.md"]
    assert [(s.source, s.reason) for s in book.skipped[:2]] == [
        ("gone.md", "cannot be opened: No such file or directory"),
        ("../c.md", "lies outside the book's folder"),
    ]


def test_a_chapter_listed_twice_is_one_page(write_book: WriteBook) -> None:
    root = write_book({"SUMMARY.md": "- [A](a.md)\n- [B](a.md)\n", "a.md": "One."})

    assert [p.title for p in read(root).pages] == ["A"]
    assert parse_summary("[x](a.md)")[1] == [NavigationPage(title="x", path="a.md", part="")]


@pytest.mark.parametrize("config", ["title = [", "\xff", "a = " + "[" * 2000])
def test_a_broken_configuration_is_named(write_book: WriteBook, config: str) -> None:
    root = write_book({"src/SUMMARY.md": SUMMARY})
    (root / "book.toml").write_bytes(config.encode("latin-1"))

    with pytest.raises(UnreadableFile, match=r"book\.toml cannot be read: "):
        read(root)


def test_a_book_without_a_summary_is_named(write_book: WriteBook) -> None:
    root = write_book({"book.toml": "", "src/a.md": "A."})

    with pytest.raises(UnsupportedSource, match=r"has no SUMMARY\.md, so it is not an mdBook"):
        read(root)


def test_every_file_that_decides_what_the_book_says_is_listed(write_book: WriteBook) -> None:
    root = write_book(
        {
            "book.toml": "",
            "src/SUMMARY.md": SUMMARY,
            "src/a.md": "{{#include b.md}} {{#include ../gone.rs}}",
            "src/b.md": "{{#include ../code/c.rs}}",
            "code/c.rs": "c",
            "src/other.md": "No part of the book.",
        }
    )

    names = [os.path.normpath(file.name) for file in MdBookFormat().files(root)]

    assert names == [
        "book.toml",
        "src/SUMMARY.md",
        "src/a.md",
        "src/b.md",
        "code/c.rs",
        "gone.rs",
    ]
