"""The report of an ingest, stored with the revision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter

from citewell.domain import BrokenLink, Chunk, SkippedFile

MIN_DUPLICATE_CHARS = 80
"""Shorter repeated passages are expected: "See also", a single import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A passage that occurs more than once in the book."""

    text: str
    """Its beginning."""
    places: tuple[str, ...]
    """The page of each occurrence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Pages that differ from the previous revision."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did and found."""

    book: str
    title: str
    kind: str
    revision: str
    pages: int
    sections: int
    chunks: int
    tokens: int
    embedded: int
    seconds: float
    changed: bool
    changes: Changes = Changes()
    skipped: tuple[SkippedFile, ...] = ()
    broken_links: tuple[BrokenLink, ...] = ()
    empty_pages: tuple[str, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    notes: tuple[str, ...] = ()
    """Other advice for the author, such as on a wrong site URL."""

    @property
    def failed(self) -> int:
        """The number of pages and files that could not be read."""
        return sum(skip.failed for skip in self.skipped)


_ADAPTER = TypeAdapter(IngestReport)


def report_to_json(report: IngestReport) -> str:
    """Return the report as JSON."""
    return _ADAPTER.dump_json(report, indent=1).decode()


def write_report(folder: Path, report: IngestReport) -> None:
    """Write `report.json`."""
    (folder / "report.json").write_text(report_to_json(report), "utf-8")


def parse_report(data: bytes) -> IngestReport:
    """Parse a report from JSON.

    Raises:
        ValueError: the data is not a report.
    """
    return _ADAPTER.validate_json(data)


def read_report(folder: Path) -> IngestReport | None:
    """Read a revision's report; `None` if it is missing or damaged."""
    try:
        return parse_report((folder / "report.json").read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(slots=True)
class DuplicateFinder:
    """Finds passages that occur more than once in the book."""

    _places: dict[str, list[str]] = field(default_factory=dict)
    _starts: dict[str, str] = field(default_factory=dict)

    def add(self, chunk: Chunk) -> None:
        """Record a passage."""
        if len(chunk.text) >= MIN_DUPLICATE_CHARS:
            places = self._places.setdefault(chunk.content_hash, [])
            places.append(chunk.source_file)
            if len(places) > 1:
                self._starts.setdefault(
                    chunk.content_hash, " ".join(chunk.text.split())[:MIN_DUPLICATE_CHARS]
                )

    def duplicates(self) -> tuple[Duplicate, ...]:
        """Return the repeated passages in reading order."""
        return tuple(
            Duplicate(text=self._starts[content_hash], places=tuple(places))
            for content_hash, places in self._places.items()
            if len(places) > 1
        )


class PageHashes:
    """A hash of each page, to compare two revisions without their text."""

    def __init__(self) -> None:
        self.by_page: dict[str, str] = {}

    def add(self, chunk: Chunk) -> None:
        """Add the next passage of the book."""
        page = chunk.source_file
        content = (self.by_page.get(page, ""), chunk.content_hash, chunk.url, chunk.path)
        self.by_page[page] = sha256(repr(content).encode()).hexdigest()


def compare_pages(old: Mapping[str, str], new: Mapping[str, str]) -> Changes:
    """Compare the page hashes of two revisions."""
    return Changes(
        added=tuple(page for page in new if page not in old),
        changed=tuple(page for page, digest in new.items() if old.get(page, digest) != digest),
        removed=tuple(page for page in old if page not in new),
    )
