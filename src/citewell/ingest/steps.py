"""The steps of reading a book, told one by one: what another process can do and this one wait for.

What is told goes from the process that reads (`citewell.ingest.worker`) to the one that embeds
(`citewell.ingest.process`).
"""

import hashlib
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO

from citewell.domain import Block, Book, BrokenLink, Chunk, Page, Section, SkippedFile
from citewell.index.revision import INDEX_FORMAT
from citewell.ingest.chunking import CountTokens, chunk_page, embedding_text
from citewell.ingest.detect import address_notes, confine_reads, find_format
from citewell.ingest.formats.base import BookFormat, SourceFile, is_inside
from citewell.ingest.formats.time_limit import check_budget, skip_on_error
from citewell.ingest.link_check import drop_unsafe_links, find_broken_links
from citewell.ingest.report import empty_pages
from citewell.options import IngestOptions
from citewell.text.plain_text import replace_lone_surrogates
from citewell.text.terms import terms
from citewell.text.vocabulary import VocabularyCounts
from citewell.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
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
class BookOpened:
    """The book was read, and its title is known."""

    title: str


@dataclass(frozen=True, slots=True)
class PageChunked:
    """One page, cut into chunks."""

    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookFinished:
    """All chunks were told; this is what was noticed on the way."""

    kind: str
    pages: int
    sections: int
    skipped: tuple[SkippedFile, ...]
    broken_links: tuple[BrokenLink, ...]
    empty_pages: tuple[str, ...]
    notes: tuple[str, ...]


Step = Fingerprint | BookOpened | PageChunked | BookFinished


def steps(job: IngestJob, count: CountTokens) -> Iterator[Step]:
    """Yield the steps of reading a book, in order.

    Raises:
        UnsupportedSource: there is no book, or its configuration names a folder outside of it.
        UnreadableFile: its configuration cannot be read.
    """
    reader = find_format(job.source, job.kind)
    with confine_reads(reader, job.source, job.options):
        files = reader.files(job.source)
        yield Fingerprint(_fingerprint(reader, files, job))
        content = drop_unsafe_links(_well_formed(reader.read(job.source, job.options)))
        yield BookOpened(content.title)
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
        yield BookFinished(
            kind=content.kind,
            pages=len(pages),
            sections=sum(len(page.sections) for page in pages),
            skipped=tuple(skipped),
            broken_links=links,
            empty_pages=empty_pages(content),
            notes=(*content.notes, *address_notes(content, job.source, job.options)),
        )


def _cut(
    page: Page, job: IngestJob, count: CountTokens, skipped: list[SkippedFile]
) -> PageChunked | None:
    with skip_on_error(page.source, skipped, "cut"):
        check_budget()
        chunks = chunk_page(page, book=job.book, count=count, options=job.options, now=job.now)
        for chunk in chunks:
            # Done again where it is embedded: what takes too long there has to be found out here.
            text = embedding_text(chunk)
            terms(text)
            VocabularyCounts().add(text)
        return PageChunked(chunks)
    return None


def _fingerprint(reader: BookFormat, files: list[SourceFile], job: IngestJob) -> str:
    said = (
        f"{__version__} {INDEX_FORMAT} {reader.kind} {job.embedder} {job.options.model_dump_json()}"
    )
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
            path=tuple(replace_lone_surrogates(heading) for heading in found.path),
            anchor=replace_lone_surrogates(found.anchor),
            blocks=tuple(
                Block(kind=b.kind, text=replace_lone_surrogates(b.text)) for b in found.blocks
            ),
        )

    def page(found: Page) -> Page:
        return replace(
            found,
            source=replace_lone_surrogates(found.source),
            title=replace_lone_surrogates(found.title),
            part=replace_lone_surrogates(found.part),
            url=replace_lone_surrogates(found.url),
            sections=tuple(section(s) for s in found.sections),
        )

    return replace(
        content,
        title=replace_lone_surrogates(content.title),
        pages=tuple(page(p) for p in content.pages),
        skipped=tuple(
            replace(
                s,
                source=replace_lone_surrogates(s.source),
                reason=replace_lone_surrogates(s.reason),
            )
            for s in content.skipped
        ),
    )


class PipeChannel:
    """Two pipes between processes, for one object at a time."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._in = incoming
        self._out = outgoing

    def send(self, message: object) -> None:
        """Send one object."""
        pickle.dump(message, self._out, pickle.HIGHEST_PROTOCOL)
        self._out.flush()

    def receive(self) -> object:
        """Wait for one object.

        Raises:
            EOFError: the other process is gone.
        """
        return pickle.load(self._in)  # noqa: S301 - written by Citewell in the other process


class PageStarted(str):
    """The name of the page that is looked at from now on."""

    __slots__ = ()


class TokenCountRequest(tuple[str, ...]):
    """Texts whose tokens the other process should count."""

    __slots__ = ()
