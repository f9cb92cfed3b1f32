"""One book format each, all giving the same pages and sections."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, Field

from quire.domain import Book


class ReadOptions(BaseModel):
    """How files are read."""

    max_page_bytes: int = Field(5_000_000, ge=1)
    """Files larger than this are skipped and reported."""
    site_url: str | None = None
    """Address of the published book, where the book's own configuration does not say it."""


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

    def files(self, root: Path) -> list[SourceFile]:
        """List every file whose bytes decide what the book says."""
        ...

    def read(self, root: Path, options: ReadOptions) -> Book:
        """Read the whole book; a page that cannot be read is reported, not raised."""
        ...
