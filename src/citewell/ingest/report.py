"""What an ingest did and what it noticed; kept with the revision it made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter

from citewell.domain import Book, BrokenLink, Chunk, SkippedFile

SHORT = 80
"""Characters below which repeated passages are no surprise: "See also", a lone import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A passage that stands in the book more than once."""

    text: str
    """How it begins."""
    places: tuple[str, ...]
    """The pages it stands on, once for each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Pages that differ from the last revision."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did."""

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
    """What the author should know besides: an address that cannot be right, say."""

    @property
    def failed(self) -> int:
        """How many pages or files should have been read and were not."""
        return sum(skip.failed for skip in self.skipped)


_STORED = TypeAdapter(IngestReport)


def report_to_json(report: IngestReport) -> str:
    """Return the report for machines."""
    return _STORED.dump_json(report, indent=1).decode()


def write_report(folder: Path, report: IngestReport) -> None:
    """Write `report.json`."""
    (folder / "report.json").write_text(report_to_json(report), "utf-8")


def parse_report(data: bytes) -> IngestReport:
    """Read a report back.

    Raises:
        ValueError: it is not one.
    """
    return _STORED.validate_json(data)


def read_report(folder: Path) -> IngestReport | None:
    """Read a revision's report; `None` if it is missing or damaged."""
    try:
        return parse_report((folder / "report.json").read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(slots=True)
class DuplicateFinder:
    """Notices passages that stand in the book more than once."""

    _places: dict[str, list[str]] = field(default_factory=dict)
    _starts: dict[str, str] = field(default_factory=dict)

    def add(self, chunk: Chunk) -> None:
        """Look at one passage."""
        if len(chunk.text) >= SHORT:
            places = self._places.setdefault(chunk.content_hash, [])
            places.append(chunk.source_file)
            if len(places) > 1:
                self._starts.setdefault(chunk.content_hash, " ".join(chunk.text.split())[:SHORT])

    def found(self) -> tuple[Duplicate, ...]:
        """Return them, in the order of the book."""
        return tuple(
            Duplicate(text=self._starts[name], places=tuple(places))
            for name, places in self._places.items()
            if len(places) > 1
        )


class PageDigests:
    """Names what each page says, so that two revisions can be compared without their text."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def add(self, chunk: Chunk) -> None:
        """Take in the next passage of the book."""
        said = (self._said.get(chunk.source_file, ""), chunk.content_hash, chunk.url, chunk.path)
        self._said[chunk.source_file] = sha256(repr(said).encode()).hexdigest()

    def found(self) -> dict[str, str]:
        """Return a name for what each page says."""
        return self._said


def empty_pages(book: Book) -> tuple[str, ...]:
    """Name the pages that were read and hold no text."""
    return tuple(page.source for page in book.pages if not page.sections)


def compare(old: Mapping[str, str], new: Mapping[str, str]) -> Changes:
    """Return which pages are new, other or gone; each is given with a name for what it says."""
    return Changes(
        added=tuple(name for name in new if name not in old),
        changed=tuple(name for name, said in new.items() if old.get(name, said) != said),
        removed=tuple(name for name in old if name not in new),
    )
