"""Export a book's index to a single file, and import it on another machine.

The file is a ZIP archive of the manifest, report, chunks and vectors, with a checksum of each. The
index itself is rebuilt on import: the search engine loads no untrusted files, and no file is named
after an archive member.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path, PurePath
from time import perf_counter

import numpy as np

from citewell.domain import Chunk
from citewell.errors import IndexMismatch, IndexUnavailable, UnknownBook, UnreadableExport
from citewell.index.integrity import is_intact
from citewell.index.revision import (
    INDEX_FORMAT,
    Manifest,
    chunk_from_json,
    current_revision,
    read_chunks,
    read_manifest,
)
from citewell.index.vectors import VectorStore, vector_key
from citewell.ingest.chunking import embedding_text
from citewell.ingest.report import IngestReport, parse_report, read_report, report_to_json
from citewell.ingest.staging import (
    StagedRevision,
    build_index,
    check_book_name,
    check_disk_space,
    disk_errors,
    lock_book,
    new_staging_folder,
    publish,
)
from citewell.ports import Vectors
from citewell.text.sanitize import is_web_address

MANIFEST, REPORT, CHUNKS, VECTORS = "manifest.json", "report.json", "chunks.jsonl", "vectors.f32"
CHECKSUMS_FILE = "sha256.json"
_MEMBERS = (MANIFEST, REPORT, CHUNKS, VECTORS)
_READ_SIZE = 1 << 20
_MAX_EXPANSION = 60
"""Limit against ZIP bombs: text compresses to about a tenth of its size."""
_BATCH = 256


def export_book(library: Path, name: str, target: Path) -> Manifest:
    """Write the current revision of a book into one file, atomically.

    Raises:
        UnknownBook: there is no book of that name.
        IndexUnavailable: the book's index is damaged.
        DiskFull: the file cannot be written.
    """
    folder = library / check_book_name(name)
    if not folder.is_dir():
        raise UnknownBook(f"There is no book {name!r}.")
    with lock_book(folder, name):
        current = current_revision(folder)
        manifest = read_manifest(current) if current else None
        report = read_report(current) if current else None
        if not current or not manifest or not report or not is_intact(current):
            raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
        # Do not disclose the local path of the source.
        manifest = replace(manifest, source=PurePath(manifest.source).name)
        with disk_errors(target), VectorStore(folder / "embeddings.db") as store:
            _write_archive(target, current, manifest, report, store)
    return manifest


def import_book(source: Path, library: Path, embedder: str) -> IngestReport:
    """Import an exported book; queries use the old revision until the new one is complete.

    Raises:
        UnreadableExport: the file is not an export, damaged, or from another version.
        IndexMismatch: its vectors are from another embedder.
    """
    started = perf_counter()
    with _archive_errors(source), zipfile.ZipFile(source) as archive:
        _verify_checksums(archive, source)
        manifest, report = _read_header(archive, source, embedder)
        folder = library / manifest.book
        with disk_errors(library), lock_book(folder, manifest.book):
            try:
                _rebuild(archive, source, folder, manifest, report)
            except BaseException:
                if not current_revision(folder) and not (folder / "embeddings.db").exists():
                    shutil.rmtree(folder)
                raise
    return replace(report, seconds=perf_counter() - started)


def _write_archive(
    target: Path, current: Path, manifest: Manifest, report: IngestReport, store: VectorStore
) -> None:
    keys = [vector_key(manifest.embedder, embedding_text(chunk)) for chunk in read_chunks(current)]
    sums: dict[str, str] = {}
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".citewell-", delete=False) as file:
        new = Path(file.name)
        try:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, blocks in (
                    (MANIFEST, iter([json.dumps(asdict(manifest)).encode()])),
                    (REPORT, iter([report_to_json(report).encode()])),
                    (CHUNKS, _read_file_blocks(current / CHUNKS)),
                    (VECTORS, (store.read(key).astype("<f4").tobytes() for key in keys)),
                ):
                    sums[name] = _write_member(archive, name, blocks)
                archive.writestr(CHECKSUMS_FILE, json.dumps(sums, indent=1))
            new.chmod(0o644)
            new.replace(target)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def _write_member(archive: zipfile.ZipFile, name: str, blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        for block in blocks:
            digest.update(block)
            member.write(block)
    return digest.hexdigest()


def _read_file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as data:
        while block := data.read(_READ_SIZE):
            yield block


def _verify_checksums(archive: zipfile.ZipFile, source: Path) -> None:
    """Verify every member before anything is written."""
    members = archive.infolist()
    if sorted(member.filename for member in members) != sorted((*_MEMBERS, CHECKSUMS_FILE)):
        raise UnreadableExport(f"{source} is not an exported book.")
    if sum(member.file_size for member in members) > _MAX_EXPANSION * source.stat().st_size:
        raise UnreadableExport(f"{source} unpacks to far more than an exported book.")
    sums = json.loads(archive.read(CHECKSUMS_FILE))
    for name in _MEMBERS:
        digest = hashlib.sha256()
        with archive.open(name) as member:
            while block := member.read(_READ_SIZE):
                digest.update(block)
        if digest.hexdigest() != sums[name]:
            raise UnreadableExport(f"{source} is damaged: the checksum of its {name} differs.")


def _read_header(
    archive: zipfile.ZipFile, source: Path, embedder: str
) -> tuple[Manifest, IngestReport]:
    data = json.loads(archive.read(MANIFEST))
    if data.get("format") != INDEX_FORMAT:
        raise UnreadableExport(f"{source} was exported by another version of Citewell.")
    manifest = Manifest(**data)
    check_book_name(manifest.book)
    report = parse_report(archive.read(REPORT))
    if manifest.embedder != embedder:
        raise IndexMismatch(
            f"{source} was built with the embedder {manifest.embedder!r}, "
            f"but {embedder!r} is configured."
        )
    return manifest, replace(report, embedded=0)


def _rebuild(
    archive: zipfile.ZipFile, source: Path, folder: Path, manifest: Manifest, report: IngestReport
) -> None:
    with StagedRevision(
        new_staging_folder(folder), manifest.book, embedder=manifest.embedder, title=manifest.title
    ) as staged:
        for chunk in _chunks(archive):
            if not is_web_address(chunk.url):
                raise UnreadableExport(f"{source} has a page whose URL is not a web address.")
            staged.add(replace(chunk, book=manifest.book))
        size = archive.getinfo(VECTORS).file_size
        expected_size = 4 * manifest.width * len(staged.vector_keys)
        if staged.revision != manifest.revision or size != expected_size:
            raise UnreadableExport(f"{source} is damaged: it is not the revision it claims to be.")
        if not all(np.isfinite(vector).all() for vector in _vectors(archive, manifest.width)):
            raise UnreadableExport(f"{source} is damaged: a vector is not finite.")
        check_disk_space(folder, staged.sizes, manifest.width)
        build_index(staged, _vectors(archive, manifest.width), manifest.width)
        with VectorStore(folder / "embeddings.db") as store:
            vectors = _vectors(archive, manifest.width)
            for start in range(0, len(staged.vector_keys), _BATCH):
                keys = staged.vector_keys[start : start + _BATCH]
                store.add(keys, np.stack([next(vectors) for _ in keys]))
            publish(folder, staged, manifest, report)
            store.keep_only(staged.vector_keys)


def _chunks(archive: zipfile.ZipFile) -> Iterator[Chunk]:
    with archive.open(CHUNKS) as lines:
        for line in lines:
            data = json.loads(line)
            yield chunk_from_json(data["id"], data)


def _vectors(archive: zipfile.ZipFile, width: int) -> Iterator[Vectors]:
    with archive.open(VECTORS) as rows:
        while row := rows.read(4 * width):
            yield np.frombuffer(row, "<f4").astype(np.float32)


@contextmanager
def _archive_errors(source: Path) -> Iterator[None]:
    """Turn errors of reading the archive into `UnreadableExport`."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise UnreadableExport(f"{source} is damaged or not an exported book.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableExport(f"{source} is not a readable exported book.") from error
    except OSError as error:
        raise UnreadableExport(f"{source} cannot be read: {error.strerror}.") from error
