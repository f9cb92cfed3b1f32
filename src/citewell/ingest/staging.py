"""Stage a new revision of a book, and publish it atomically under a lock."""

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
    """The chunks of a new revision, written one by one, with random access."""

    def __init__(self, folder: Path, book: str, *, embedder: str, title: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.book = book
        self.title = title
        self.vector_keys: list[Key] = []
        """The key of each chunk's vector in the `VectorStore`."""
        self.sizes = array("L")
        """The characters to embed of each chunk."""
        self.tokens = 0
        self._terms = 0
        self._frequency: dict[str, int] = {}
        self._vocabulary = VocabularyCounts()
        self._offsets = array("Q")
        self._embedder = embedder
        self._digest = hashlib.sha256(f"{INDEX_FORMAT} {embedder} {title}".encode())
        self._file = (folder / "chunks.jsonl").open("w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def revision(self) -> str:
        """A hash of the content: equal chunks and embedder give an equal revision."""
        return self._digest.hexdigest()[:16]

    @property
    def average_length(self) -> float:
        """The mean number of terms per chunk."""
        return self._terms / len(self.vector_keys) if self.vector_keys else 0.0

    @property
    def statistics(self) -> TermStatistics:
        """The document frequency of each term."""
        return TermStatistics(len(self.vector_keys), self._frequency)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words and abbreviations of the chunks."""
        return self._vocabulary.vocabulary

    def add(self, chunk: Chunk) -> None:
        """Write one chunk."""
        stored = {"id": chunk.id} | chunk_to_json(chunk)
        self._offsets.append(self._file.tell())
        self._file.write(json.dumps(stored, ensure_ascii=False).encode() + b"\n")
        self._digest.update(json.dumps(stored | {"processed_at": ""}, sort_keys=True).encode())
        text = embedding_text(chunk)
        self.vector_keys.append(vector_key(self._embedder, text))
        self.sizes.append(len(text))
        self.tokens += chunk.token_count
        self._vocabulary.add(text)
        chunk_terms = terms(text)
        self._terms += len(chunk_terms)
        for term in set(chunk_terms):
            self._frequency[term] = self._frequency.get(term, 0) + 1

    def texts(self, indexes: Sequence[int]) -> list[str]:
        """Return the embedding texts of the chunks with these indexes."""
        return [embedding_text(self._read(index)) for index in indexes]

    def entries(self) -> Iterator[tuple[Chunk, str]]:
        """Yield every chunk with its embedding text."""
        self._file.flush()
        for chunk in read_chunks(self.folder):
            yield chunk, embedding_text(chunk)

    def _read(self, index: int) -> Chunk:
        self._file.seek(self._offsets[index])
        data = json.loads(self._file.readline())
        return chunk_from_json(data["id"], data)


MIN_FREE_BYTES = 64_000_000
"""The size of the smallest index on a file system without sparse files."""
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAME = re.compile(r"^[a-z0-9][a-z0-9._-]{0,62}\Z")


def check_book_name(name: str) -> str:
    """Return the name if it is a valid book name.

    Raises:
        BadRequest: it is not portable as a folder name.
    """
    if not _NAME.match(name):
        raise BadRequest(f"{name!r} is not a book name: use a-z, 0-9, '.', '_' and '-'.")
    return name


def new_staging_folder(folder: Path) -> Path:
    """Return the path for a new revision of a book; delete the remains of an interrupted ingest."""
    staging_folder = folder / "revisions" / "new"
    shutil.rmtree(staging_folder, ignore_errors=True)
    return staging_folder


def build_index(staged: StagedRevision, vectors: Iterable[Vectors], width: int) -> None:
    """Build the index of a staged revision; the vectors are in the order of its chunks."""
    entries = (
        (chunk, text, vector)
        for (chunk, text), vector in zip(staged.entries(), vectors, strict=True)
    )
    build_shard(staged.folder / "shard", entries, width=width, average=staged.average_length)
    write_statistics(staged.folder, staged.statistics)
    write_vocabulary(staged.folder, staged.vocabulary)
    write_contents(staged.folder, build_contents(staged.title, list(read_chunks(staged.folder))))
    record_checksums(staged.folder)


def publish(folder: Path, staged: StagedRevision, manifest: Manifest, report: IngestReport) -> None:
    """Make a staged revision with its index the current one."""
    staged_folder = staged.folder
    write_report(staged_folder, report)
    write_manifest(staged_folder, manifest)
    previous = current_revision(folder)
    if previous and _has_revision(previous, manifest.revision) and is_intact(previous):
        # The content is unchanged and in use: update only the metadata.
        for name in ("report.json", "manifest.json"):
            (staged_folder / name).replace(previous / name)
        target = previous
    else:
        # A damaged revision of the same name stays until the new one is current.
        names = (manifest.revision, f"{manifest.revision}.again")
        paths = map(staged_folder.with_name, names)
        target = next(path for path in paths if path != previous)
        shutil.rmtree(target, ignore_errors=True)
        staged_folder.rename(target)
    set_current(folder, target.name)
    # Keep the previous revision for processes that are about to open it.
    for revision_folder in (folder / "revisions").iterdir():
        if revision_folder not in (target, previous):
            shutil.rmtree(revision_folder, ignore_errors=True)


def _has_revision(folder: Path, revision: str) -> bool:
    manifest = read_manifest(folder)
    return manifest is not None and manifest.revision == revision


def remove_book(library: Path, name: str) -> int:
    """Delete all revisions and vectors of a book, and return the number of bytes freed.

    Raises:
        UnknownBook: there is no book of that name.
    """
    folder = library / check_book_name(name)
    if not folder.is_dir():
        raise UnknownBook(f"There is no book {name!r}.")
    with disk_errors(library), lock_book(folder, name):
        freed = size_on_disk(folder)
        # Unpublish first, so that the book is gone even if deleting the rest fails.
        (folder / "current").unlink(missing_ok=True)
        shutil.rmtree(folder)
    return freed


def size_on_disk(folder: Path) -> int:
    """Return the bytes allocated on disk; the engine's files are sparse."""
    return sum(512 * path.lstat().st_blocks for path in folder.rglob("*"))


def check_disk_space(folder: Path, sizes: Iterable[int], width: int) -> None:
    """Check that texts of these sizes and their vectors fit on the disk.

    The engine maps its files into memory, and a mapped write to a full disk kills the process.

    Raises:
        DiskFull: they do not fit.
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
    """Lock the book against changes by other processes.

    Raises:
        BookBusy: another process holds the lock.
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
    """Turn errors of the disk and the index files into `DiskFull`."""
    try:
        yield
    except (IndexUnreachable, RevisionGone):
        raise  # from a server, not from this disk
    except (sqlite3.DatabaseError, IndexUnavailable) as error:
        cause = error.__cause__ or error
        raise DiskFull(f"The index cannot be written to {library}: {cause}.") from error
    except OSError as error:
        if error.errno in _DISK_FULL_ERRNOS:
            raise DiskFull(f"There is no space left in {library}.") from error
        raise DiskFull(f"{library} cannot be written: {error.strerror}.") from error
