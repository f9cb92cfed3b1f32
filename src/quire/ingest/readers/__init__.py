"""One book format each, all giving the same pages and sections."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from quire.domain import Book
from quire.ingest.options import IngestOptions


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the book: where it is, and its name below the book's folder."""

    path: Path
    name: str


class Reader(Protocol):
    """Reads one kind of book."""

    kind: str

    def recognises(self, root: Path) -> bool:
        """Tell whether the folder holds this kind of book."""
        ...

    def home(self, root: Path) -> Path:
        """Return the folder that holds the book; nothing is read from outside of it."""
        ...

    def files(self, root: Path) -> list[SourceFile]:
        """List every file whose bytes decide what the book says."""
        ...

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the whole book; a page that cannot be read is reported, not raised."""
        ...
