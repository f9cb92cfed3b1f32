"""A book in one file: what was exported comes back whole, and nothing else comes in."""

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.errors import (
    BadRequest,
    BookBusy,
    CitewellError,
    IndexMismatch,
    IndexUnavailable,
    UnknownBook,
    UnreadableExport,
)
from citewell.index.revision import current_revision
from citewell.ingest.bundle import export_book, import_book
from tests.ingest.ingest_helpers import LAMPS, WriteBook, content, ingest_lamps, paused_ingest
from tests.servers import HashEmbedder

EMBEDDER = HashEmbedder.id


@pytest.fixture
def exported(write_book: WriteBook, library: Path, tmp_path: Path) -> Path:
    ingest_lamps(write_book(LAMPS), library)
    export_book(library, "lamps", tmp_path / "lamps.citewell")
    return tmp_path / "lamps.citewell"


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but the lock, which is empty and stays."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_a_book_comes_back_as_it_was_and_nothing_is_embedded_again(
    exported: Path, write_book: WriteBook, library: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"

    report = import_book(exported, elsewhere, EMBEDDER)

    assert (report.book, report.chunks, report.embedded) == ("lamps", 100, 0)
    assert content(elsewhere) == content(library)
    again = HashEmbedder()
    assert not ingest_lamps(write_book({}), elsewhere, again).changed
    write_book({"new.md": "# New\n\nWords."})
    assert ingest_lamps(write_book({}), elsewhere, again).embedded == 1
    assert again.embedded == ["New\nWords."]


def test_an_import_replaces_the_book_of_its_name(
    exported: Path, write_book: WriteBook, library: Path
) -> None:
    before = content(library)
    write_book({"new.md": "# New\n\nWords."})
    ingest_lamps(write_book({}), library)

    import_book(exported, library, EMBEDDER)

    assert content(library) == before


