from dataclasses import asdict
from pathlib import Path

import pytest

from citewell.index.revision import (
    INDEX_FORMAT,
    chunk_from_json,
    chunk_to_json,
    current_revision,
    parse_statistics,
    read_chunks,
    read_manifest,
    set_current,
    write_manifest,
    write_statistics,
)
from citewell.text.terms import TermStatistics
from tests.index.index_helpers import make_chunk, make_manifest


def test_a_book_that_was_never_ingested_has_no_revision(tmp_path: Path) -> None:
    assert current_revision(tmp_path) is None


def test_readers_use_the_revision_that_was_pointed_to_last(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "revisions" / name).mkdir(parents=True)
        set_current(tmp_path, name)

    assert current_revision(tmp_path) == tmp_path / "revisions" / "two"
    assert not (tmp_path / "current.new").exists()


@pytest.mark.parametrize("name", ["", "\n", "gone"])
def test_a_pointer_to_nothing_is_no_revision(tmp_path: Path, name: str) -> None:
    (tmp_path / "revisions").mkdir()
    (tmp_path / "current").write_text(name)

    assert current_revision(tmp_path) is None


def test_a_pointer_that_was_half_written_is_not_seen(tmp_path: Path) -> None:
    (tmp_path / "revisions" / "one").mkdir(parents=True)
    set_current(tmp_path, "one")
    (tmp_path / "current.new").write_text("tw")

    assert current_revision(tmp_path) == tmp_path / "revisions" / "one"


def test_a_reader_in_the_middle_of_the_pointer_reads_the_old_one_to_its_end(
    tmp_path: Path,
) -> None:
    set_current(tmp_path, "one")
    with (tmp_path / "current").open() as reader:
        set_current(tmp_path, "two")

        assert reader.read() == "one"
    assert (tmp_path / "current").read_text() == "two"


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_manifest(tmp_path, make_manifest())

    assert read_manifest(tmp_path) == make_manifest()


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"book": "x", "unknown": 1}', "\udcff"])
def test_a_damaged_manifest_is_none(tmp_path: Path, damage: str) -> None:
    (tmp_path / "manifest.json").write_bytes(damage.encode("utf-8", "surrogateescape"))

    assert read_manifest(tmp_path) is None


def test_a_missing_manifest_and_one_of_another_format_are_none(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    write_manifest(tmp_path, make_manifest(format=INDEX_FORMAT + 1))

    assert read_manifest(tmp_path) is None


def test_a_chunk_is_read_back_from_what_is_stored() -> None:
    chunk = make_chunk(3, "Glaß.")
    stored = chunk_to_json(chunk)

    assert "id" not in stored
    assert stored["chunk_index"] == 3
    assert asdict(chunk_from_json(chunk.id, stored)) == asdict(chunk)


def test_a_revision_without_chunks_has_none(tmp_path: Path) -> None:
    assert list(read_chunks(tmp_path)) == []


def test_statistics_are_read_as_they_were_written(tmp_path: Path) -> None:
    statistics = TermStatistics.count(["lens lamp", "lens Größe"])
    write_statistics(tmp_path, statistics)

    assert parse_statistics((tmp_path / "terms.json").read_text("utf-8")) == statistics
