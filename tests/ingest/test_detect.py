import os
from pathlib import Path

import pytest

from citewell.errors import UnsupportedSource
from citewell.ingest.detect import FORMAT_NAMES, detect_format
from citewell.ingest.formats.markdown import MarkdownFormat
from citewell.ingest.pipeline import ingest
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook, as_nobody
from tests.servers import HashEmbedder


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"docusaurus.config.ts": "", "docs/a.md": "A."}, "docusaurus"),
        ({"docs/a.md": "A."}, "markdown"),
        ({"a.mdx": "A."}, "markdown"),
    ],
)
def test_the_reader_is_chosen_by_what_the_folder_holds(
    write_book: WriteBook, files: dict[str, str], kind: str
) -> None:
    assert detect_format(write_book(files)).name == kind


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSource, match=r"/nowhere does not exist\.$"):
        detect_format(tmp_path / "nowhere")


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()

    with pytest.raises(UnsupportedSource, match=r"/void is an empty folder\.$"):
        detect_format(tmp_path / "void")


def test_a_folder_without_markdown_is_named(write_book: WriteBook) -> None:
    folder = write_book({"notes.txt": "Text."})

    with pytest.raises(UnsupportedSource) as caught:
        detect_format(folder)
    assert str(caught.value) == (
        f"{folder} holds no book that Citewell can read: no Markdown files and no other format"
        f" ({', '.join(FORMAT_NAMES)})."
    )


def test_a_folder_that_may_not_be_listed_is_named(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700 if os.geteuid() == 0 else 0)

    with as_nobody(), pytest.raises(UnsupportedSource, match="/closed cannot be read: Permission"):
        detect_format(closed)


def test_parts_of_a_book_that_may_not_be_opened_are_reported(open_folder: Path) -> None:
    (open_folder / "a.md").write_text("Text.")
    (open_folder / "closed.md").write_text("Text.")
    (open_folder / "closed.md").chmod(0o600 if os.geteuid() == 0 else 0)
    (open_folder / "part").mkdir(mode=0o700 if os.geteuid() == 0 else 0)

    with as_nobody():
        book = MarkdownFormat().read(open_folder, IngestOptions())

    assert [page.source for page in book.pages] == ["a.md"]
    assert [(skip.source, skip.reason, skip.failed) for skip in book.skipped] == [
        ("closed.md", "cannot be opened: Permission denied", True),
        ("part", "cannot be opened: Permission denied", True),
    ]


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"book.toml": "", "src/SUMMARY.md": "[A](a.md)"}, "mdbook"),
        ({"SUMMARY.md": "[A](a.md)", "a.md": "A."}, "mdbook"),
        ({"mkdocs.yml": "", "docs/a.md": "A."}, "mkdocs"),
        ({"_toctree.yml": "", "a.mdx": "A."}, "hfdocs"),
        ({"a.jsonl": "{}"}, "jsonl"),
        ({"a.jsonl": "{}", "a.md": "A."}, "markdown"),
        ({"docs/_category_.json": "{}", "docs/a.md": "A."}, "docusaurus"),
        ({"docs/a.md": "---\nsidebar_position: 1\n---\nA."}, "docusaurus"),
        ({"docs/a.mdx": "---\nslug: /\n---\nA."}, "docusaurus"),
        ({"docs/a.md": "---\nslug: /\n---\nA."}, "markdown"),
        ({"README.md": "R.", "web/docusaurus.config.js": "", "web/docs/a.md": "A."}, "docusaurus"),
        ({"web/docs/_category_.yml": "", "web/docs/a.md": "A."}, "docusaurus"),
        (
            {"web/docusaurus.config.js": "", "other/docusaurus.config.js": "", "a.md": ""},
            "markdown",
        ),
        ({"web/docusaurus.config.js": "", "mkdocs.yml": "", "docs/a.md": "A."}, "mkdocs"),
        ({"docs/a.md": "slug: in the text", "docs/b.mdx": "B."}, "markdown"),
    ],
)
def test_each_format_is_recognised_by_its_own_files(
    write_book: WriteBook, files: dict[str, str], kind: str
) -> None:
    assert detect_format(write_book(files)).name == kind


def test_docs_without_a_configuration_have_the_defaults_of_docusaurus(
    write_book: WriteBook,
) -> None:
    site = write_book({"docs/part/a.mdx": "---\nslug: /first\nsidebar_position: 1\n---\nA."})

    for root in (site, site / "docs"):
        pages = detect_format(root).read(root, IngestOptions(site_url="https://x.y")).pages
        assert [(p.source, p.url) for p in pages] == [("docs/part/a.mdx", "https://x.y/docs/first")]


def test_a_format_that_is_named_is_not_looked_for(write_book: WriteBook) -> None:
    folder = write_book({"mkdocs.yml": "", "docs/a.md": "A."})

    assert detect_format(folder, "markdown").name == "markdown"
    assert [p.url for p in detect_format(folder, "mkdocs").read(folder, IngestOptions()).pages] == [
        "/a/"
    ]


def test_a_format_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSource) as caught:
        detect_format(tmp_path, "word")
    assert str(caught.value) == (
        f"There is no format 'word': use one of {', '.join(FORMAT_NAMES)}."
    )


def test_a_changed_include_is_a_changed_book(write_book: WriteBook, tmp_path: Path) -> None:
    folder = write_book(
        {"SUMMARY.md": "[A](a.md)", "a.md": "Text. {{#include b.txt}}", "b.txt": "One."}
    )
    first = ingest(folder, tmp_path / "data", HashEmbedder(), format="mdbook")
    second = ingest(folder, tmp_path / "data", HashEmbedder(), format="mdbook")
    (folder / "b.txt").write_text("Two.")
    third = ingest(folder, tmp_path / "data", HashEmbedder(), format="mdbook")

    assert (first.kind, first.pages) == ("mdbook", 1)
    assert [report.changed for report in (first, second, third)] == [True, False, True]


def test_names_and_titles_that_no_utf_8_can_hold_are_written_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("One.")
    (folder / "b.md").write_text('---\ntitle: "\\ud800"\n---\nTwo.')

    report = ingest(folder, tmp_path / "data", HashEmbedder())

    assert (report.pages, report.skipped) == (2, ())
