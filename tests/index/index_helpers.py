"""What the tests of the index share."""

from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from citewell.domain import Chunk
from citewell.index.revision import INDEX_FORMAT, Manifest


def make_chunk(number: int, text: str = "Text.", **changes: str) -> Chunk:
    """Make a chunk of which only what matters to a test is said."""
    said = {
        "source_file": "a.md",
        "chapter": "Lamps",
        "section": "Lens",
        "url": "https://x.y/a",
    } | changes
    return Chunk(
        id=str(uuid5(NAMESPACE_URL, str(number))),
        book="lamps",
        part="",
        path=(said["chapter"], said["section"]),
        text=text,
        content_hash="0" * 64,
        sequence=number,
        total=1000,
        token_count=len(text.split()),
        processed_at=datetime(2024, 5, 1, tzinfo=UTC),
        **said,
    )


def make_manifest(*, book: str = "lamps", format: int = INDEX_FORMAT) -> Manifest:
    """Make a manifest of a revision that was never built."""
    return Manifest(
        book=book,
        title="Lamps",
        kind="markdown",
        source="/books/lamps",
        revision="abc",
        fingerprint="f",
        embedder="hash@1",
        width=64,
        chunks=1,
        pages=1,
        tokens=1,
        average_length=5.0,
        created_at="2024-05-01T00:00:00+00:00",
        format=format,
    )
