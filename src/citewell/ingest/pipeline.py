"""Read, chunk, embed, write: only what changed, and all of it or nothing."""

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
from citewell.ingest.process import read_steps
from citewell.ingest.report import (
    Changes,
    DuplicateFinder,
    IngestReport,
    PageDigests,
    compare,
    read_report,
)
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
from citewell.ingest.steps import (
    BookFinished,
    BookOpened,
    Fingerprint,
    IngestJob,
    PageChunked,
    Step,
)
from citewell.options import IngestOptions
from citewell.ports import Embedder, Vectors
from citewell.text.plain_text import replace_lone_surrogates

BATCH = 32
_S = TypeVar("_S", bound=Step)
Stage = Literal["read", "embed", "write"]
Progress = Callable[[Stage, int, int], None]
"""Called with the stage, how much of it is done, and how much there is.

Embedding is counted in characters: what is left of them says how long it will take.
"""


@dataclass(frozen=True, slots=True)
class _PreviousRevision:
    """What the last revision says, to find out what is new."""

    dates: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    """Chunk to the hash of its text and when it was made."""
    marks: PageDigests = field(default_factory=PageDigests)


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

    Readers keep the old revision until the new one is complete. A run that was interrupted goes on
    where it stopped.

    Raises:
        IngestError: nothing was changed; the message names the file or setting.
    """
    begun = perf_counter()
    name = check_name(book or book_name(source))
    folder = library / name
    job = _job(source, name, format, options or IngestOptions(), embedder)
    with closing(read_steps(job, embedder.count_tokens)) as steps:
        # What is no book is said before anything is written.
        fingerprint = _next(steps, Fingerprint).value
        with disk_errors(library), lock_book(folder, name):
            if known := _unchanged(folder, fingerprint):
                return replace(known, seconds=perf_counter() - begun)
            title = _next(steps, BookOpened).title
            with StagedRevision(
                new_staging_folder(folder), name, embedder=embedder.id, title=title
            ) as draft:
                report = _write_chunks(steps, draft, _load_previous(folder))
                progress("read", report.pages, report.pages)
                if not draft.keys:
                    raise EmptyBook(f"{source} holds no text{_because(report)}.")
                check_disk_space(folder, draft.sizes, embedder.width)
                with VectorStore(folder / "embeddings.db") as store:
                    embedded = _embed(draft, store, embedder, progress)
                    progress("write", 0, 1)
                    build_index(draft, map(store.read, draft.keys), embedder.width)
                    report = replace(report, embedded=embedded, seconds=perf_counter() - begun)
                    manifest = _manifest(report, source, draft, embedder, fingerprint)
                    publish(folder, draft, manifest, report)
                    store.keep_only(draft.keys)
            progress("write", 1, 1)
            return report


def _job(
    source: Path, book: str, kind: str | None, options: IngestOptions, embedder: Embedder
) -> IngestJob:
    return IngestJob(
        folder=Path.cwd(),
        source=source,
        kind=kind,
        options=options,
        book=book,
        embedder=embedder.id,
        now=datetime.now(UTC).replace(microsecond=0),
    )


def _next(steps: Iterator[Step], kind: type[_S]) -> _S:
    step = next(steps)
    assert isinstance(step, kind)
    return step


def _unchanged(folder: Path, fingerprint: str) -> IngestReport | None:
    """Return the report of the current revision if there is nothing to do."""
    current = current_revision(folder)
    manifest = read_manifest(current) if current else None
    if not current or not manifest or manifest.fingerprint != fingerprint:
        return None
    report = read_report(current)
    if not report or not is_intact(current):
        return None
    return replace(report, embedded=0, changed=False, changes=Changes())


def _load_previous(folder: Path) -> _PreviousRevision:
    before = _PreviousRevision()
    current = current_revision(folder)
    for chunk in read_chunks(current) if current else ():
        before.dates[chunk.id] = (chunk.content_hash, chunk.processed_at)
        before.marks.add(chunk)
    return before


def _write_chunks(
    steps: Iterator[Step], draft: StagedRevision, before: _PreviousRevision
) -> IngestReport:
    """Write the book's chunks into the draft, and say what was noticed on the way."""
    marks, repeats = PageDigests(), DuplicateFinder()
    last: Step | None = None
    for last in steps:
        for chunk in last.chunks if isinstance(last, PageChunked) else ():
            draft.add(_keep_date(chunk, before))
            marks.add(chunk)
            repeats.add(chunk)
    assert isinstance(last, BookFinished)
    return IngestReport(
        book=draft.book,
        title=draft.title,
        kind=last.kind,
        revision=draft.revision,
        pages=last.pages,
        sections=last.sections,
        chunks=len(draft.keys),
        tokens=draft.tokens,
        embedded=0,
        seconds=0.0,
        changed=True,
        changes=compare(before.marks.found(), marks.found()),
        skipped=last.skipped,
        broken_links=last.broken_links,
        empty_pages=last.empty_pages,
        duplicates=repeats.found(),
        notes=last.notes,
    )


def _keep_date(chunk: Chunk, before: _PreviousRevision) -> Chunk:
    """Let a chunk that did not change keep its date."""
    text, date = before.dates.get(chunk.id, ("", chunk.processed_at))
    return replace(chunk, processed_at=date) if text == chunk.content_hash else chunk


def _embed(
    draft: StagedRevision, store: VectorStore, embedder: Embedder, progress: Progress
) -> int:
    """Put the vectors that are missing into the store, and give their number."""
    missing = _missing(draft.keys, store.known())
    # Longest first: the estimate shown is then never too good.
    missing.sort(key=lambda place: -draft.sizes[place])
    batches = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
    done, total = 0, sum(draft.sizes[place] for place in missing)
    progress("embed", done, total)
    for batch, vectors in _embed_batches(batches, draft, embedder):
        store.add([draft.keys[place] for place in batch], vectors)
        done += sum(draft.sizes[place] for place in batch)
        progress("embed", done, total)
    return len(missing)


def _embed_batches(
    batches: list[list[int]], draft: StagedRevision, embedder: Embedder
) -> Iterator[tuple[list[int], Vectors]]:
    """Embed batch by batch, the next one begun before this one ends, so that no core waits."""
    with ThreadPoolExecutor(2) as pool:
        begun: deque[tuple[list[int], Future[Vectors]]] = deque()
        for batch in batches:
            begun.append((batch, pool.submit(embedder.embed_passages, draft.texts(batch))))
            if len(begun) > 1:
                first, vectors = begun.popleft()
                yield first, vectors.result()
        for last, vectors in begun:
            yield last, vectors.result()


def _missing(keys: list[bytes], known: set[bytes]) -> list[int]:
    first: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        if key not in known:
            first.setdefault(key, place)
    return list(first.values())


def _manifest(
    report: IngestReport, source: Path, draft: StagedRevision, embedder: Embedder, fingerprint: str
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
        average_length=draft.average_length,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _because(report: IngestReport) -> str:
    failed = [skip for skip in report.skipped if skip.failed]
    if not failed:
        return ""
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f": {failed[0].source} {failed[0].reason}{more}"
