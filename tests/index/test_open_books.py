"""Some hundred books: what a process holds does not grow with their number."""

import gc
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from citewell.index.book import BookIndex
from citewell.index.library import DiskLibrary
from citewell.index.revision import current_revision
from tests.servers import HashEmbedder

BOOKS = 300
OPEN = 8
MAPS = Path("/proc/self/maps")
ASKED = HashEmbedder().embed_query("lens")


@pytest.fixture(scope="module")
def shelf(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many books that say the same; their files are the same files."""
    folder = tmp_path_factory.mktemp("many") / "books"
    made = current_revision(tiny_data / "books" / "tiny")
    assert made
    for number in range(BOOKS):
        book = folder / f"book-{number:03}"
        revision = book / "revisions" / made.name
        shutil.copytree(made, revision, copy_function=_link)
        manifest = json.loads((made / "manifest.json").read_text()) | {"book": book.name}
        (revision / "manifest.json").unlink()
        (revision / "manifest.json").write_text(json.dumps(manifest))
        (book / "current").write_text(made.name)
    return folder


def _link(source: str, target: str) -> None:
    # What the engine rewrites when it opens a shard is each book's own.
    if source.endswith(".json"):
        shutil.copy(source, target)
    else:
        os.link(source, target)


def held() -> set[str]:
    """Return the books whose files this process has mapped or open."""
    gc.collect()
    files = [MAPS.read_text(), *(str(one.readlink()) for one in _descriptors())]
    return {name for text in files for name in re.findall(r"/many0/books/(book-\d+)/", text)}


def _descriptors() -> list[Path]:
    return [one for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux tells what a process holds")
@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.cluster)])
def test_only_the_last_few_of_many_books_stay_open(shelf: Path, step: int) -> None:
    library = DiskLibrary(shelf, embedder=HashEmbedder.id, max_open=OPEN)
    names = [manifest.book for manifest in library.books()]
    first = library.open(names[0])
    most = 0
    for place, name in enumerate(names[1::step]):
        index = library.open(name)
        assert index.book == name
        assert index.page("docs/lamps/01-lens.md")
        if place % 10 == 9:
            most = max(most, len(held()))

    assert len(names) == BOOKS
    assert OPEN <= most <= OPEN + 2
    # Who had one before it was let go of can still read in it.
    assert first.page("docs/lamps/01-lens.md")
    assert library.open(names[0]) is not first
    last = library.open(names[-1])
    assert library.open(names[-1]) is last
    library.close()
    del first, last, index
    assert held() == set()


def test_a_message_names_a_few_of_many_books(shelf: Path) -> None:
    library = DiskLibrary(shelf, embedder=HashEmbedder.id)

    with pytest.raises(Exception, match=r"Known: book-000, .*, book-009, …$"):
        library.open(None)


def test_a_book_that_many_ask_for_at_once_is_opened_once(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = DiskLibrary(shelf, embedder=HashEmbedder.id)
    together = Barrier(8)
    loaded: list[str] = []
    load = DiskLibrary._load

    def slowly(self: DiskLibrary, name: str) -> BookIndex:
        loaded.append(name)
        return load(self, name)

    def opened(_: int) -> BookIndex:
        together.wait()
        return library.open("book-000")

    monkeypatch.setattr(DiskLibrary, "_load", slowly)
    with ThreadPoolExecutor(8) as readers:
        indexes = set(readers.map(opened, range(8)))

    assert len(indexes) == 1
    assert loaded == ["book-000"]
    library.close()
