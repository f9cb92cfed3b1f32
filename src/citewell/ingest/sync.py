"""Push books to a Qdrant server that several hosts share, and pull them from it.

A host first pulls a newer revision from the server, so that only changes are embedded, whichever
host ran the last ingest. It then ingests into its own data folder, as it does without a server, and
pushes the finished revision.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from citewell.domain import Chunk
from citewell.errors import IndexMismatch, IndexUnavailable, IndexUnreachable, UnknownBook
from citewell.index.book import BATCH_SIZE
from citewell.index.integrity import is_intact
from citewell.index.qdrant_library import Checksum, ServerEngine, write_passages
from citewell.index.qdrant_local import EdgeEngine
from citewell.index.qdrant_server import CHECKSUMS, QdrantServer, RevisionCatalog, ServerRevision
from citewell.index.revision import (
    Manifest,
    chunk_from_json,
    current_revision,
    parse_manifest,
    read_chunks,
    read_manifest,
)
from citewell.index.vectors import VectorStore
from citewell.ingest.chunking import embedding_text
from citewell.ingest.report import IngestReport, parse_report
from citewell.ingest.staging import (
    StagedRevision,
    build_index,
    check_book_name,
    check_disk_space,
    disk_errors,
    lock_book,
    new_staging_folder,
    publish,
    remove_book,
)
from citewell.ports import Vectors

METADATA_FILES = ("manifest", "report", "contents", "terms", "vocabulary")
CHUNK_ORDER = "order"
"""The chunk ids in reading order, one per line."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """A revision that is now the same on the server and on this host."""

    book: str
    revision: str
    passages: int
    checksum: str
    """The checksum of every passage and its vector, as read back from the receiving side."""


def ingest_shared(
    server: QdrantServer,
    library: Path,
    name: str,
    embedder: str,
    ingest: Callable[[], IngestReport],
) -> IngestReport:
    """Pull the newest revision from the server, ingest, and push the result."""
    with suppress(IndexMismatch):  # vectors of another embedder cannot be reused
        fetch_newer(server, library, name, embedder)
    report = ingest()
    push_book(library, report.book, server)
    return report


def fetch_newer(server: QdrantServer, library: Path, name: str, embedder: str) -> None:
    """Pull a book from the server if its revision differs from the local one.

    Raises:
        IndexMismatch: the vectors on the server are from another embedder.
        IndexUnavailable: the index on the server is damaged, or the server fails.
    """
    remote = RevisionCatalog(server).current().get(check_book_name(name))
    if remote and remote.revision != _local_revision(library / name):
        pull_book(server, library, name, embedder)


def push_book(library: Path, name: str, server: QdrantServer) -> SyncResult:
    """Copy the current revision of a book to the server and publish it there atomically.

    Raises:
        UnknownBook: there is no book of that name.
        IndexUnavailable: the book's index is damaged, or the server fails.
    """
    folder = library / check_book_name(name)
    if not folder.is_dir():
        raise UnknownBook(f"There is no book {name!r} in {library.parent}.")
    catalog = RevisionCatalog(server)
    with lock_book(folder, name):
        current = current_revision(folder)
        manifest = read_manifest(current) if current else None
        if not current or not manifest or not is_intact(current):
            raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
        parts = {part: (current / f"{part}.json").read_text("utf-8") for part in METADATA_FILES}
        parts[CHUNK_ORDER] = "\n".join(chunk.id for chunk in read_chunks(current))
        previous = catalog.current().get(name)
        if previous and previous.revision == manifest.revision:
            checksum = _update_metadata(catalog, previous, parts)
            return SyncResult(name, manifest.revision, manifest.chunks, checksum)
        remote = catalog.create_revision(name, manifest.revision)
        with closing(EdgeEngine(current / "shard")) as engine:
            written = write_passages(
                server,
                remote.collection,
                _chunks_with_vectors(current, engine),
                width=manifest.width,
                average=manifest.average_length,
            )
    if written.count != manifest.chunks:
        raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
    catalog.write_parts(remote, parts, str(written))
    previous = catalog.set_current(remote)
    # Keep the previous revision for processes that are about to open it.
    catalog.delete_obsolete(name, [remote, previous] if previous else [remote])
    return SyncResult(name, manifest.revision, manifest.chunks, str(written))


def pull_book(server: QdrantServer, library: Path, name: str, embedder: str) -> SyncResult:
    """Copy the current revision of a book from the server to the data folder.

    Raises:
        UnknownBook: the server has no book of that name.
        IndexMismatch: the vectors on the server are from another embedder.
        IndexUnavailable: the index on the server is damaged, or the server fails.
    """
    catalog = RevisionCatalog(server)
    remote = catalog.current().get(check_book_name(name))
    if remote is None:
        raise UnknownBook(f"There is no book {name!r} on the server.")
    parts = catalog.parts(remote)
    manifest = parse_manifest(parts["manifest"])
    if manifest is None:
        raise IndexUnavailable(f"The index of {name!r} has another version; ingest it again.")
    if manifest.embedder != embedder:
        raise IndexMismatch(
            f"{name!r} was built with the embedder {manifest.embedder!r}, "
            f"but {embedder!r} is configured."
        )
    folder = library / name
    with disk_errors(library), lock_book(folder, name):
        checksum = _rebuild(ServerEngine(server, remote.collection), parts, manifest, folder)
    return SyncResult(name, manifest.revision, manifest.chunks, checksum)


def remove_shared(server: QdrantServer, library: Path, name: str) -> int:
    """Delete a book from the server and this host; return the bytes freed on this host.

    Raises:
        UnknownBook: neither has a book of that name.
    """
    catalog = RevisionCatalog(server)
    remote_revisions = catalog.all(check_book_name(name))
    is_local = (library / name).is_dir()
    if not remote_revisions and not is_local:
        raise UnknownBook(f"There is no book {name!r}.")
    catalog.delete_alias(name)
    for revision in remote_revisions:
        catalog.delete(revision)
    return remove_book(library, name) if is_local else 0


def _update_metadata(
    catalog: RevisionCatalog, remote: ServerRevision, parts: dict[str, str]
) -> str:
    """Update the metadata of a revision with the same chunks; return their checksum."""
    stored = catalog.parts(remote)
    checksum = str(json.loads(stored[CHECKSUMS])["passages"])
    if any(stored.get(name) != text for name, text in parts.items()):
        catalog.write_parts(remote, parts, checksum)
    return checksum


def _local_revision(folder: Path) -> str | None:
    current = current_revision(folder)
    manifest = read_manifest(current) if current else None
    return manifest.revision if manifest else None


def _chunks_with_vectors(current: Path, engine: EdgeEngine) -> Iterator[tuple[Chunk, str, Vectors]]:
    """Yield chunks with their vectors as the embedded engine stores them.

    Engines normalize vectors that are not exactly of length 1, each with its own rounding, and do
    not change normalized ones. Sending the stored vectors keeps both sides equal to the last bit.
    """
    chunks = read_chunks(current)
    while batch := list(islice(chunks, BATCH_SIZE)):
        points = engine.vectors([chunk.id for chunk in batch])
        for chunk in batch:
            if chunk.id in points:
                yield chunk, embedding_text(chunk), points[chunk.id][1]


def _rebuild(engine: ServerEngine, parts: dict[str, str], manifest: Manifest, folder: Path) -> str:
    damaged = f"The index of {manifest.book!r} on the server is damaged; ingest the book again."
    staging_folder, checksum = new_staging_folder(folder), Checksum()
    with (
        StagedRevision(
            staging_folder, manifest.book, embedder=manifest.embedder, title=manifest.title
        ) as staged,
        VectorStore(folder / "embeddings.db") as store,
    ):
        ids = parts[CHUNK_ORDER].split("\n")
        for start in range(0, len(ids), BATCH_SIZE):
            _pull_chunks(engine, ids[start : start + BATCH_SIZE], staged, store, checksum)
        expected = str(json.loads(parts[CHECKSUMS])["passages"])
        if staged.revision != manifest.revision or str(checksum) != expected:
            shutil.rmtree(staging_folder, ignore_errors=True)
            raise IndexUnreachable(damaged)
        check_disk_space(folder, staged.sizes, manifest.width)
        build_index(staged, map(store.read, staged.vector_keys), manifest.width)
        publish(folder, staged, manifest, parse_report(parts["report"].encode()))
        store.keep_only(staged.vector_keys)
    return expected


def _pull_chunks(
    engine: ServerEngine,
    ids: list[str],
    staged: StagedRevision,
    store: VectorStore,
    checksum: Checksum,
) -> None:
    points = engine.vectors(ids)
    vectors: list[Vectors] = []
    start = len(staged.vector_keys)
    for chunk_id in ids:
        if chunk_id in points:
            payload, vector = points[chunk_id]
            staged.add(chunk_from_json(chunk_id, payload))
            checksum.add(chunk_id, payload, vector)
            vectors.append(vector)
    if vectors:
        store.add(staged.vector_keys[start:], np.stack(vectors))
