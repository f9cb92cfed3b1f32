"""Books that others wrote, where they are at hand: nothing is lost of them, nothing torn."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evals.reading import read_book

REPOSITORY = Path(__file__).parents[2]
# At import: the tests' environment is emptied of CITEWELL_ settings.
BOOKS = Path(os.environ.get("CITEWELL_SHARED", REPOSITORY.parent / "shared")) / "books"
BOUND = 0.005


def count(texts: Sequence[str]) -> list[int]:
    return [len(text) // 4 for text in texts]


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
        ("gtbook-robotics", "notebooks", 17),
        ("ros2-docs", "sphinx", 258),
    ],
)
def test_a_book_of_others_is_read_whole(
    folder: str, kind: str, pages: int, record_property: Callable[[str, object], None]
) -> None:
    root = BOOKS / folder
    if not root.is_dir():
        pytest.skip(f"{root} is not here; CITEWELL_SHARED names the folder that holds `books`")

    read = read_book(root, count)

    record_property("word_loss", read.loss)
    assert (read.book.kind, len(read.book.pages)) == (kind, pages)
    assert read.words > 40_000
    assert read.loss < BOUND, read.lost.most_common(20)
    assert (read.over_headings, read.torn) == ((), ())
