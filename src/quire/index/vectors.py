"""Embeddings kept on disk, so that nothing is embedded twice and an interrupted ingest goes on."""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from quire.ports import Vectors

Key = bytes


def vector_key(embedder: str, text: str) -> Key:
    """Name a vector by the model and the text that gave it."""
    return hashlib.sha256(f"{embedder}\0{text}".encode()).digest()


class VectorStore:
    """A file of vectors by key; every batch added is durable."""

    def __init__(self, path: Path) -> None:
        """Open or create the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB)"
            )
        except sqlite3.Error:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._db.close()

    def known(self) -> set[Key]:
        """Give the keys that are stored."""
        return {row[0] for row in self._db.execute("SELECT key FROM vectors")}

    def add(self, keys: Sequence[Key], vectors: Vectors) -> None:
        """Store one batch."""
        rows = [(key, row.tobytes()) for key, row in zip(keys, vectors, strict=True)]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def read(self, key: Key) -> Vectors:
        """Give one stored vector."""
        (value,) = self._db.execute("SELECT value FROM vectors WHERE key = ?", (key,)).fetchone()
        return np.frombuffer(value, np.float32)

    def keep_only(self, keys: Iterable[Key]) -> None:
        """Forget the vectors of text that is gone."""
        gone = [(key,) for key in self.known() - set(keys)]
        with self._db:
            self._db.executemany("DELETE FROM vectors WHERE key = ?", gone)
