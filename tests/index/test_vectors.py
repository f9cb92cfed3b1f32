import sqlite3
from pathlib import Path

import numpy as np
import pytest

from citewell.index.vectors import VectorStore, vector_key
from citewell.ports import Vectors


def rows(*values: float) -> Vectors:
    return np.array([[value, value + 1] for value in values], np.float32)


def test_a_key_names_the_model_and_the_text() -> None:
    assert vector_key("a", "text") == vector_key("a", "text")
    assert len({vector_key("a", "text"), vector_key("b", "text"), vector_key("a", "texts")}) == 3


def test_what_was_added_is_read_back_after_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "embeddings.db"
    with VectorStore(path) as store:
        store.add([b"a", b"b"], rows(1, 2))

    with VectorStore(path) as store:
        assert store.known() == {b"a", b"b"}
        assert store.read(b"b").tolist() == [2, 3]
        assert store.read(b"b").dtype == np.float32


def test_adding_a_key_again_replaces_its_vector(tmp_path: Path) -> None:
    with VectorStore(tmp_path / "embeddings.db") as store:
        store.add([b"a"], rows(1))
        store.add([b"a"], rows(5))

        assert store.read(b"a").tolist() == [5, 6]
        assert store.known() == {b"a"}


def test_only_the_vectors_that_are_still_needed_are_kept(tmp_path: Path) -> None:
    with VectorStore(tmp_path / "embeddings.db") as store:
        store.add([b"a", b"b", b"c"], rows(1, 2, 3))
        store.keep_only([b"b", b"unknown"])

        assert store.known() == {b"b"}


def test_a_batch_of_another_length_is_refused_whole(tmp_path: Path) -> None:
    with VectorStore(tmp_path / "embeddings.db") as store:
        with pytest.raises(ValueError, match="shorter"):
            store.add([b"a", b"b"], rows(1))

        assert store.known() == set()


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "embeddings.db"
    path.write_bytes(b"not a database" * 100)
    with VectorStore(path) as store:
        assert store.known() == set()
        store.add([bytes([number]) * 32 for number in range(200)], rows(*range(200)))
    content = bytearray(path.read_bytes())
    content[8192:12288] = bytes(range(256)) * 16
    path.write_bytes(content)

    with VectorStore(path) as store:
        assert store.known() == set()


def test_a_file_that_cannot_be_opened_is_not_taken_for_damaged(tmp_path: Path) -> None:
    (tmp_path / "embeddings.db").mkdir()

    with pytest.raises(sqlite3.OperationalError):
        VectorStore(tmp_path / "embeddings.db")
