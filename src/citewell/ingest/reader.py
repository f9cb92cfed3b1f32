"""Read a book and yield its chunks as events, and the messages of the worker process.

`citewell.ingest.worker` reads the book in a process of its own; its parent embeds the chunks.
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
from citewell.ingest.detect import detect_format, restrict_reads_to_book, url_notes
from citewell.ingest.formats.base import BookFormat, SourceFile, is_allowed_path
from citewell.ingest.formats.time_limit import check_time_limit, skip_on_error
from citewell.ingest.link_check import drop_unsafe_links, find_broken_links
from citewell.options import IngestOptions
from citewell.text.plain_text import replace_lone_surrogates
from citewell.text.terms import terms
from citewell.text.vocabulary import VocabularyCounts
from citewell.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestJob:
    """A book to read, with what its chunks need."""

    working_folder: Path
    """The folder that a relative source path starts from."""
    source: Path
    format_name: str | None
    """`None` to detect it."""
    options: IngestOptions
    book: str
    embedder: str
    now: datetime
    skipped_pages: Mapping[str, str] = field(default_factory=dict)
    """Pages that ended an earlier worker, with the reason."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A hash of everything the index depends on; if it is unchanged, there is nothing to do."""

    value: str


@dataclass(frozen=True, slots=True)
class BookOpened:
    """The book is parsed, and its title is known."""

    title: str


@dataclass(frozen=True, slots=True)
class PageChunked:
    """The chunks of one page."""

    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookFinished:
    """Totals and findings, after the last chunk."""

    kind: str
    pages: int
    sections: int
    skipped: tuple[SkippedFile, ...]
    broken_links: tuple[BrokenLink, ...]
    empty_pages: tuple[str, ...]
    notes: tuple[str, ...]


ReadEvent = Fingerprint | BookOpened | PageChunked | BookFinished


def read_book(job: IngestJob, count: CountTokens) -> Iterator[ReadEvent]:
    """Read a book and yield its events, in the order of `ReadEvent`.

    Raises:
        UnsupportedSource: there is no book, or its configuration names a folder outside it.
        UnreadableFile: its configuration cannot be read.
    """
    book_format = detect_format(job.source, job.format_name)
    with restrict_reads_to_book(book_format, job.source, job.options):
        files = book_format.files(job.source)
        yield Fingerprint(_fingerprint(book_format, files, job))
        book = drop_unsafe_links(
            _without_lone_surrogates(book_format.read(job.source, job.options))
        )
        yield BookOpened(book.title)
        skipped = list(book.skipped)
        pages: list[Page] = []
        for page in book.pages:
            chunked = _chunk_page(page, job, count, skipped)
            if chunked is not None:
                pages.append(page)
                yield chunked
        book = replace(book, pages=tuple(pages))
        paths = {file.name: file.path for file in files}
        broken_links = find_broken_links(book, paths, skipped)
        yield BookFinished(
            kind=book.kind,
            pages=len(pages),
            sections=sum(len(page.sections) for page in pages),
            skipped=tuple(skipped),
            broken_links=broken_links,
            empty_pages=tuple(page.source for page in pages if not page.sections),
            notes=(*book.notes, *url_notes(book, job.source, job.options)),
        )


def _chunk_page(
    page: Page, job: IngestJob, count: CountTokens, skipped: list[SkippedFile]
) -> PageChunked | None:
    with skip_on_error(page.source, skipped, "cut"):
        check_time_limit()
        chunks = chunk_page(page, book=job.book, count=count, options=job.options, now=job.now)
        for chunk in chunks:
            # The parent repeats this without a time limit, so a slow text must fail here.
            text = embedding_text(chunk)
            terms(text)
            VocabularyCounts().add(text)
        return PageChunked(chunks)
    return None


def _fingerprint(book_format: BookFormat, files: list[SourceFile], job: IngestJob) -> str:
    versions = f"{__version__} {INDEX_FORMAT} {book_format.name} {job.embedder}"
    digest = hashlib.sha256(f"{versions} {job.options.model_dump_json()}".encode())
    for file in files:
        digest.update(file.name.encode(errors="surrogateescape"))
        try:
            if not is_allowed_path(file.path) or not file.path.is_file():
                digest.update(b"not a file")
                continue
            with file.path.open("rb") as data:
                digest.update(hashlib.file_digest(data, "sha256").digest())
        except OSError as error:
            digest.update(f"unreadable: {error.errno}".encode())
    return digest.hexdigest()


def _without_lone_surrogates(book: Book) -> Book:
    """Replace what cannot be encoded as UTF-8."""
    clean = replace_lone_surrogates

    def section(old: Section) -> Section:
        return Section(
            path=tuple(clean(heading) for heading in old.path),
            anchor=clean(old.anchor),
            blocks=tuple(Block(kind=b.kind, text=clean(b.text)) for b in old.blocks),
        )

    def page(old: Page) -> Page:
        return replace(
            old,
            source=clean(old.source),
            title=clean(old.title),
            part=clean(old.part),
            url=clean(old.url),
            sections=tuple(section(s) for s in old.sections),
        )

    return replace(
        book,
        title=clean(book.title),
        pages=tuple(page(p) for p in book.pages),
        skipped=tuple(
            replace(s, source=clean(s.source), reason=clean(s.reason)) for s in book.skipped
        ),
    )


class PipeChannel:
    """A pair of pipes between two processes that exchange pickled objects."""

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
            EOFError: the other process has ended.
        """
        return pickle.load(self._in)  # noqa: S301 - written by Citewell in the other process


class PageStarted(str):
    """The name of the page that the worker reads next."""

    __slots__ = ()


class TokenCountRequest(tuple[str, ...]):
    """Texts whose tokens the parent should count."""

    __slots__ = ()
