"""An embedding cache on disk: nothing is embedded twice, and an interrupted ingest resumes."""

import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from citewell.ports import Vectors
from citewell.private_files import make_private

LOG = logging.getLogger("citewell.index")
CORRUPT_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
Key = bytes


def vector_key(embedder: str, text: str) -> Key:
    """Return the cache key of an embedder and a text."""
    return hashlib.sha256(f"{embedder}\0{text}".encode()).digest()


def _open_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB)")
        (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if result != "ok":
            error = sqlite3.DatabaseError(result)
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class VectorStore:
    """A SQLite file of vectors by key."""

    def __init__(self, path: Path) -> None:
        """Open or create the file."""
        make_private(path.parent)
        try:
            self._db = _open_database(path)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in CORRUPT_CODES:
                raise
            LOG.warning("%s is damaged (%s); texts will be embedded again", path, error)
            for file in path.parent.glob(f"{path.name}*"):
                file.unlink()
            self._db = _open_database(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def known(self) -> set[Key]:
        """Return the stored keys."""
        return {row[0] for row in self._db.execute("SELECT key FROM vectors")}

    def add(self, keys: Sequence[Key], vectors: Vectors) -> None:
        """Store one batch."""
        rows = [(key, row.tobytes()) for key, row in zip(keys, vectors, strict=True)]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def read(self, key: Key) -> Vectors:
        """Return one stored vector."""
        (value,) = self._db.execute("SELECT value FROM vectors WHERE key = ?", (key,)).fetchone()
        return np.frombuffer(value, np.float32)

    def keep_only(self, keys: Iterable[Key]) -> None:
        """Delete all other vectors."""
        stale = [(key,) for key in self.known() - set(keys)]
        with self._db:
            self._db.executemany("DELETE FROM vectors WHERE key = ?", stale)
