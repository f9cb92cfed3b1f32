"""Books on a server that several hosts read: put there whole, or taken from there.

A host that ingests works in its own data folder, as without a server, and then puts the finished
revision there. What another host has put there meanwhile it takes first, so that only what changed
is embedded, wherever the last ingest ran.
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
from citewell.index.book import BATCH
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
    check_disk_space,
    check_name,
    disk_errors,
    lock_book,
    new_staging_folder,
    publish,
    remove_book,
)
from citewell.ports import Vectors

PARTS = ("manifest", "report", "contents", "terms", "vocabulary")
ORDER = "order"
"""The ids of the passages as they stand in the book, a line each."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """A revision that is now the same in both places."""

    book: str
    revision: str
    passages: int
    checksum: str
    """Of every passage with its vector, as the receiving side gave them back."""


def ingest_shared(
    server: QdrantServer,
    library: Path,
    name: str,
    embedder: str,
    ingest: Callable[[], IngestReport],
) -> IngestReport:
    """Take the newest revision from the server, ingest, and put the result there."""
    with suppress(IndexMismatch):  # made anew with another embedder, nothing of it is of use
        fetch_newer(server, library, name, embedder)
    report = ingest()
    push_book(library, report.book, server)
    return report


def fetch_newer(server: QdrantServer, library: Path, name: str, embedder: str) -> None:
    """Take a book from the server, unless it is there no other one than here.

    Raises:
        IndexMismatch: another embedder made its vectors.
        IndexUnavailable: it is damaged, or the server fails.
    """
    there = RevisionCatalog(server).current().get(check_name(name))
    if there and there.revision != _revision(library / name):
        pull_book(server, library, name, embedder)


def push_book(library: Path, name: str, server: QdrantServer) -> SyncResult:
    """Put the current revision of a book on the server; readers are sent there in one step.

    Raises:
        UnknownBook: there is nothing of that name.
        IndexUnavailable: the book's index is damaged, or the server fails.
    """
    folder = library / check_name(name)
    if not folder.is_dir():
        raise UnknownBook(f"There is no book {name!r} in {library.parent}.")
    catalogue = RevisionCatalog(server)
    with lock_book(folder, name):
        current = current_revision(folder)
        manifest = read_manifest(current) if current else None
        if not current or not manifest or not is_intact(current):
            raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
        parts = {part: (current / f"{part}.json").read_text("utf-8") for part in PARTS}
        parts[ORDER] = "\n".join(chunk.id for chunk in read_chunks(current))
        before = catalogue.current().get(name)
        if before and before.revision == manifest.revision:
            checksum = _update_manifest(catalogue, before, parts)
            return SyncResult(name, manifest.revision, manifest.chunks, checksum)
        kept = catalogue.begin(name, manifest.revision)
        with closing(EdgeEngine(current / "shard")) as engine:
            written = write_passages(
                server,
                kept.collection,
                _entries(current, engine),
                width=manifest.width,
                average=manifest.average_length,
            )
    if written.count != manifest.chunks:
        raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
    catalogue.record_checksums(kept, parts, str(written))
    before = catalogue.set_current(kept)
    # The last revision stays, for readers that were about to open it.
    catalogue.sweep(name, [kept, before] if before else [kept])
    return SyncResult(name, manifest.revision, manifest.chunks, str(written))


def pull_book(server: QdrantServer, library: Path, name: str, embedder: str) -> SyncResult:
    """Take the current revision of a book from the server into the data folder.

    Raises:
        UnknownBook: the server has nothing of that name.
        IndexMismatch: another embedder made its vectors.
        IndexUnavailable: it is damaged, or the server fails.
    """
    catalogue = RevisionCatalog(server)
    kept = catalogue.current().get(check_name(name))
    if kept is None:
        raise UnknownBook(f"There is no book {name!r} on the server.")
    parts = catalogue.parts(kept)
    manifest = parse_manifest(parts["manifest"])
    if manifest is None:
        raise IndexUnavailable(f"The index of {name!r} is of another version; ingest it again.")
    if manifest.embedder != embedder:
        raise IndexMismatch(
            f"{name!r} was built with the embedder {manifest.embedder!r}, "
            f"but {embedder!r} is configured."
        )
    folder = library / name
    with disk_errors(library), lock_book(folder, name):
        checksum = _rebuild(ServerEngine(server, kept.collection), parts, manifest, folder)
    return SyncResult(name, manifest.revision, manifest.chunks, checksum)


def remove_shared(server: QdrantServer, library: Path, name: str) -> int:
    """Delete a book from the server and from this host; give the bytes that were freed here.

    Raises:
        UnknownBook: there is nothing of that name in either place.
    """
    catalogue = RevisionCatalog(server)
    there = catalogue.all(check_name(name))
    here = (library / name).is_dir()
    if not there and not here:
        raise UnknownBook(f"There is no book {name!r}.")
    catalogue.drop_alias(name)
    for one in there:
        catalogue.drop(one)
    return remove_book(library, name) if here else 0


def _update_manifest(
    catalogue: RevisionCatalog, kept: ServerRevision, parts: dict[str, str]
) -> str:
    """Say anew what a revision was made from, if that is all that changed."""
    said = catalogue.parts(kept)
    checksum = str(json.loads(said[CHECKSUMS])["passages"])
    if any(said.get(name) != text for name, text in parts.items()):
        catalogue.record_checksums(kept, parts, checksum)
    return checksum


def _revision(folder: Path) -> str | None:
    current = current_revision(folder)
    manifest = read_manifest(current) if current else None
    return manifest.revision if manifest else None


def _entries(current: Path, engine: EdgeEngine) -> Iterator[tuple[Chunk, str, Vectors]]:
    """Yield passages with their vectors as the embedded engine holds them.

    An engine stretches what is not quite of length 1, each in its own way, and leaves alone what
    another has stretched: so that both hold the same, to the last bit.
    """
    chunks = read_chunks(current)
    while batch := list(islice(chunks, BATCH)):
        held = engine.vectors([chunk.id for chunk in batch])
        for chunk in batch:
            if chunk.id in held:
                yield chunk, embedding_text(chunk), held[chunk.id][1]


def _rebuild(engine: ServerEngine, parts: dict[str, str], manifest: Manifest, folder: Path) -> str:
    damaged = f"The index of {manifest.book!r} on the server is damaged; ingest the book again."
    place, found = new_staging_folder(folder), Checksum()
    with (
        StagedRevision(
            place, manifest.book, embedder=manifest.embedder, title=manifest.title
        ) as draft,
        VectorStore(folder / "embeddings.db") as store,
    ):
        ids = parts[ORDER].split("\n")
        for start in range(0, len(ids), BATCH):
            _take(engine, ids[start : start + BATCH], draft, store, found)
        sealed = str(json.loads(parts[CHECKSUMS])["passages"])
        if draft.revision != manifest.revision or str(found) != sealed:
            shutil.rmtree(place, ignore_errors=True)
            raise IndexUnreachable(damaged)
        check_disk_space(folder, draft.sizes, manifest.width)
        build_index(draft, map(store.read, draft.keys), manifest.width)
        publish(folder, draft, manifest, parse_report(parts["report"].encode()))
        store.keep_only(draft.keys)
    return sealed


def _take(
    engine: ServerEngine, ids: list[str], draft: StagedRevision, store: VectorStore, found: Checksum
) -> None:
    points = engine.vectors(ids)
    kept = [one for one in ids if one in points]
    before = len(draft.keys)
    for one in kept:
        payload, vector = points[one]
        draft.add(chunk_from_json(one, payload))
        found.add(one, payload, vector)
    if kept:
        store.add(draft.keys[before:], np.stack([points[one][1] for one in kept]))
