"""Read, chunk, embed, write: only what changed, and all of it or nothing."""

import errno
import fcntl
import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from quire.domain import Block, Book, Chunk, Page, Section, Skipped
from quire.errors import BadRequest, BookBusy, DiskFull, EmptyBook, IndexUnavailable
from quire.index.qdrant import build_shard
from quire.index.revision import (
    FORMAT,
    Manifest,
    chunk_to_json,
    current_revision,
    point_to,
    read_chunks,
    read_manifest,
    write_contents,
    write_manifest,
    write_statistics,
)
from quire.index.sparse import average_length
from quire.index.vectors import VectorStore, vector_key
from quire.ingest.chunk import chunk_page, embedding_text
from quire.ingest.contents import contents_of
from quire.ingest.options import IngestOptions
from quire.ingest.readers import Reader
from quire.ingest.source import find_reader
from quire.ports import Embedder
from quire.prose.plain import well_formed
from quire.prose.terms import TermStatistics
from quire.version import __version__

BATCH = 32
ROOM = 64_000_000
"""Bytes the smallest index may take on a disk that does not keep files sparse."""
Stage = Literal["read", "embed", "write"]
Progress = Callable[[Stage, int, int], None]
"""Called with the stage, how much of it is done, and how much there is."""

_NAME = re.compile(r"^[a-z0-9][a-z0-9._-]{0,62}\Z")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did."""

    book: str
    title: str
    kind: str
    revision: str
    pages: int
    chunks: int
    tokens: int
    embedded: int
    changed: bool
    skipped: tuple[Skipped, ...]


def book_name(source: Path) -> str:
    """Make a book's name from its folder or file."""
    stem = source.resolve().stem if source.is_file() else source.resolve().name
    return re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._")[:63] or "book"


def ingest(  # noqa: PLR0913 - all but three have a default and a name
    source: Path,
    library: Path,
    embedder: Embedder,
    *,
    book: str | None = None,
    format: str | None = None,
    options: IngestOptions | None = None,
    progress: Progress = lambda *_: None,
) -> IngestReport:
    """Bring the book's index up to date with its source.

    What kind of book it is, is found out unless `format` says it. Readers keep the old revision
    until the new one is complete. A run that was interrupted goes on where it stopped.

    Raises:
        IngestError: nothing was changed; the message names the file or setting.
    """
    options = options or IngestOptions()
    name = book or book_name(source)
    if not _NAME.match(name):
        raise BadRequest(f"{name!r} is not a book name: use a-z, 0-9, '.', '_' and '-'.")
    reader = find_reader(source, format)
    folder = library / name
    with _disk_errors(library), _locked(folder, name):
        fingerprint = _fingerprint(reader, source, embedder.id, options)
        old = current_revision(folder)
        manifest = read_manifest(old) if old else None
        if manifest and manifest.fingerprint == fingerprint:
            return _report(manifest, embedded=0, changed=False)
        content = _well_formed(reader.read(source, options))
        chunks = _chunks(content, name, embedder, options, list(read_chunks(old)) if old else [])
        progress("read", len(content.pages), len(content.pages))
        if not chunks:
            raise EmptyBook(f"{source} holds no text{_because(content)}.")
        manifest = _manifest(content, source, chunks, embedder, fingerprint)
        embedded = _write(folder, manifest, chunks, embedder, progress)
    return _report(manifest, embedded=embedded, changed=True)


def _well_formed(content: Book) -> Book:
    """Make sure that everything a book says can be written down."""

    def section(found: Section) -> Section:
        return Section(
            path=tuple(well_formed(heading) for heading in found.path),
            anchor=well_formed(found.anchor),
            blocks=tuple(Block(kind=b.kind, text=well_formed(b.text)) for b in found.blocks),
        )

    def page(found: Page) -> Page:
        return Page(
            source=well_formed(found.source),
            title=well_formed(found.title),
            part=well_formed(found.part),
            url=well_formed(found.url),
            sections=tuple(section(s) for s in found.sections),
        )

    return replace(
        content,
        title=well_formed(content.title),
        pages=tuple(page(p) for p in content.pages),
        skipped=tuple(replace(s, source=well_formed(s.source)) for s in content.skipped),
    )


def _chunks(
    content: Book, name: str, embedder: Embedder, options: IngestOptions, old: Sequence[Chunk]
) -> list[Chunk]:
    now = datetime.now(UTC).replace(microsecond=0)
    before = {(chunk.id, chunk.content_hash): chunk.processed_at for chunk in old}
    made = (
        chunk
        for page in content.pages
        for chunk in chunk_page(
            page, book=name, count=embedder.count_tokens, options=options, now=now
        )
    )
    return [_unchanged(chunk, before.get((chunk.id, chunk.content_hash))) for chunk in made]


def _unchanged(chunk: Chunk, processed_at: datetime | None) -> Chunk:
    if processed_at is None:
        return chunk
    fields = {name: getattr(chunk, name) for name in chunk.__slots__}
    return Chunk(**(fields | {"processed_at": processed_at}))


