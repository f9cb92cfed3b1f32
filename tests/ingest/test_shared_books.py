"""Books that others wrote, where they are at hand: nothing is lost of them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.ingest.options import IngestOptions
from quire.ingest.source import find_reader
from tests.ingest.loss import measure_loss, source_words

REPOSITORY = Path(__file__).parents[2]
BOOKS = Path(os.environ.get("QUIRE_SHARED", REPOSITORY.parent / "shared")) / "books"
BOUND = 0.005


@pytest.mark.parametrize(
    ("folder", "kind", "pages"),
    [
        ("rust-book", "mdbook", 111),
        ("rust-book/src", "mdbook", 111),
        ("lerobot-docs/docs/source", "hfdocs", 109),
        ("physical-ai-docusaurus", "docusaurus", 28),
        ("physical-ai-docusaurus/frontend", "docusaurus", 28),
        ("physical-ai-docusaurus/frontend/docs", "docusaurus", 28),
        ("docusaurus-docs", "docusaurus", 88),
        ("docusaurus-docs/website", "docusaurus", 88),
        ("docusaurus-docs/website/docs", "docusaurus", 88),
    ],
)
def test_a_book_of_others_is_read_whole(
    folder: str, kind: str, pages: int, record_property: Callable[[str, object], None]
) -> None:
    root = BOOKS / folder
    if not root.is_dir():
        pytest.skip(f"{root} is not here; QUIRE_SHARED names the folder that holds `books`")
    reader = find_reader(root)

    book = reader.read(root, IngestOptions())

    files = {file.name: file.path for file in reader.files(root)}
    loss = measure_loss(
        (
            # Doc-builder takes braces for text, so its pages are read as plain Markdown.
            (
                files[page.source].read_text("utf-8"),
                page.source.endswith(".mdx") and kind != "hfdocs",
            )
            for page in book.pages
        ),
        book.pages,
    )
    record_property("word_loss", loss.share)
    assert (reader.kind, len(book.pages)) == (kind, pages)
    assert [skip for skip in book.skipped if skip.failed] == []
    assert loss.words > 50_000
    assert loss.share < BOUND, loss.missing.most_common(20)


def test_the_measure_counts_what_a_reader_sees() -> None:
    text = (
        "---\ntitle: no\n---\nimport no from 'no';\n\n# no\n\nOne `two <T>` <b>three</b>.\n\n"
        "```py\nfour <five>\n# six\n```\n\n<Card title={no}>seven</Card> {no} <!-- no -->\n"
    )

    assert set(source_words(text, mdx=True)) == {
        *("One", "two", "T", "three", "four", "five", "six", "seven")
    }


def test_the_measure_sees_a_lost_word() -> None:
    loss = measure_loss([("One two.\n\nTwo.", False)], [])

    assert (loss.words, loss.missing.total(), loss.share) == (3, 3, 1.0)
