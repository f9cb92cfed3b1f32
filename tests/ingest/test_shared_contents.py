"""The contents of books that others wrote, where they are at hand."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from citewell.ingest.chunking import chunk_page
from citewell.ingest.detect import detect_format
from citewell.ingest.toc import build_contents
from citewell.options import IngestOptions

REPOSITORY = Path(__file__).parents[2]
BOOKS = Path(os.environ.get("CITEWELL_SHARED", REPOSITORY.parent / "shared")) / "books"


@pytest.mark.parametrize(
    ("folder", "chapters", "figures"),
    [
        ("rust-book", 21, 20),
        ("physical-ai-docusaurus", 27, 0),
        ("gtbook-robotics", 17, 0),
        ("ros2-docs", 10, 20),
    ],
)
def test_chapters_and_passages_are_found_in_reading_order(
    folder: str, chapters: int, figures: int
) -> None:
    root = BOOKS / folder
    if not root.is_dir():
        pytest.skip(f"{root} is not here; CITEWELL_SHARED names the folder that holds `books`")
    book = detect_format(root).read(root, IngestOptions())
    chunks = [
        chunk
        for page in book.pages
        for chunk in chunk_page(
            page,
            book=folder,
            count=lambda texts: [len(text) // 4 for text in texts],
            options=IngestOptions(),
            now=datetime.now(UTC),
        )
    ]

    contents = build_contents(book.title, chunks)

    headings = list(contents.walk())
    assert sum(heading.kind == "chapter" for heading in headings) == chapters
    assert len(contents.figures) >= figures
    assert [i for heading in headings for i in heading.chunks] == [chunk.id for chunk in chunks]
    assert len({heading.id for heading in headings}) == len(headings)
    by_id = {chunk.id: chunk for chunk in chunks}
    for found in (*contents.figures, *contents.definitions):
        assert by_id[found.chunk_id].text[found.start : found.end] == found.text
