"""A finished draft becomes what readers see: in one step, under a lock, or not at all."""

import errno
import fcntl
import hashlib
import json
import re
import shutil
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from citewell.domain import Chunk
from citewell.errors import (
    BadRequest,
    BookBusy,
    DiskFull,
    IndexUnavailable,
    IndexUnreachable,
    RevisionGone,
    UnknownBook,
)
from citewell.index.integrity import is_intact, record_checksums
from citewell.index.qdrant_local import build_shard
from citewell.index.revision import (
    INDEX_FORMAT,
    Manifest,
    chunk_from_json,
    chunk_to_json,
    current_revision,
    read_chunks,
    read_manifest,
    set_current,
    write_contents,
    write_manifest,
    write_statistics,
    write_vocabulary,
)
from citewell.index.vectors import Key, vector_key
from citewell.ingest.chunking import embedding_text
from citewell.ingest.report import IngestReport, write_report
from citewell.ingest.toc import build_contents
from citewell.ports import Vectors
from citewell.private_files import make_private
from citewell.text.terms import TermStatistics, terms
from citewell.text.vocabulary import Vocabulary, VocabularyCounts


class StagedRevision:
    """The chunks of a new revision, written one by one and read back at will."""

    def __init__(self, folder: Path, book: str, *, embedder: str, title: str) -> None:
        """Begin `chunks.jsonl` in a new folder."""
        folder.mkdir(parents=True)
        self.folder = folder
        self.book = book
        self.title = title
        self.keys: list[Key] = []
        """Name the vector of each chunk."""
        self.sizes = array("L")
        """How much there is to embed of each chunk, in characters."""
        self.tokens = 0
        self._terms = 0
        self._frequency: dict[str, int] = {}
        self._vocabulary = VocabularyCounts()
        self._starts = array("Q")
        self._embedder = embedder
        self._said = hashlib.sha256(f"{INDEX_FORMAT} {embedder} {title}".encode())
        self._file = (folder / "chunks.jsonl").open("w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def revision(self) -> str:
        """The name of what was said: equal chunks from the same embedder, equal name."""
        return self._said.hexdigest()[:16]

    @property
    def average_length(self) -> float:
        """The mean number of terms."""
        return self._terms / len(self.keys) if self.keys else 0.0

    @property
    def statistics(self) -> TermStatistics:
        """In how many chunks each term occurs."""
        return TermStatistics(len(self.keys), self._frequency)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words and abbreviations of the chunks."""
        return self._vocabulary.vocabulary

    def add(self, chunk: Chunk) -> None:
        """Write one chunk."""
        stored = {"id": chunk.id} | chunk_to_json(chunk)
        self._starts.append(self._file.tell())
        self._file.write(json.dumps(stored, ensure_ascii=False).encode() + b"\n")
        self._said.update(json.dumps(stored | {"processed_at": ""}, sort_keys=True).encode())
        text = embedding_text(chunk)
        self.keys.append(vector_key(self._embedder, text))
        self.sizes.append(len(text))
        self.tokens += chunk.token_count
        self._vocabulary.add(text)
        found = terms(text)
        self._terms += len(found)
        for term in set(found):
            self._frequency[term] = self._frequency.get(term, 0) + 1

    def texts(self, places: Sequence[int]) -> list[str]:
        """Return what the embedder sees of some chunks."""
        return [embedding_text(self._read(place)) for place in places]

    def entries(self) -> Iterator[tuple[Chunk, str]]:
        """Yield every chunk and the text it is found by."""
        self._file.flush()
        for chunk in read_chunks(self.folder):
            yield chunk, embedding_text(chunk)

    def _read(self, place: int) -> Chunk:
        self._file.seek(self._starts[place])
        data = json.loads(self._file.readline())
        return chunk_from_json(data["id"], data)


MIN_FREE_BYTES = 64_000_000
"""Bytes the smallest index may take on a disk that does not keep files sparse."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAME = re.compile(r"^[a-z0-9][a-z0-9._-]{0,62}\Z")


def check_name(name: str) -> str:
    """Return the name back if a book can have it.

    Raises:
        BadRequest: it cannot be the name of a folder everywhere.
    """
    if not _NAME.match(name):
        raise BadRequest(f"{name!r} is not a book name: use a-z, 0-9, '.', '_' and '-'.")
    return name


def new_staging_folder(folder: Path) -> Path:
    """Return the place for a new revision of a book; what an earlier try left there is gone."""
    place = folder / "revisions" / "new"
    shutil.rmtree(place, ignore_errors=True)
    return place


def build_index(draft: StagedRevision, vectors: Iterable[Vectors], width: int) -> None:
    """Build the index of a draft from the vectors of its chunks, in their order."""
    entries = (
        (chunk, text, vector)
        for (chunk, text), vector in zip(draft.entries(), vectors, strict=True)
    )
    build_shard(draft.folder / "shard", entries, width=width, average=draft.average_length)
    write_statistics(draft.folder, draft.statistics)
    write_vocabulary(draft.folder, draft.vocabulary)
    write_contents(draft.folder, build_contents(draft.title, list(read_chunks(draft.folder))))
    record_checksums(draft.folder)


def publish(folder: Path, draft: StagedRevision, manifest: Manifest, report: IngestReport) -> None:
    """Make a draft whose index is built the revision that readers use."""
    new = draft.folder
    write_report(new, report)
    write_manifest(new, manifest)
    before = current_revision(folder)
    if before and _has_revision(before, manifest.revision) and is_intact(before):
        # Same content, and in use: only what it was made from is said anew.
        for name in ("report.json", "manifest.json"):
            (new / name).replace(before / name)
        target = before
    else:
        # A damaged revision of the same name stays until readers are sent to the new one.
        names = (manifest.revision, f"{manifest.revision}.again")
        target = next(new.with_name(n) for n in names if new.with_name(n) != before)
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    set_current(folder, target.name)
    # The last revision stays, for readers that were about to open it.
    for other in (folder / "revisions").iterdir():
        if other not in (target, before):
            shutil.rmtree(other, ignore_errors=True)


def _has_revision(folder: Path, revision: str) -> bool:
    manifest = read_manifest(folder)
    return manifest is not None and manifest.revision == revision


def remove_book(library: Path, name: str) -> int:
    """Delete a book's index, every revision and vector of it, and give the bytes that were freed.

    Raises:
        UnknownBook: there is nothing of that name.
    """
    folder = library / check_name(name)
    if not folder.is_dir():
        raise UnknownBook(f"There is no book {name!r}.")
    with disk_errors(library), lock_book(folder, name):
        freed = size_on_disk(folder)
        # From here on it is unknown to readers, even if deleting the rest fails.
        (folder / "current").unlink(missing_ok=True)
        shutil.rmtree(folder)
    return freed


def size_on_disk(folder: Path) -> int:
    """Return the bytes that a folder takes on disk; holes in the engine's files take none."""
    return sum(512 * path.lstat().st_blocks for path in folder.rglob("*"))


def check_disk_space(folder: Path, sizes: Iterable[int], width: int) -> None:
    """Refuse in time: the engine maps its files, and a mapped write to a full disk is fatal.

    Raises:
        DiskFull: texts of those sizes, with their vectors, would not fit.
    """
    need = MIN_FREE_BYTES + sum(10 * size + 12 * width for size in sizes)
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DiskFull(
            f"There is no space left in {folder}: the index needs about {need / 1e6:.0f} MB, "
            f"{free / 1e6:.0f} MB are free."
        )


@contextmanager
def lock_book(folder: Path, name: str) -> Iterator[None]:
    """Keep other processes from changing the book.

    Raises:
        BookBusy: another process is doing so.
    """
    make_private(folder)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BookBusy(f"Another process is ingesting {name!r} ({folder}).") from error
        yield


@contextmanager
def disk_errors(library: Path) -> Iterator[None]:
    """Return one sentence: the disk is full or cannot be written."""
    try:
        yield
    except (IndexUnreachable, RevisionGone):
        raise  # of a server, not of this disk
    except (sqlite3.DatabaseError, IndexUnavailable) as error:
        why = error.__cause__ or error
        raise DiskFull(f"The index cannot be written to {library}: {why}.") from error
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"There is no space left in {library}.") from error
        raise DiskFull(f"{library} cannot be written: {error.strerror}.") from error
