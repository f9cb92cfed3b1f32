"""Ingest a book: read, chunk, embed and publish, incrementally and atomically."""

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Literal, TypeVar

from citewell.domain import Chunk
from citewell.errors import EmptyBook
from citewell.index.integrity import is_intact
from citewell.index.revision import Manifest, current_revision, read_chunks, read_manifest
from citewell.index.vectors import VectorStore
from citewell.ingest.reader import (
    BookFinished,
    BookOpened,
    Fingerprint,
    IngestJob,
    PageChunked,
    ReadEvent,
)
from citewell.ingest.report import (
    Changes,
    DuplicateFinder,
    IngestReport,
    PageHashes,
    compare_pages,
    read_report,
)
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
from citewell.ingest.subprocess_reader import read_in_subprocess
from citewell.options import IngestOptions
from citewell.ports import Embedder, Vectors
from citewell.text.plain_text import replace_lone_surrogates

BATCH = 32
_E = TypeVar("_E", bound=ReadEvent)
Stage = Literal["read", "embed", "write"]
Progress = Callable[[Stage, int, int], None]
"""Called with the stage, the amount done and the total; for `embed`, in characters."""


@dataclass(frozen=True, slots=True)
class _PreviousRevision:
    """What is compared between the last revision and the new one."""

    processed: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    """Chunk id to content hash and `processed_at`."""
    page_hashes: PageHashes = field(default_factory=PageHashes)


def book_name(source: Path) -> str:
    """Return the default name of a book: a slug of its folder or file name."""
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
    """Update the index of a book from its source.

    Queries use the old revision until the new one is complete. Embeddings of an interrupted run are
    reused.

    Raises:
        IngestError: nothing was changed; the message names the file or setting.
    """
    started = perf_counter()
    name = check_book_name(book or book_name(source))
    folder = library / name
    job = _job(source, name, format, options or IngestOptions(), embedder)
    with closing(read_in_subprocess(job, embedder.count_tokens)) as events:
        # Raises for an unsupported source before anything is written.
        fingerprint = _next(events, Fingerprint).value
        with disk_errors(library), lock_book(folder, name):
            if current_report := _report_if_unchanged(folder, fingerprint):
                return replace(current_report, seconds=perf_counter() - started)
            title = _next(events, BookOpened).title
            with StagedRevision(
                new_staging_folder(folder), name, embedder=embedder.id, title=title
            ) as staged:
                report = _stage_chunks(events, staged, _load_previous(folder))
                progress("read", report.pages, report.pages)
                if not staged.vector_keys:
                    raise EmptyBook(f"{source} holds no text{_first_failure(report)}.")
                check_disk_space(folder, staged.sizes, embedder.width)
                with VectorStore(folder / "embeddings.db") as store:
                    embedded = _embed_missing(staged, store, embedder, progress)
                    progress("write", 0, 1)
                    build_index(staged, map(store.read, staged.vector_keys), embedder.width)
                    report = replace(report, embedded=embedded, seconds=perf_counter() - started)
                    manifest = _manifest(report, source, staged, embedder, fingerprint)
                    publish(folder, staged, manifest, report)
                    store.keep_only(staged.vector_keys)
            progress("write", 1, 1)
            return report


def _job(
    source: Path, book: str, format_name: str | None, options: IngestOptions, embedder: Embedder
) -> IngestJob:
    return IngestJob(
        working_folder=Path.cwd(),
        source=source,
        format_name=format_name,
        options=options,
        book=book,
        embedder=embedder.id,
        now=datetime.now(UTC).replace(microsecond=0),
    )


def _next(events: Iterator[ReadEvent], event_type: type[_E]) -> _E:
    event = next(events)
    assert isinstance(event, event_type)
    return event


def _report_if_unchanged(folder: Path, fingerprint: str) -> IngestReport | None:
    """Return the report of the current revision if it is up to date and intact."""
    current = current_revision(folder)
    manifest = read_manifest(current) if current else None
    if not current or not manifest or manifest.fingerprint != fingerprint:
        return None
    report = read_report(current)
    if not report or not is_intact(current):
        return None
    return replace(report, embedded=0, changed=False, changes=Changes())


