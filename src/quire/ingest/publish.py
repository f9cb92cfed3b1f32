"""A finished draft becomes what readers see: in one step, under a lock, or not at all."""

import errno
import fcntl
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quire.errors import (
    BadRequest,
    BookBusy,
    DiskFull,
    IndexUnavailable,
    IndexUnreachable,
    RevisionGone,
    UnknownBook,
)
from quire.folders import make_private
from quire.index.qdrant import build_shard
from quire.index.revision import (
    Manifest,
    current_revision,
    point_to,
    read_chunks,
    read_manifest,
    write_contents,
    write_manifest,
    write_statistics,
    write_vocabulary,
)
from quire.index.seal import is_whole, seal
from quire.ingest.contents import contents_of
from quire.ingest.draft import Draft
from quire.ingest.report import IngestReport, write_report
from quire.ports import Vectors

ROOM = 64_000_000
"""Bytes the smallest index may take on a disk that does not keep files sparse."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAME = re.compile(r"^[a-z0-9][a-z0-9._-]{0,62}\Z")


def check_name(name: str) -> str:
    """Give the name back if a book can have it.

    Raises:
        BadRequest: it cannot be the name of a folder everywhere.
    """
    if not _NAME.match(name):
        raise BadRequest(f"{name!r} is not a book name: use a-z, 0-9, '.', '_' and '-'.")
    return name


def new_draft(folder: Path) -> Path:
    """Give the place for a new revision of a book; what an earlier try left there is gone."""
    place = folder / "revisions" / "new"
    shutil.rmtree(place, ignore_errors=True)
    return place


def build_index(draft: Draft, vectors: Iterable[Vectors], width: int) -> None:
    """Build the index of a draft from the vectors of its chunks, in their order."""
    entries = (
        (chunk, text, vector)
        for (chunk, text), vector in zip(draft.entries(), vectors, strict=True)
    )
    build_shard(draft.folder / "shard", entries, width=width, average=draft.average_length)
    write_statistics(draft.folder, draft.statistics)
    write_vocabulary(draft.folder, draft.vocabulary)
    write_contents(draft.folder, contents_of(draft.title, list(read_chunks(draft.folder))))
    seal(draft.folder)


def publish(folder: Path, draft: Draft, manifest: Manifest, report: IngestReport) -> None:
    """Make a draft whose index is built the revision that readers use."""
    new = draft.folder
    write_report(new, report)
    write_manifest(new, manifest)
    before = current_revision(folder)
    if before and _says(before, manifest.revision) and is_whole(before):
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
    point_to(folder, target.name)
    # The last revision stays, for readers that were about to open it.
    for other in (folder / "revisions").iterdir():
        if other not in (target, before):
            shutil.rmtree(other, ignore_errors=True)


def _says(folder: Path, revision: str) -> bool:
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
    with disk_errors(library), locked(folder, name):
        freed = size_on_disk(folder)
        # From here on it is unknown to readers, even if deleting the rest fails.
        (folder / "current").unlink(missing_ok=True)
        shutil.rmtree(folder)
    return freed


def size_on_disk(folder: Path) -> int:
    """Give the bytes that a folder takes; the engine's files are mostly holes, which take none."""
    return sum(512 * path.lstat().st_blocks for path in folder.rglob("*"))


def check_room(folder: Path, sizes: Iterable[int], width: int) -> None:
    """Refuse in time: the engine maps its files, and a mapped write to a full disk is fatal.

    Raises:
        DiskFull: texts of those sizes, with their vectors, would not fit.
    """
    need = ROOM + sum(10 * size + 12 * width for size in sizes)
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DiskFull(
            f"There is no space left in {folder}: the index needs about {need / 1e6:.0f} MB, "
            f"{free / 1e6:.0f} MB are free."
        )


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
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
    """Say in one sentence that the disk is full or cannot be written."""
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
