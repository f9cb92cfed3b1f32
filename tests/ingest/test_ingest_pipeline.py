import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from quire.domain import Filters
from quire.errors import BookBusy, IndexUnavailable
from quire.index.library import DiskLibrary
from quire.index.revision import current_revision, read_chunks
from quire.index.vectors import VectorStore, vector_key
from quire.ingest.chunk import embedding_text
from quire.ingest.options import IngestOptions
from quire.ingest.pipeline import BATCH, Stage, book_name, ingest
from quire.ports import Vectors
from quire.testing import HashEmbedder
from tests.ingest.ingest_helpers import (
    LAMPS,
    Content,
    WriteBook,
    content,
    ingest_lamps,
    paused_ingest,
)


class Interrupted(Exception):
    """What stands for a power cut."""


class FailingEmbedder(HashEmbedder):
    """Embeds one batch and fails at the next."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.embedded:
            raise Interrupted
        return super().embed_passages(texts)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Content]:
    """What readers see of the lamps when nothing went wrong."""
    folder = tmp_path_factory.mktemp("lamps") / "book"
    folder.mkdir()
    for name, text in LAMPS.items():
        (folder / name).write_text(text)
    ingest_lamps(folder, folder.parent / "books")
    return content(folder.parent / "books")


def test_a_first_ingest_says_what_it_did(tiny_book: Path, library: Path) -> None:
    report = ingest(tiny_book, library, HashEmbedder(), book="tiny")

    assert (report.book, report.title, report.kind) == ("tiny", "The Tiny Book", "docusaurus")
    assert (report.pages, report.chunks, report.embedded) == (3, 4, 4)
    assert report.tokens > 50
    assert report.changed
    assert report.skipped == ()


def test_a_second_ingest_embeds_nothing_and_changes_nothing(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book(LAMPS)
    first = ingest_lamps(book, library)
    again = HashEmbedder()
    second = ingest_lamps(book, library, again)

    assert again.embedded == []
    assert (second.revision, second.changed, second.embedded) == (first.revision, False, 0)
    assert (second.chunks, second.tokens) == (first.chunks, first.tokens)


def test_the_same_book_gives_the_same_revision_anywhere(
    write_book: WriteBook, library: Path, uninterrupted: tuple[str, Content]
) -> None:
    ingest_lamps(write_book(LAMPS), library)

    assert content(library) == uninterrupted


def test_a_changed_page_embeds_only_its_changed_chunks(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book(LAMPS)
    old = ingest_lamps(book, library)
    write_book({"page3.md": LAMPS["page3.md"].replace("number 3.7 burns", "number 3.7 smokes")})
    embedder = HashEmbedder()
    new = ingest_lamps(book, library, embedder)

    assert embedder.embedded == ["Lamp 7\nLamp number 3.7 smokes word37."]
    assert (new.embedded, new.changed) == (1, True)
    assert new.revision != old.revision
    assert "number 3.7 smokes" in str(content(library))


def test_text_that_stands_twice_is_embedded_once(write_book: WriteBook, library: Path) -> None:
    embedder = HashEmbedder()
    book = write_book({"a.md": "# Lamp\n\nIt burns.", "b.md": "# Lamp\n\nIt burns."})

    report = ingest_lamps(book, library, embedder)

    assert (report.chunks, report.embedded, len(embedder.embedded)) == (2, 1, 1)


def test_the_chunks_of_a_deleted_page_are_gone(write_book: WriteBook, library: Path) -> None:
    book = write_book(LAMPS)
    ingest_lamps(book, library)
    (book / "page4.md").unlink()
    report = ingest_lamps(book, library)

    index = DiskLibrary(library, embedder=HashEmbedder.id).open("lamps")
    assert report.chunks == 90
    assert index.page("page4.md") == []
    assert len(index.page("page5.md")) == 10


def test_a_chunk_that_did_not_change_keeps_its_date(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": "# A\n\nOld.", "b.md": "# B\n\nOld."})
    ingest_lamps(book, library)
    revision = current_revision(library / "lamps")
    assert revision
    stored = (revision / "chunks.jsonl").read_text()
    aged = re.sub(r'"processed_at": "\d+', '"processed_at": "2001', stored)
    (revision / "chunks.jsonl").write_text(aged)
    write_book({"b.md": "# B\n\nNew."})
    ingest_lamps(book, library)

    new = current_revision(library / "lamps")
    assert new
    years = {chunk.text: chunk.processed_at.year for chunk in read_chunks(new)}
    assert years["Old."] == 2001
    assert years["New."] > 2001


def test_an_edit_that_readers_cannot_see_leaves_the_index_in_place(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book({"a.md": "# A\n\nText."})
    old = ingest_lamps(book, library)
    revision = current_revision(library / "lamps")
    assert revision
    before = (revision / "chunks.jsonl").stat().st_ino
    write_book({"a.md": "# A\n\n<!-- a note -->\n\nText."})
    new = ingest_lamps(book, library)

    assert (new.revision, new.embedded, new.changed) == (old.revision, 0, True)
    assert (revision / "chunks.jsonl").stat().st_ino == before
    assert not ingest_lamps(book, library).changed


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
        ("seal", 0),
        ("write_manifest", 0),
        ("point_to", 0),
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


@pytest.mark.parametrize("at", ["embed", "point_to"])
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


def test_only_the_last_two_revisions_are_kept(write_book: WriteBook, library: Path) -> None:
    revisions = [
        ingest_lamps(write_book({"a.md": f"# A\n\nVersion {n}."}), library).revision
        for n in range(3)
    ]

    kept = {folder.name for folder in (library / "lamps" / "revisions").iterdir()}
    assert kept == set(revisions[-2:])


def test_the_vectors_of_text_that_is_gone_are_forgotten(
    write_book: WriteBook, library: Path
) -> None:
    ingest_lamps(write_book({"a.md": "# A\n\nOld.", "b.md": "# B\n\nSame."}), library)
    ingest_lamps(write_book({"a.md": "# A\n\nNew."}), library)

    with VectorStore(library / "lamps" / "embeddings.db") as store:
        assert store.known() == {
            vector_key(HashEmbedder.id, text) for text in ("A\nNew.", "B\nSame.")
        }


def test_a_book_may_go_back_to_what_it_was(write_book: WriteBook, library: Path) -> None:
    old = ingest_lamps(write_book({"a.md": "# A\n\nOld."}), library)
    ingest_lamps(write_book({"a.md": "# A\n\nNew."}), library)
    back = ingest_lamps(write_book({"a.md": "# A\n\nOld."}), library)

    assert back.revision == old.revision == content(library)[0]
    assert [chunk.text for chunk, _ in content(library)[1]] == ["Old."]


@pytest.mark.parametrize(
    "options", [IngestOptions(site_url="https://x.y"), IngestOptions(target_tokens=30)]
)
def test_other_options_make_the_index_anew(
    write_book: WriteBook, library: Path, options: IngestOptions
) -> None:
    book = write_book({"a.md": "# A\n\nText."})
    ingest_lamps(book, library)

    assert ingest(book, library, HashEmbedder(), book="lamps", options=options).changed


def test_another_embedder_embeds_everything_anew(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": "# A\n\nText."})
    ingest_lamps(book, library)
    other = HashEmbedder()
    other.id = "hash@2"
    report = ingest_lamps(book, library, other)

    assert (report.embedded, len(other.embedded)) == (1, 1)
    assert DiskLibrary(library, embedder="hash@2").open("lamps").revision == report.revision


def test_progress_is_told_from_reading_to_writing(write_book: WriteBook, library: Path) -> None:
    told: list[tuple[Stage, int, int]] = []
    book = write_book(LAMPS)

    ingest(book, library, HashEmbedder(), progress=lambda *step: told.append(step))

    stages = [stage for stage, _, _ in told]
    embedding = [(done, total) for stage, done, total in told if stage == "embed"]
    assert stages == ["read", *["embed"] * 5, "write", "write"]
    assert embedding == sorted(embedding)
    assert (embedding[0][0], {total for _, total in embedding}) == (0, {embedding[-1][0]})
    assert (told[0], told[-1]) == (("read", 10, 10), ("write", 1, 1))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("physical-ai", "physical-ai"),
        ("My Book (2nd)", "my-book-2nd"),
        ("Größe", "gr-e"),
        ("模型", "book"),
        ("..Hidden", "hidden"),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_book_is_named_after_its_folder(tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / folder).mkdir()

    assert book_name(tmp_path / folder) == name


def test_a_book_of_one_file_is_named_without_its_ending(write_book: WriteBook) -> None:
    assert book_name(write_book({"Lens.v2.md": ""}) / "Lens.v2.md") == "lens.v2"


def test_what_is_embedded_is_what_the_index_is_searched_by(
    write_book: WriteBook, library: Path
) -> None:
    embedder = HashEmbedder()
    ingest_lamps(write_book({"a.md": "# A\n\n- Some **text**"}), library, embedder)

    ((chunk, _),) = content(library)[1]
    assert chunk.text == "- Some **text**"
    assert embedder.embedded == [embedding_text(chunk)] == ["A\nSome text"]