def _load_previous(folder: Path) -> _PreviousRevision:
    previous = _PreviousRevision()
    current = current_revision(folder)
    for chunk in read_chunks(current) if current else ():
        previous.processed[chunk.id] = (chunk.content_hash, chunk.processed_at)
        previous.page_hashes.add(chunk)
    return previous


def _stage_chunks(
    events: Iterator[ReadEvent], staged: StagedRevision, previous: _PreviousRevision
) -> IngestReport:
    """Write the book's chunks into the staged revision, and return the report."""
    page_hashes, duplicates = PageHashes(), DuplicateFinder()
    event: ReadEvent | None = None
    for event in events:
        for chunk in event.chunks if isinstance(event, PageChunked) else ():
            staged.add(_keep_date(chunk, previous))
            page_hashes.add(chunk)
            duplicates.add(chunk)
    assert isinstance(event, BookFinished)
    return IngestReport(
        book=staged.book,
        title=staged.title,
        kind=event.kind,
        revision=staged.revision,
        pages=event.pages,
        sections=event.sections,
        chunks=len(staged.vector_keys),
        tokens=staged.tokens,
        embedded=0,
        seconds=0.0,
        changed=True,
        changes=compare_pages(previous.page_hashes.by_page, page_hashes.by_page),
        skipped=event.skipped,
        broken_links=event.broken_links,
        empty_pages=event.empty_pages,
        duplicates=duplicates.duplicates(),
        notes=event.notes,
    )


def _keep_date(chunk: Chunk, previous: _PreviousRevision) -> Chunk:
    content_hash, date = previous.processed.get(chunk.id, ("", chunk.processed_at))
    return replace(chunk, processed_at=date) if content_hash == chunk.content_hash else chunk


def _embed_missing(
    staged: StagedRevision, store: VectorStore, embedder: Embedder, progress: Progress
) -> int:
    """Embed the chunks whose vectors are not in the store; return their number."""
    known = store.known()
    first_with_key: dict[bytes, int] = {}
    for index, key in enumerate(staged.vector_keys):
        if key not in known:
            first_with_key.setdefault(key, index)
    # Longest first, so that the time estimate is never too optimistic.
    missing = sorted(first_with_key.values(), key=lambda index: -staged.sizes[index])
    batches = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
    done, total = 0, sum(staged.sizes[index] for index in missing)
    progress("embed", done, total)
    for batch, vectors in _embed_batches(batches, staged, embedder):
        store.add([staged.vector_keys[index] for index in batch], vectors)
        done += sum(staged.sizes[index] for index in batch)
        progress("embed", done, total)
    return len(missing)


def _embed_batches(
    batches: list[list[int]], staged: StagedRevision, embedder: Embedder
) -> Iterator[tuple[list[int], Vectors]]:
    """Yield each batch with its vectors; two batches run at a time to keep all cores busy."""
    with ThreadPoolExecutor(2) as pool:
        running: deque[tuple[list[int], Future[Vectors]]] = deque()
        for batch in batches:
            running.append((batch, pool.submit(embedder.embed_passages, staged.texts(batch))))
            if len(running) > 1:
                first, vectors = running.popleft()
                yield first, vectors.result()
        for last, vectors in running:
            yield last, vectors.result()


def _manifest(
    report: IngestReport, source: Path, staged: StagedRevision, embedder: Embedder, fingerprint: str
) -> Manifest:
    return Manifest(
        book=report.book,
        title=report.title,
        kind=report.kind,
        source=replace_lone_surrogates(str(source.resolve())),
        revision=report.revision,
        fingerprint=fingerprint,
        embedder=embedder.id,
        width=embedder.width,
        chunks=report.chunks,
        pages=report.pages,
        tokens=report.tokens,
        average_length=staged.average_length,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _first_failure(report: IngestReport) -> str:
    failed = [skip for skip in report.skipped if skip.failed]
    if not failed:
        return ""
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f": {failed[0].source} {failed[0].reason}{more}"
