import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from quire.errors import UnsupportedSource
from quire.ingest.options import IngestOptions
from quire.ingest.readers.markdown import MarkdownReader
from quire.ingest.source import find_reader

WriteBook = Callable[[Mapping[str, str]], Path]
NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="quire-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, so these tests step down for a moment."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


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
    assert find_reader(write_book(files)).kind == kind


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSource, match=r"/nowhere does not exist\.$"):
        find_reader(tmp_path / "nowhere")


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()

    with pytest.raises(UnsupportedSource, match=r"/void is an empty folder\.$"):
        find_reader(tmp_path / "void")


def test_a_folder_without_markdown_is_named(write_book: WriteBook) -> None:
    folder = write_book({"notes.txt": "Text."})

    with pytest.raises(UnsupportedSource) as caught:
        find_reader(folder)
    assert str(caught.value) == (
        f"{folder} holds no book that Quire can read: no Markdown files and no other format"
        " (docusaurus, mdbook, mkdocs, hfdocs, jsonl, markdown)."
    )


def test_a_folder_that_may_not_be_listed_is_named(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700 if os.geteuid() == 0 else 0)

    with as_nobody(), pytest.raises(UnsupportedSource, match="/closed cannot be read: Permission"):
        find_reader(closed)


def test_parts_of_a_book_that_may_not_be_opened_are_reported(open_folder: Path) -> None:
    (open_folder / "a.md").write_text("Text.")
    (open_folder / "closed.md").write_text("Text.")
    (open_folder / "closed.md").chmod(0o600 if os.geteuid() == 0 else 0)
    (open_folder / "part").mkdir(mode=0o700 if os.geteuid() == 0 else 0)

    with as_nobody():
        book = MarkdownReader().read(open_folder, IngestOptions())

    assert [page.source for page in book.pages] == ["a.md"]
    assert [(skip.source, skip.reason, skip.failed) for skip in book.skipped] == [
        ("closed.md", "cannot be opened: Permission denied", True),
        ("part", "cannot be opened: Permission denied", True),
    ]
