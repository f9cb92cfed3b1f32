import json
import shutil
from pathlib import Path

import pytest

from citewell.index.integrity import is_intact, record_checksums


@pytest.fixture
def revision(tmp_path: Path) -> Path:
    """A folder with files as the engine makes them: mostly holes."""
    folder = tmp_path / "revision"
    (folder / "shard").mkdir(parents=True)
    (folder / "chunks.jsonl").write_text("{}\n")
    (folder / "manifest.json").write_text("{}")
    (folder / "shard" / "edge_config.json").write_text("{}")
    (folder / "shard" / "tracker_journal.dat").write_bytes(b"passing")
    with (folder / "shard" / "page.dat").open("wb") as file:
        file.seek(3_000_000)
        file.write(b"vectors")
        file.truncate(5_000_000)
    record_checksums(folder)
    return folder


def flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))


def test_what_was_sealed_is_whole(revision: Path) -> None:
    assert is_intact(revision)


@pytest.mark.parametrize("place", [0, 3_000_003, 4_999_999])
def test_one_wrong_bit_is_noticed_wherever_it_is(revision: Path, place: int) -> None:
    flip(revision / "shard" / "page.dat", place)

    assert not is_intact(revision)
    assert is_intact(revision, verify_contents=False)


def test_a_file_that_was_cut_short_is_noticed_without_reading_it(revision: Path) -> None:
    with (revision / "shard" / "page.dat").open("r+b") as file:
        file.truncate(4_999_999)

    assert not is_intact(revision, verify_contents=False)


@pytest.mark.parametrize(
    "name", ["chunks.jsonl", "shard/page.dat", "shard/edge_config.json", "seal.json"]
)
def test_a_file_that_is_gone_is_noticed(revision: Path, name: str) -> None:
    (revision / name).unlink()

    assert not is_intact(revision)


@pytest.mark.parametrize("text", ["", "[]", "{", "{}", '{"chunks.jsonl": 3}', "null"])
def test_a_seal_that_says_nothing_vouches_for_nothing(revision: Path, text: str) -> None:
    (revision / "seal.json").write_text(text)

    assert not is_intact(revision)


def test_what_the_engine_does_on_opening_is_no_damage(revision: Path) -> None:
    (revision / "shard" / "tracker_journal.dat").unlink()
    (revision / "shard" / "edge_config.json").write_text('{"more": 1}')
    (revision / "manifest.json").write_text('{"made from": "other bytes"}')

    assert is_intact(revision)


def test_a_copy_whose_holes_were_filled_is_whole(revision: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(revision, copy)
    dense = (revision / "shard" / "page.dat").read_bytes()
    (copy / "shard" / "page.dat").write_bytes(dense)

    assert is_intact(copy)
    assert json.loads((copy / "seal.json").read_text())["shard/page.dat"][0] == len(dense)