def test_an_export_does_not_tell_where_the_book_lay(exported: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        everything_said = b"".join(archive.read(name) for name in archive.namelist())

    assert str(tmp_path).encode() not in everything_said


def damage(change: Callable[[dict[str, bytes]], object]) -> Callable[[bytes], bytes]:
    """Change the members of the archive, with checksums that fit again."""

    def damaged(data: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        change(members)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return out.getvalue()

    return damaged


def resummed(change: Callable[[dict[str, bytes]], object]) -> Callable[[bytes], bytes]:
    def changed(members: dict[str, bytes]) -> None:
        import hashlib

        change(members)
        sums = {n: hashlib.sha256(t).hexdigest() for n, t in members.items() if n != "sha256.json"}
        members["sha256.json"] = json.dumps(sums).encode()

    return damage(changed)


def manifest_with(**changes: object) -> Callable[[bytes], bytes]:
    def change(members: dict[str, bytes]) -> None:
        said = json.loads(members["manifest.json"]) | changes
        members["manifest.json"] = json.dumps(said).encode()

    return resummed(change)


def flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (lambda data: data[: len(data) // 2], UnreadableExport, "damaged or not an"),
        (lambda data: flip(data, len(data) // 2), UnreadableExport, "damaged"),
        (lambda _: b"", UnreadableExport, "damaged or not an"),
        (lambda _: b"# Markdown\n", UnreadableExport, "damaged or not an"),
        (damage(lambda m: m.update({"chunks.jsonl": b""})), UnreadableExport, "checksum"),
        (damage(lambda m: m.pop("vectors.f32")), UnreadableExport, "is not an exported"),
        (
            damage(lambda m: m.update({"../evil": b"x"})),
            UnreadableExport,
            "is not an exported",
        ),
        (
            damage(lambda m: m.update({"sha256.json": b"[]"})),
            UnreadableExport,
            "not a readable",
        ),
        (resummed(lambda m: m.update({"vectors.f32": b""})), UnreadableExport, "not the revision"),
        (
            resummed(lambda m: m.update({"vectors.f32": b"\xff" * len(m["vectors.f32"])})),
            UnreadableExport,
            "a vector is not finite",
        ),
        (
            resummed(
                lambda m: m.update({"chunks.jsonl": m["chunks.jsonl"].replace(b"burns", b"turns")})
            ),
            UnreadableExport,
            "not the revision",
        ),
        (
            resummed(lambda m: m.update({"report.json": b"0" * 60_000_000})),
            UnreadableExport,
            "far more",
        ),
        (manifest_with(format=99), UnreadableExport, "another version"),
        (manifest_with(extra=1), UnreadableExport, "not a readable"),
        (manifest_with(book="../../evil"), BadRequest, "is not a book name"),
        (manifest_with(embedder="word2vec"), IndexMismatch, "the embedder 'word2vec'"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_one_sentence_and_changes_nothing(
    exported: Path,
    library: Path,
    spoil: Callable[[bytes], bytes],
    error: type[CitewellError],
    says: str,
) -> None:
    bad = exported.with_name("bad.citewell")
    data = spoil(exported.read_bytes())
    if len(data) > 50_000_000:  # what matters is how small it is packed
        with zipfile.ZipFile(io.BytesIO(data)) as loose, zipfile.ZipFile(bad, "w", 8) as tight:
            for name in loose.namelist():
                tight.writestr(name, loose.read(name))
    else:
        bad.write_bytes(data)
    before = everything(library)
    names = sorted(path.name for path in library.parent.parent.iterdir())

    with pytest.raises(error) as caught:
        import_book(bad, library, EMBEDDER)

    assert says in str(caught.value)
    assert str(caught.value).count(". ") == 0
    empty = library.with_name("empty")
    with pytest.raises(error):
        import_book(bad, empty, EMBEDDER)
    assert not empty.exists() or list(empty.iterdir()) == []
    kept = {k: v for k, v in everything(library).items() if "/revisions/new/" not in k}
    assert kept == before
    assert sorted(path.name for path in library.parent.parent.iterdir()) == names


@pytest.mark.parametrize("place", ["nowhere.citewell", "book"])
def test_a_file_that_cannot_be_opened_is_named(exported: Path, library: Path, place: str) -> None:
    with pytest.raises(UnreadableExport, match=rf"{place} cannot be read: "):
        import_book(exported.with_name(place), library, EMBEDDER)


def test_an_export_that_cannot_be_written_leaves_nothing(exported: Path, library: Path) -> None:
    before = sorted(exported.parent.iterdir())

    with pytest.raises(CitewellError, match=r"cannot be written: No such file or directory\.$"):
        export_book(library, "lamps", exported.parent / "no" / "folder" / "x.citewell")

    assert sorted(exported.parent.iterdir()) == before


def test_a_book_that_is_unknown_or_damaged_is_not_exported(
    exported: Path, library: Path, tmp_path: Path
) -> None:
    folder = current_revision(library / "lamps")
    assert folder
    shutil.rmtree(folder / "shard")

    with pytest.raises(IndexUnavailable, match="is damaged; ingest the book again"):
        export_book(library, "lamps", tmp_path / "x.citewell")
    with pytest.raises(UnknownBook, match="There is no book 'horns'"):
        export_book(library, "horns", tmp_path / "x.citewell")
    assert not (tmp_path / "x.citewell").exists()
    assert not (library / "horns").exists()


def test_a_book_that_is_being_ingested_is_neither_exported_nor_replaced(
    exported: Path, write_book: WriteBook, library: Path, tmp_path: Path
) -> None:
    book = write_book({f"more{n}.md": f"# More {n}\n\nWords {n}." for n in range(40)})
    with paused_ingest(book, library, "embed"):
        with pytest.raises(BookBusy):
            export_book(library, "lamps", tmp_path / "x.citewell")
        with pytest.raises(BookBusy):
            import_book(exported, library, EMBEDDER)
