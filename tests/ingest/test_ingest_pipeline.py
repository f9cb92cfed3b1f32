import re
from pathlib import Path

import pytest

from citewell.index.library import DiskLibrary
from citewell.index.revision import current_revision, read_chunks
from citewell.index.vectors import VectorStore, vector_key
from citewell.ingest.chunking import embedding_text
from citewell.ingest.pipeline import Stage, book_name, ingest
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import LAMPS, Content, WriteBook, content, ingest_lamps
from tests.servers import HashEmbedder


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
