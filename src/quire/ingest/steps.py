"""The steps of reading a book, told one by one: what another process can do and this one wait for.

What is told goes from the process that reads (`quire.ingest.worker`) to the one that embeds
(`quire.ingest.reading`).
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from quire.domain import Block, Book, BrokenLink, Chunk, Page, Section, Skipped
from quire.index.revision import FORMAT
from quire.ingest.addresses import with_web_addresses
from quire.ingest.advice import address_notes
from quire.ingest.chunk import chunk_page, embedding_text
from quire.ingest.crossrefs import find_broken_links
from quire.ingest.options import IngestOptions
from quire.ingest.readers import Reader, SourceFile
from quire.ingest.readers.bounds import is_inside
from quire.ingest.readers.budget import check_budget, reporting
from quire.ingest.report import empty_pages
from quire.ingest.seams import CountTokens
from quire.ingest.source import find_reader, inside
from quire.prose.plain import well_formed
from quire.prose.terms import terms
from quire.prose.vocabulary import VocabularyCounts
from quire.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A book to read, and what its chunks need to know."""

    folder: Path
    """Where a relative path to the source counts from."""
    source: Path
    kind: str | None
    options: IngestOptions
    book: str
    embedder: str
    now: datetime
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Pages that ended an earlier try, and how."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Names everything the index depends on; equal means that there is nothing to do."""

    value: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The book was read, and its title is known."""

    title: str


@dataclass(frozen=True, slots=True)
class Cut:
    """One page, cut into chunks."""

    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """All chunks were told; this is what was noticed on the way."""

    kind: str
    pages: int
    sections: int
    skipped: tuple[Skipped, ...]
    broken_links: tuple[BrokenLink, ...]
    empty_pages: tuple[str, ...]
    notes: tuple[str, ...]


Step = Fingerprint | Opened | Cut | Finished


def steps(job: Job, count: CountTokens) -> Iterator[Step]:
    """Yield the steps of reading a book, in order.

    Raises:
        UnsupportedSource: there is no book, or its configuration names a folder outside of it.
        UnreadableFile: its configuration cannot be read.
    """
    reader = find_reader(job.source, job.kind)
    with inside(reader, job.source, job.options):
        files = reader.files(job.source)
        yield Fingerprint(_fingerprint(reader, files, job))
        content = with_web_addresses(_well_formed(reader.read(job.source, job.options)))
        yield Opened(content.title)
        skipped = list(content.skipped)
        pages: list[Page] = []
        for page in content.pages:
            cut = _cut(page, job, count, skipped)
            if cut is not None:
                pages.append(page)
                yield cut
        content = replace(content, pages=tuple(pages))
        paths = {file.name: file.path for file in files}
        links = find_broken_links(content, paths, skipped)
        yield Finished(
            kind=content.kind,
            pages=len(pages),
            sections=sum(len(page.sections) for page in pages),
            skipped=tuple(skipped),
            broken_links=links,
            empty_pages=empty_pages(content),
            notes=(*content.notes, *address_notes(content, job.source, job.options)),
        )


def _cut(page: Page, job: Job, count: CountTokens, skipped: list[Skipped]) -> Cut | None:
    with reporting(page.source, skipped, "cut"):
        check_budget()
        chunks = chunk_page(page, book=job.book, count=count, options=job.options, now=job.now)
        for chunk in chunks:
            # Done again where it is embedded: what takes too long there has to be found out here.
            text = embedding_text(chunk)
            terms(text)
            VocabularyCounts().add(text)
        return Cut(chunks)
    return None


def _fingerprint(reader: Reader, files: list[SourceFile], job: Job) -> str:
    said = f"{__version__} {FORMAT} {reader.kind} {job.embedder} {job.options.model_dump_json()}"
    seen = hashlib.sha256(said.encode())
    for file in files:
        seen.update(file.name.encode(errors="surrogateescape"))
        try:
            if not is_inside(file.path) or not file.path.is_file():
                seen.update(b"not a file")
                continue
            with file.path.open("rb") as data:
                seen.update(hashlib.file_digest(data, "sha256").digest())
        except OSError as error:
            seen.update(f"unreadable: {error.errno}".encode())
    return seen.hexdigest()


def _well_formed(content: Book) -> Book:
    """Make sure that everything a book says can be written down."""

    def section(found: Section) -> Section:
        return Section(
            path=tuple(well_formed(heading) for heading in found.path),
            anchor=well_formed(found.anchor),
            blocks=tuple(Block(kind=b.kind, text=well_formed(b.text)) for b in found.blocks),
        )

    def page(found: Page) -> Page:
        return replace(
            found,
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
        skipped=tuple(
            replace(s, source=well_formed(s.source), reason=well_formed(s.reason))
            for s in content.skipped
        ),
    )
