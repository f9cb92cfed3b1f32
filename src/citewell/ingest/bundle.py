"""A book's index as one file, to carry to another machine.

The file is a ZIP archive of what the index was made from: manifest, report, chunks and vectors, and
a checksum of each. The index itself is built again on import, so nothing that the engine would have
to trust comes from outside, and no name in the archive becomes a name on the disk.
"""

import hashlib
import json
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
    check_disk_space,
    check_name,
    disk_errors,
    lock_book,
    new_staging_folder,
    publish,
)
from citewell.ports import Vectors
from citewell.text.sanitize import is_web_address

MANIFEST, REPORT, CHUNKS, VECTORS = "manifest.json", "report.json", "chunks.jsonl", "vectors.f32"
CHECKSUMS_FILE = "sha256.json"
_CONTENT = (MANIFEST, REPORT, CHUNKS, VECTORS)
_BLOCK = 1 << 20
_GROWTH = 60
"""How many times larger than the file its content may be; text packs to a tenth of its size."""
_BATCH = 256


def export_book(library: Path, name: str, target: Path) -> Manifest:
    """Write the current revision of a book into one file, whole or not at all.

    Raises:
        UnknownBook: there is nothing of that name.
        IndexUnavailable: the book's index is damaged.
        DiskFull: the file cannot be written.
    """
    folder = library / check_name(name)
    if not folder.is_dir():
        raise UnknownBook(f"There is no book {name!r}.")
    with lock_book(folder, name):
        current = current_revision(folder)
        manifest = read_manifest(current) if current else None
        report = read_report(current) if current else None
        if not current or not manifest or not report or not is_intact(current):
            raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
        # Where the book lay is nobody's business elsewhere.
        manifest = replace(manifest, source=PurePath(manifest.source).name)
        with disk_errors(target), VectorStore(folder / "embeddings.db") as store:
            _write_archive(target, current, manifest, report, store)
    return manifest


def import_book(source: Path, library: Path, embedder: str) -> IngestReport:
    """Take in a book that was exported; readers keep what they have until it is complete.

    Raises:
        UnreadableExport: the file is no export, damaged, or of another version.
        IndexMismatch: another embedder made its vectors.
    """
    begun = perf_counter()
    with _archive_errors(source), zipfile.ZipFile(source) as archive:
        _check_sums(archive, source)
        manifest, report = _read_header(archive, source, embedder)
        folder = library / manifest.book
        with disk_errors(library), lock_book(folder, manifest.book):
            _rebuild(archive, source, folder, manifest, report)
    return replace(report, seconds=perf_counter() - begun)


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
                    (CHUNKS, _blocks(current / CHUNKS)),
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
    seen = hashlib.sha256()
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        for block in blocks:
            seen.update(block)
            member.write(block)
    return seen.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as data:
        while block := data.read(_BLOCK):
            yield block


def _check_sums(archive: zipfile.ZipFile, source: Path) -> None:
    """Read everything once, before anything is written."""
    members = archive.infolist()
    if sorted(member.filename for member in members) != sorted((*_CONTENT, CHECKSUMS_FILE)):
        raise UnreadableExport(f"{source} is no export of a book.")
    if sum(member.file_size for member in members) > _GROWTH * source.stat().st_size:
        raise UnreadableExport(f"{source} unpacks to far more than an exported book.")
    sums = json.loads(archive.read(CHECKSUMS_FILE))
    for name in _CONTENT:
        seen = hashlib.sha256()
        with archive.open(name) as member:
            while block := member.read(_BLOCK):
                seen.update(block)
        if seen.hexdigest() != sums[name]:
            raise UnreadableExport(f"{source} is damaged: the checksum of its {name} differs.")


def _read_header(
    archive: zipfile.ZipFile, source: Path, embedder: str
) -> tuple[Manifest, IngestReport]:
    data = json.loads(archive.read(MANIFEST))
    if data.get("format") != INDEX_FORMAT:
        raise UnreadableExport(f"{source} was exported by another version of Citewell.")
    manifest = Manifest(**data)
    check_name(manifest.book)
    report = parse_report(archive.read(REPORT))
    if manifest.embedder != embedder:
        raise IndexMismatch(
            f"{source} was built with the embedder {manifest.embedder!r}, "
            f"but {embedder!r} is configured."
        )
    return manifest, replace(report, embedded=0)


def _rebuild(
    archive: zipfile.ZipFile,
    source: Path,
    folder: Path,
    manifest: Manifest,
    report: IngestReport,
) -> None:
    place = new_staging_folder(folder)
    with StagedRevision(
        place, manifest.book, embedder=manifest.embedder, title=manifest.title
    ) as draft:
        for chunk in _chunks(archive):
            if not is_web_address(chunk.url):
                raise UnreadableExport(f"{source} has a page whose address is no web address.")
            draft.add(replace(chunk, book=manifest.book))
        rows = archive.getinfo(VECTORS).file_size
        if draft.revision != manifest.revision or rows != 4 * manifest.width * len(draft.keys):
            raise UnreadableExport(f"{source} is damaged: it is not the revision that it says.")
        if not all(np.isfinite(vector).all() for vector in _vectors(archive, manifest.width)):
            raise UnreadableExport(f"{source} is damaged: a vector is not finite.")
        check_disk_space(folder, draft.sizes, manifest.width)
        build_index(draft, _vectors(archive, manifest.width), manifest.width)
        with VectorStore(folder / "embeddings.db") as store:
            vectors = _vectors(archive, manifest.width)
            for start in range(0, len(draft.keys), _BATCH):
                keys = draft.keys[start : start + _BATCH]
                store.add(keys, np.stack([next(vectors) for _ in keys]))
            publish(folder, draft, manifest, report)
            store.keep_only(draft.keys)


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
    """Say in one sentence that a file is not what it should be."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise UnreadableExport(f"{source} is damaged or no export of a book.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableExport(f"{source} is no export of a book that can be read.") from error
    except OSError as error:
        raise UnreadableExport(f"{source} cannot be read: {error.strerror}.") from error
