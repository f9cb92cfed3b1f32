"""What an author can do about addresses that lead nowhere."""

from pathlib import Path

from quire.domain import Book
from quire.ingest.options import IngestOptions


def address_notes(book: Book, source: Path, options: IngestOptions) -> tuple[str, ...]:
    return ()
