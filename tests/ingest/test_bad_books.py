"""Every bad book ends in one clear sentence, and what was there before is untouched."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from citewell.errors import (
    BadRequest,
    DiskFull,
    EmptyBook,
    IndexUnavailable,
    IngestError,
    UnsupportedSource,
)
from citewell.index.library import DiskLibrary
from citewell.ingest import staging
from citewell.ingest.pipeline import ingest
from tests.ingest.ingest_helpers import (
    LAMPS,
    WriteBook,
    as_nobody,
    child_ingest,
    content,
    ingest_lamps,
)
from tests.servers import HashEmbedder

GOOD = {"good.md": "# Good\n\nThis page can be read."}


def assert_one_sentence(text: str, *, naming: object) -> None:
    assert str(naming) in text
    assert text.endswith(".")
    assert "\n" not in text
    assert ". " not in text


@pytest.mark.parametrize(
    ("prepare", "error"),
    [
        (shutil.rmtree, UnsupportedSource),
        (lambda folder: (folder / "good.md").unlink(), UnsupportedSource),
        (lambda folder: (folder / "good.md").rename(folder / "good.txt"), UnsupportedSource),
        (lambda folder: (folder / "good.md").write_text("---\ntitle: x\n---\n"), EmptyBook),
        (lambda folder: (folder / "good.md").write_bytes(b"\0"), EmptyBook),
        (lambda folder: (folder / "docusaurus.config.ts").write_bytes(b"\xff"), EmptyBook),
    ],
    ids=["missing", "empty", "no-markdown", "no-text", "binary", "config"],
)
def test_a_bad_book_is_one_sentence_that_names_it_and_the_old_index_stays(
    write_book: WriteBook,
    library: Path,
    prepare: Callable[[Path], object],
    error: type[IngestError],
) -> None:
    book = write_book(GOOD)
    ingest_lamps(book, library)
    before = content(library)
    prepare(book)
    with pytest.raises(error) as caught:
        ingest_lamps(book, library)

    assert_one_sentence(str(caught.value), naming=book)
    assert content(library) == before


def break_front_matter(page: Path) -> None:
    page.write_text("---\ntitle: [\n---\nText.")


def make_too_large(page: Path) -> None:
    page.write_bytes(b"word " * 2_000_000)


def make_binary(page: Path) -> None:
    page.write_bytes(bytes(range(256)))


def make_latin_1(page: Path) -> None:
    page.write_bytes("Ein Stück Größe".encode("latin-1"))


def link_to_nothing(page: Path) -> None:
    page.symlink_to(page.with_name("gone.md"))


def link_to_itself(page: Path) -> None:
    page.symlink_to(page)


def link_to_a_device(page: Path) -> None:
    page.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (break_front_matter, "front matter is not valid YAML (line 3)"),
        (
            make_too_large,
            "10.0 MB is more than the limit of 5 MB (CITEWELL_INGEST__MAX_PAGE_BYTES)",
        ),
        (make_binary, "is a binary file, not text"),
        (make_latin_1, "is not UTF-8 text (byte 6)"),
        (link_to_nothing, "cannot be opened: No such file or directory"),
        (link_to_itself, "cannot be opened: Too many levels of symbolic links"),
        (link_to_a_device, "is not a regular file"),
    ],
)
def test_a_bad_page_is_left_out_and_named_and_the_rest_is_ingested(
    write_book: WriteBook, library: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    book = write_book(GOOD)
    spoil(book / "bad.md")
    report = ingest_lamps(book, library)

    assert [(s.source, s.reason, s.failed) for s in report.skipped] == [("bad.md", reason, True)]
    assert [chunk.source_file for chunk, _ in content(library)[1]] == ["good.md"]
    assert ingest_lamps(book, library).skipped == report.skipped


def test_a_page_that_may_not_be_opened_is_left_out_until_it_may(open_folder: Path) -> None:
    book = open_folder / "book"
    (book / "part").mkdir(parents=True)
    for page in (book / "good.md", book / "bad.md", book / "part" / "inner.md"):
        page.write_text("# Page\n\nWords.")
    closed = (book / "bad.md", book / "part")
    for path in closed:
        path.chmod(0o700 if os.geteuid() == 0 else 0)

    with as_nobody():
        before = ingest_lamps(book, open_folder / "books")
    for path in closed:
        path.chmod(0o755)
    with as_nobody():
        after = ingest_lamps(book, open_folder / "books")

    assert [skip.source for skip in before.skipped] == ["bad.md", "part"]
    assert (before.chunks, after.chunks, after.skipped) == (1, 3, ())


def test_a_book_of_bad_pages_says_why_it_is_empty(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": "<!-- open", "b.md": "---\n[\n---\n"})

    with pytest.raises(EmptyBook) as caught:
        ingest_lamps(book, library)
    assert str(caught.value) == (
        f"{book} holds no text: a.md the comment opened in line 1 is never closed and 1 more."
    )


def test_a_folder_named_like_a_page_is_only_a_folder(write_book: WriteBook, library: Path) -> None:
    report = ingest_lamps(write_book({**GOOD, "odd.md/inner.md": "# In\n\nInside."}), library)

    assert (report.pages, report.skipped) == (2, ())


def test_a_link_to_the_parent_folder_is_reported_but_no_failure(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book(GOOD)
    (book / "loop").symlink_to(book, target_is_directory=True)

    (skip,) = ingest_lamps(book, library).skipped

    assert (skip.source, skip.failed) == ("loop", False)


@pytest.mark.parametrize("name", ["My Book", "../escape", ".hidden", "tiny\n", "x" * 64, "ä"])
def test_a_bad_book_name_is_refused_before_anything_is_written(
    write_book: WriteBook, library: Path, name: str
) -> None:
    with pytest.raises(BadRequest, match="is not a book name: use a-z, 0-9"):
        ingest(write_book(GOOD), library, HashEmbedder(), book=name)

    assert not library.exists()


def test_a_library_that_cannot_be_made_is_named(write_book: WriteBook, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DiskFull) as caught:
        ingest_lamps(write_book(GOOD), tmp_path / "file" / "books")
    assert_one_sentence(str(caught.value), naming=tmp_path / "file" / "books")


def test_damaged_embeddings_are_made_again(
    write_book: WriteBook, library: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = write_book(GOOD)
    ingest_lamps(book, library)
    before = content(library)
    (library / "lamps" / "embeddings.db").write_bytes(b"not a database" * 100)
    write_book(LAMPS)

    ingest_lamps(book, library)

    assert "embeddings.db is damaged" in caplog.text
    assert content(library) != before


@pytest.mark.parametrize("file_limit", [20_000, 1_000_000], ids=["embeddings", "index"])
def test_a_full_disk_is_one_sentence_and_the_old_index_stays(
    write_book: WriteBook, library: Path, file_limit: int
) -> None:
    book = write_book(GOOD)
    ingest_lamps(book, library)
    before = content(library)
    write_book(LAMPS)
    code, said = child_ingest(book, library, file_limit=file_limit)

    assert code == 1
    assert said.startswith("DiskFull: ")
    assert_one_sentence(said.rstrip("\n"), naming=library)
    assert content(library) == before
    assert ingest_lamps(book, library).chunks == 101


def test_a_disk_that_is_full_at_the_last_moment_leaves_the_old_index(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book(GOOD)
    ingest_lamps(book, library)
    before = content(library)
    (library / "lamps" / "current.new").symlink_to("/dev/full")
    write_book({"new.md": "# New\n\nWords."})
    with pytest.raises(DiskFull) as caught:
        ingest_lamps(book, library)

    assert str(caught.value) == f"There is no space left in {library}."
    assert content(library) == before


def test_an_index_that_would_not_fit_is_refused_before_anything_is_embedded(
    write_book: WriteBook, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MIN_FREE_BYTES", 10**18)
    embedder = HashEmbedder()

    with pytest.raises(DiskFull, match="the index needs about 1000000000000 MB"):
        ingest_lamps(write_book(GOOD), library, embedder)
    assert embedder.embedded == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 120 MB, made in a file."""
    image, disk = tmp_path / "disk.img", tmp_path / "disk"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(120_000_000)
    make = f"mkfs.ext4 -q -m 0 {image} && mount -o loop {image} {disk}"
    if subprocess.run(["/bin/sh", "-c", make], capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs mkfs.ext4 and the right to mount")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_an_index_on_a_full_disk_that_cannot_be_opened_is_one_sentence(
    write_book: WriteBook, small_disk: Path
) -> None:
    library = small_disk / "books"
    ingest_lamps(write_book(GOOD), library)
    content(library)  # the first opening tidies up, and so makes room
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        for size in (1_000_000, 4096, 1):
            with suppress(OSError):
                while filler.write(bytes(size)) == size:
                    pass

    with pytest.raises(IndexUnavailable) as caught:
        DiskLibrary(library, embedder=HashEmbedder.id).open("lamps")

    assert str(caught.value) == (
        "The index failed while opening: there is no space left on its disk."
    )
    (small_disk / "filler").unlink()
    assert DiskLibrary(library, embedder=HashEmbedder.id).open("lamps").book == "lamps"


def test_a_disk_that_is_nearly_full_is_refused_before_the_engine_writes(
    write_book: WriteBook, small_disk: Path
) -> None:
    library = small_disk / "books"
    book = write_book(GOOD)
    assert child_ingest(book, library) == (0, "")
    before = content(library)
    (small_disk / "filler").write_bytes(bytes(shutil.disk_usage(small_disk).free - 2_000_000))
    write_book(LAMPS)
    code, said = child_ingest(book, library)

    assert code == 1
    assert said == (
        f"DiskFull: There is no space left in {library / 'lamps'}: "
        "the index needs about 64 MB, 2 MB are free.\n"
    )
    assert content(library) == before
