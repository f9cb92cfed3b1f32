"""Several books in one data folder: listed, chosen, carried away, removed."""

import json
import re
from pathlib import Path

import pytest

from citewell.index.revision import current_revision
from tests.cli.conftest import Citewell
from tests.servers import write_tiny_book

HORNS = "# Horns\n\nThe fog horn sounds twice a minute because sailors cannot see the light.\n"


@pytest.fixture(scope="module")
def two_books(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two books, embedded by the real model, to be read only."""
    from citewell.ingest.pipeline import ingest
    from citewell.settings import Settings
    from citewell.wiring import books_folder, build_embedder

    data = tmp_path_factory.mktemp("two-books")
    (data / "models").symlink_to(sample_data / "models")
    settings = Settings(data_dir=data)
    write_tiny_book(data / "sources" / "tiny")
    (data / "sources" / "horns.md").write_text(HORNS)
    for source in ("tiny", "horns.md"):
        ingest(data / "sources" / source, books_folder(settings), build_embedder(settings))
    return data


def test_the_books_are_listed_with_what_they_are_made_of(
    citewell: Citewell, two_books: Path
) -> None:
    shown = citewell("books", data=two_books)
    listed = json.loads(citewell("books", "--json", data=two_books).stdout)

    assert shown.returncode == 0
    assert "tiny: The Tiny Book\n  docusaurus, 3 pages, 4 chunks" in shown.stdout
    assert re.search(r"revision [0-9a-f]{16} by granite-embedding-30m-english@1, 20", shown.stdout)
    assert [(line["book"], line["chunks"]) for line in listed] == [("horns", 1), ("tiny", 4)]
    assert all(line["bytes"] > 10_000 for line in listed)


def test_a_question_is_about_the_book_that_is_named(citewell: Citewell, two_books: Path) -> None:
    both = citewell("search", "What sounds in fog?", data=two_books)
    horns = citewell("search", "What sounds in fog?", "--book", "horns", data=two_books)
    tiny = citewell("search", "What sounds in fog?", "--book", "tiny", data=two_books)

    assert both.returncode == 1
    assert "Name a book. Known: horns, tiny." in both.stderr
    assert "sounds twice a minute" in horns.stdout
    assert "twice a minute" not in tiny.stdout


def test_a_book_is_ingested_under_the_name_it_is_given(
    citewell: Citewell, two_books: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "models").symlink_to(two_books / "models")
    book = write_tiny_book(tmp_path / "sources")

    for name in ("one", "two"):
        assert citewell("ingest", str(book), "--book", name, data=data).returncode == 0

    listed = json.loads(citewell("books", "--json", data=data).stdout)
    assert [line["book"] for line in listed] == ["one", "two"]


def test_a_removed_book_is_gone(citewell: Citewell, two_books: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    citewell("export", "horns", "horns.citewell", data=two_books)
    citewell("import", "horns.citewell", data=data)

    removed = citewell("books", "remove", "horns", data=data)

    assert "Removed 'horns'" in removed.stderr
    assert list((data / "books").iterdir()) == []
    assert not any(HORNS.encode()[9:40] in f.read_bytes() for f in data.rglob("*") if f.is_file())
    asked = citewell("search", "fog", "--book", "horns", data=data)
    assert "There is no book 'horns'." in asked.stderr


def test_a_book_is_carried_to_another_data_folder_in_one_file(
    citewell: Citewell, two_books: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"

    exported = citewell("export", "tiny", "tiny.citewell", data=two_books)
    again = citewell("export", "tiny", "tiny.citewell", data=two_books)
    forced = citewell("export", "tiny", "tiny.citewell", "--force", data=two_books)
    imported = citewell("import", "tiny.citewell", data=data)

    assert (exported.returncode, again.returncode, forced.returncode) == (0, 1, 0)
    assert "tiny.citewell exists; --force replaces it." in again.stderr
    assert imported.returncode == 0, imported.stderr
    assert "3 pages, 4 sections, 4 chunks" in imported.stderr
    (data / "models").symlink_to(two_books / "models")
    found = citewell("search", "What saves glass?", data=data)
    assert "Fresnel" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("books", "remove", "gone"), "There is no book 'gone'. Known: horns, tiny."),
        (("books", "remove", "../books"), "There is no book '../books'."),
        (("books", "report", "gone"), "There is no book 'gone'."),
        (("export", "gone", "x.citewell"), "There is no book 'gone'. Known: horns, tiny."),
        (("export", "tiny", "no/folder/x"), "no/folder/x cannot be written"),
        (("import", "gone.citewell"), "gone.citewell cannot be read: No such file or directory."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    citewell: Citewell, two_books: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    run = citewell(*arguments, data=two_books)

    assert run.returncode == 1
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr


def test_a_book_that_is_damaged_is_listed_as_such(
    citewell: Citewell, two_books: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    citewell("export", "horns", "horns.citewell", data=two_books)
    citewell("import", "horns.citewell", data=data)
    folder = current_revision(data / "books" / "horns")
    assert folder
    (folder / "manifest.json").write_text("{")

    listed = citewell("books", data=data)

    assert listed.returncode == 1
    assert "horns: damaged or of another version; ingest it again." in listed.stderr
    assert citewell("books", "remove", "horns", data=data).returncode == 0


def test_an_empty_data_folder_says_so(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("books", data=tmp_path / "none")

    assert run.returncode == 0
    assert "No book has been ingested" in run.stderr


def test_what_was_noticed_can_be_read_again(
    citewell: Citewell, two_books: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "models").symlink_to(two_books / "models")
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.md").write_text("# A\n\n" + "".join(f"[{n}](gone{n}.md)\n" for n in range(9)))
    (pages / "bare.md").write_text("# Bare\n")
    (pages / "broken.md").write_text("<!-- open")

    run = citewell("ingest", str(pages), "--json", data=data)
    shown = citewell("books", "report", "pages", data=data)
    whole = citewell("books", "report", "pages", "--verbose", data=data)
    stored = citewell("books", "report", "pages", "--json", data=data)

    assert run.returncode == 3
    assert json.loads(run.stdout) == json.loads(stored.stdout)
    assert re.search(
        r"2 pages, 1 sections, 1 chunks, \d+ tokens; 1 embedded, \d+\.\d s", run.stderr
    )
    assert "skipped broken.md: the comment opened in line 1 is never closed" in shown.stdout
    assert "9 broken links" in shown.stdout
    assert "a.md → gone4.md: there is no such page\n    and 4 more (--verbose)" in shown.stdout
    assert "1 pages without text\n    bare.md" in shown.stdout
    assert "gone8.md" in whole.stdout
