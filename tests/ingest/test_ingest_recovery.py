"""An ingest that is interrupted, and indexes that are damaged."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from citewell.domain import Filters
from citewell.errors import BookBusy, IndexUnavailable
from citewell.index.library import DiskLibrary
from citewell.index.revision import current_revision
from citewell.ingest.pipeline import BATCH, ingest
from citewell.ports import Vectors
from tests.ingest.ingest_helpers import (
    LAMPS,
    Content,
    WriteBook,
    content,
    ingest_lamps,
    paused_ingest,
)
from tests.servers import HashEmbedder


class Interrupted(Exception):
    """What stands for a power cut."""


class FailingEmbedder(HashEmbedder):
    """Embeds one batch and fails at the next."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.embedded:
            raise Interrupted
        return super().embed_passages(texts)


@pytest.mark.parametrize("part", ["manifest.json", "terms.json", "chunks.jsonl"])
def test_a_revision_that_lost_a_part_is_made_again(
    write_book: WriteBook, library: Path, part: str
) -> None:
    book = write_book({"a.md": "# A\n\nText."})
    ingest_lamps(book, library)
    whole = content(library)
    revision = current_revision(library / "lamps")
    assert revision
    (revision / part).unlink()
    write_book({"a.md": "# A\n\nText.\n"})
    ingest_lamps(book, library)

    again = current_revision(library / "lamps")
    assert again
    assert (again / part).is_file()
    assert content(library) == whole


def largest(folder: Path) -> Path:
    return max((p for p in folder.rglob("*.dat")), key=lambda p: p.stat().st_blocks)


def cut_short(shard: Path) -> None:
    with largest(shard).open("r+b") as file:
        file.truncate(10)


def overwrite(shard: Path) -> None:
    largest(shard).write_bytes(b"x" * largest(shard).stat().st_size)


@pytest.mark.parametrize("spoil", [shutil.rmtree, cut_short, overwrite])
def test_an_index_that_is_damaged_is_made_again_though_the_book_is_the_same(
    write_book: WriteBook, library: Path, spoil: Callable[[Path], None]
) -> None:
    book = write_book(LAMPS)
    ingest_lamps(book, library)
    whole = content(library)
    revision = current_revision(library / "lamps")
    assert revision
    spoil(revision / "shard")
    again = HashEmbedder()

    report = ingest_lamps(book, library, again)

    assert (report.changed, report.embedded, again.embedded) == (True, 0, [])
    assert content(library) == whole
    assert not ingest_lamps(book, library).changed


@pytest.mark.parametrize("spoil", [shutil.rmtree, cut_short])
def test_an_index_that_lost_files_is_refused_instead_of_opened(
    write_book: WriteBook, library: Path, spoil: Callable[[Path], None]
) -> None:
    ingest_lamps(write_book({"a.md": "# A\n\nText."}), library)
    revision = current_revision(library / "lamps")
    assert revision
    spoil(revision / "shard")

    with pytest.raises(IndexUnavailable, match="incomplete or damaged; ingest the book again"):
        DiskLibrary(library, embedder=HashEmbedder.id).open("lamps")


@pytest.mark.parametrize("damage", ["{not json", "[]", "{}", '{"id": "x", "path": 1}'])
def test_damaged_chunks_of_the_old_revision_do_not_stop_a_new_one(
    write_book: WriteBook, library: Path, damage: str
) -> None:
    book = write_book({"a.md": "# A\n\nOld."})
    ingest_lamps(book, library)
    revision = current_revision(library / "lamps")
    assert revision
    (revision / "chunks.jsonl").write_text(damage)
    write_book({"a.md": "# A\n\nNew."})

    assert ingest_lamps(book, library).changed


def test_an_interrupted_ingest_goes_on_where_it_stopped(
    write_book: WriteBook, library: Path, uninterrupted: tuple[str, Content]
) -> None:
    book = write_book(LAMPS)
    failing = FailingEmbedder()
    with pytest.raises(Interrupted):
        ingest_lamps(book, library, failing)
    rest = HashEmbedder()
    report = ingest_lamps(book, library, rest)

    assert len(failing.embedded) == BATCH
    assert report.embedded == len(rest.embedded) == 100 - BATCH
    assert not set(failing.embedded) & set(rest.embedded)
    assert content(library) == uninterrupted


@pytest.mark.parametrize(
    ("at", "left"),
    [
        ("embed", 100 - BATCH),
        ("build_shard", 0),
        ("write_statistics", 0),
        ("record_checksums", 0),
        ("write_manifest", 0),
        ("set_current", 0),
    ],
)
def test_an_ingest_killed_at_any_point_goes_on_and_ends_the_same(
    write_book: WriteBook, library: Path, uninterrupted: tuple[str, Content], at: str, left: int
) -> None:
    book = write_book(LAMPS)
    with paused_ingest(book, library, at):
        assert DiskLibrary(library, embedder=HashEmbedder.id).books() == []
    report = ingest_lamps(book, library)

    assert report.embedded == left
    assert content(library) == uninterrupted
    assert [f.name for f in (library / "lamps" / "revisions").iterdir()] == [report.revision]


@pytest.mark.parametrize("at", ["embed", "set_current"])
def test_readers_keep_the_old_revision_until_the_new_one_is_complete(
    write_book: WriteBook, library: Path, at: str
) -> None:
    book = write_book({"a.md": "# A\n\nThe old words."})
    old = ingest_lamps(book, library)
    shelf = DiskLibrary(library, embedder=HashEmbedder.id)
    query = HashEmbedder().embed_query("words")

    def seen() -> tuple[str, str]:
        index = shelf.open("lamps")
        ((best, _), *_) = index.rank("words", query, filters=Filters(), depth=1).dense
        return index.revision, index.fetch([best])[0][0].text

    assert seen() == (old.revision, "The old words.")
    write_book({"a.md": "# A\n\nThe new words.", **LAMPS})
    with paused_ingest(book, library, at):
        assert seen() == (old.revision, "The old words.")
    assert seen() == (old.revision, "The old words.")
    for name in LAMPS:
        (book / name).unlink()
    new = ingest_lamps(book, library)

    assert seen() == (new.revision, "The new words.")


def test_a_book_that_another_process_ingests_is_busy(write_book: WriteBook, library: Path) -> None:
    book = write_book(LAMPS)
    with paused_ingest(book, library, "embed"):
        with pytest.raises(BookBusy) as caught:
            ingest_lamps(book, library)
        assert ingest(book, library, HashEmbedder(), book="other").changed

    assert str(caught.value) == f"Another process is ingesting 'lamps' ({library / 'lamps'})."
    assert ingest_lamps(book, library).changed
