from pathlib import Path

import pytest

from citewell.errors import IndexMismatch, IndexUnavailable, UnknownBook
from citewell.index.library import DiskLibrary
from citewell.index.revision import current_revision, set_current
from citewell.ingest.pipeline import ingest
from tests.servers import HashEmbedder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "books"


def put(folder: Path, book: str, text: str = "Text.") -> str:
    source = folder.parent / "sources" / book
    source.mkdir(parents=True, exist_ok=True)
    (source / "a.md").write_text(f"# A\n\n{text}")
    return ingest(source, folder, HashEmbedder(), book=book).revision


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one book, to be read only."""
    folder = tmp_path_factory.mktemp("lamps") / "books"
    put(folder, "lamps")
    return folder


@pytest.fixture(scope="module")
def lamps_and_horns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two books, to be read only."""
    folder = tmp_path_factory.mktemp("lamps-and-horns") / "books"
    put(folder, "lamps")
    put(folder, "horns")
    return folder


def shelf(folder: Path, default: str | None = None) -> DiskLibrary:
    return DiskLibrary(folder, embedder=HashEmbedder.id, default=default)


def revision_of(folder: Path, book: str) -> Path:
    revision = current_revision(folder / book)
    assert revision
    return revision


def test_an_empty_library_has_no_books_and_says_so(folder: Path) -> None:
    assert shelf(folder).books() == []
    with pytest.raises(UnknownBook, match=r"^No book has been ingested yet\.$"):
        shelf(folder).open(None)
    with pytest.raises(UnknownBook, match=r"no book 'lamps'\. None has been ingested yet\.$"):
        shelf(folder).open("lamps")


def test_the_only_book_need_not_be_named(lamps: Path) -> None:
    assert shelf(lamps).open(None).book == shelf(lamps).open("lamps").book == "lamps"


def test_one_of_several_books_must_be_named(lamps_and_horns: Path) -> None:
    library = shelf(lamps_and_horns)

    assert [manifest.book for manifest in library.books()] == ["horns", "lamps"]
    assert library.open("horns").book == "horns"
    with pytest.raises(UnknownBook, match=r"^Name a book\. Known: horns, lamps\.$"):
        library.open(None)


def test_the_default_book_is_meant_when_none_is_named(lamps_and_horns: Path) -> None:
    library = shelf(lamps_and_horns, default="horns")

    assert library.open(None).book == "horns"
    assert library.open("lamps").book == "lamps"


@pytest.mark.parametrize("name", ["horns", "../books", "lamps\0", "x" * 300])
def test_an_unknown_book_is_named_with_the_known_ones(lamps: Path, name: str) -> None:
    with pytest.raises(UnknownBook) as caught:
        shelf(lamps).open(name)
    assert str(caught.value) == f"There is no book {name!r}. Known: lamps."


def test_a_book_is_opened_once_until_a_new_revision_is_there(folder: Path) -> None:
    put(folder, "lamps", "Old.")
    library = shelf(folder)
    first = library.open("lamps")
    assert library.open(None) is first
    revision = put(folder, "lamps", "New.")
    second = library.open("lamps")

    assert second.revision == revision != first.revision
    assert [chunk.text for chunk in second.page("a.md")] == ["New."]
    assert [chunk.text for chunk in first.page("a.md")] == ["Old."]


def test_a_closed_library_opens_its_books_again(lamps: Path) -> None:
    library = shelf(lamps)
    first = library.open("lamps")
    library.close()

    with pytest.raises(IndexUnavailable):
        first.page("a.md")
    assert len(library.open("lamps").page("a.md")) == 1


@pytest.mark.parametrize("part", ["manifest.json", "terms.json", "shard"])
def test_a_revision_that_lacks_a_part_is_unavailable(folder: Path, part: str) -> None:
    put(folder, "lamps")
    revision = revision_of(folder, "lamps")
    (revision / part).rename(revision / "lost")

    with pytest.raises(IndexUnavailable):
        shelf(folder).open("lamps")


def test_damaged_statistics_are_unavailable_and_name_the_book(folder: Path) -> None:
    put(folder, "lamps")
    (revision_of(folder, "lamps") / "terms.json").write_text("{}")

    with pytest.raises(IndexUnavailable, match=r"'lamps' is incomplete or damaged; ingest the"):
        shelf(folder).open("lamps")


def test_a_revision_that_is_gone_is_unavailable_and_names_the_book(folder: Path) -> None:
    put(folder, "lamps")
    set_current(folder / "lamps", "gone")

    with pytest.raises(IndexUnavailable, match=r"'lamps' is incomplete or has another format"):
        shelf(folder).open("lamps")
    assert shelf(folder).books() == []


def test_an_index_of_another_embedder_names_both(lamps: Path) -> None:
    with pytest.raises(IndexMismatch) as caught:
        DiskLibrary(lamps, embedder="granite@1").open("lamps")
    assert str(caught.value) == (
        "The index of 'lamps' was built with the embedder 'hash@1', but 'granite@1' is configured."
    )