def _write(
    folder: Path, manifest: Manifest, chunks: list[Chunk], embedder: Embedder, progress: Progress
) -> int:
    texts = [embedding_text(chunk) for chunk in chunks]
    _check_room(folder, texts, embedder.width)
    keys = [vector_key(embedder.id, text) for text in texts]
    with VectorStore(folder / "embeddings.db") as store:
        missing = _missing(keys, store.known())
        # Longest first: the estimate shown is then never too good, and padding stays small.
        missing.sort(key=lambda i: -len(texts[i]))
        for start in range(0, len(missing), BATCH):
            progress("embed", start, len(missing))
            batch = missing[start : start + BATCH]
            vectors = embedder.embed_passages([texts[i] for i in batch])
            store.add([keys[i] for i in batch], vectors)
        progress("embed", len(missing), len(missing))
        progress("write", 0, 1)
        new = folder / "revisions" / f"{manifest.revision}.new"
        shutil.rmtree(new, ignore_errors=True)
        entries = ((c, t, store.read(k)) for c, t, k in zip(chunks, texts, keys, strict=True))
        build_shard(new / "shard", entries, width=embedder.width, average=manifest.average_length)
        with (new / "chunks.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(
                json.dumps({"id": c.id} | chunk_to_json(c), ensure_ascii=False) + "\n"
                for c in chunks
            )
        write_statistics(new, TermStatistics.count(texts))
        write_contents(new, contents_of(manifest.title, chunks))
        write_manifest(new, manifest)
        _publish(folder, manifest.revision, new)
        store.keep_only(keys)
    progress("write", 1, 1)
    return len(missing)


def _check_room(folder: Path, texts: list[str], width: int) -> None:
    """Refuse in time: the engine maps its files, and a mapped write to a full disk is fatal."""
    need = ROOM + sum(10 * len(text) + 12 * width for text in texts)
    free = shutil.disk_usage(folder).free
    if free < need:
        raise DiskFull(
            f"There is no space left in {folder}: the index needs about {need / 1e6:.0f} MB, "
            f"{free / 1e6:.0f} MB are free."
        )


def _missing(keys: list[bytes], known: set[bytes]) -> list[int]:
    first: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        if key not in known:
            first.setdefault(key, place)
    return list(first.values())


def _publish(folder: Path, revision: str, new: Path) -> None:
    target = new.with_name(revision)
    before = current_revision(folder)
    if target == before and all((target / part.name).exists() for part in new.iterdir()):
        # Same name, same content, and in use: only what it was made from is said anew.
        (new / "manifest.json").replace(target / "manifest.json")
    else:
        # What stands there is an earlier, unfinished or damaged try.
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    point_to(folder, revision)
    # The last revision stays, for readers that were about to open it.
    for other in (folder / "revisions").iterdir():
        if other not in (target, before):
            shutil.rmtree(other, ignore_errors=True)


def _manifest(
    content: Book, source: Path, chunks: list[Chunk], embedder: Embedder, fingerprint: str
) -> Manifest:
    said = hashlib.sha256(f"{FORMAT} {embedder.id} {content.title}".encode())
    for chunk in chunks:
        stored = chunk_to_json(chunk) | {"id": chunk.id, "processed_at": ""}
        said.update(json.dumps(stored, sort_keys=True).encode())
    return Manifest(
        book=chunks[0].book,
        title=content.title,
        kind=content.kind,
        source=str(source.resolve()),
        revision=said.hexdigest()[:16],
        fingerprint=fingerprint,
        embedder=embedder.id,
        width=embedder.width,
        chunks=len(chunks),
        pages=len(content.pages),
        tokens=sum(chunk.token_count for chunk in chunks),
        average_length=average_length([embedding_text(chunk) for chunk in chunks]),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        skipped=[asdict(skip) for skip in content.skipped],
    )


def _fingerprint(reader: Reader, source: Path, embedder: str, options: IngestOptions) -> str:
    """Name everything the index depends on; equal means there is nothing to do."""
    seen = hashlib.sha256(
        f"{__version__} {FORMAT} {reader.kind} {embedder} {options.model_dump_json()}".encode()
    )
    for file in reader.files(source):
        seen.update(file.name.encode(errors="surrogateescape"))
        try:
            if not file.path.is_file():
                seen.update(b"not a file")
                continue
            with file.path.open("rb") as data:
                seen.update(hashlib.file_digest(data, "sha256").digest())
        except OSError as error:
            seen.update(f"unreadable: {error.errno}".encode())
    return seen.hexdigest()


def _because(content: Book) -> str:
    failed = [skip for skip in content.skipped if skip.failed]
    if not failed:
        return ""
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f": {failed[0].source} {failed[0].reason}{more}"


def _report(manifest: Manifest, *, embedded: int, changed: bool) -> IngestReport:
    return IngestReport(
        book=manifest.book,
        title=manifest.title,
        kind=manifest.kind,
        revision=manifest.revision,
        pages=manifest.pages,
        chunks=manifest.chunks,
        tokens=manifest.tokens,
        embedded=embedded,
        changed=changed,
        skipped=tuple(Skipped(**skip) for skip in manifest.skipped),
    )


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BookBusy(f"Another process is ingesting {name!r} ({folder}).") from error
        yield


@contextmanager
def _disk_errors(library: Path) -> Iterator[None]:
    """Say in one sentence that the disk is full or cannot be written."""
    try:
        yield
    except (sqlite3.DatabaseError, IndexUnavailable) as error:
        why = error.__cause__ or error
        raise DiskFull(f"The index cannot be written to {library}: {why}.") from error
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"There is no space left in {library}.") from error
        raise DiskFull(f"{library} cannot be written: {error.strerror}.") from error
