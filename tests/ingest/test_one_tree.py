"""The same small book in every format is the same book: headings, nesting, order, text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.domain import Block, Book
from citewell.ingest.detect import FORMAT_NAMES, detect_format
from citewell.options import IngestOptions
from citewell.text.plain_text import plain
from tests.ingest import one_book
from tests.ingest.one_book import CHAPTERS, TITLE, Part, Topic

Tree = list[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]
FORMATS = [
    # How it is written, what it is taken for, what a note is there, and who names the book.
    (one_book.docusaurus, "docusaurus", "admonition", TITLE),
    (one_book.mdbook, "mdbook", "quote", TITLE),
    (one_book.mkdocs, "mkdocs", "admonition", TITLE),
    (one_book.plain_markdown, "markdown", "quote", "book"),
    (one_book.rst, "sphinx", "admonition", TITLE),
    (one_book.myst, "sphinx", "admonition", TITLE),
    (one_book.notebooks, "notebooks", "admonition", TITLE),
    (one_book.html, "html", "admonition", TITLE),
    (one_book.epub, "epub", "admonition", TITLE),
    (one_book.pdf, "pdf", "prose", TITLE),
    (one_book.jsonl, "jsonl", "admonition", "book"),
    (one_book.hfdocs, "hfdocs", "admonition", "book"),
]


def wanted(note: str) -> Tree:
    """The tree as the book itself says it; `note` is what the format has for a note."""
    tree: Tree = []
    for _, topics in CHAPTERS:
        trail: list[str] = []
        for topic in topics:
            trail = [*trail[: topic.level - 1], topic.title]
            tree.append((tuple(trail), tuple(said(part, note) for part in topic.parts)))
    return tree


def said(part: Part, note: str) -> tuple[str, str]:
    kind = note if part.kind == "admonition" else part.kind
    return kind, " ".join(" ".join(part.lines).replace("|", " ").split())


def found(book: Book) -> Tree:
    return [
        (section.path, tuple((block.kind, words(block)) for block in section.blocks))
        for page in book.pages
        for section in page.sections
    ]


def words(block: Block) -> str:
    return plain(block.text).removeprefix("[!NOTE] ")


@pytest.mark.parametrize(
    ("write", "kind", "note", "title"), FORMATS, ids=[write.__name__ for write, *_ in FORMATS]
)
def test_a_book_is_the_same_tree_in_every_format(
    tmp_path: Path, write: Callable[[Path], Path], kind: str, note: str, title: str
) -> None:
    source = write(tmp_path / "book")
    reader = detect_format(source)

    book = reader.read(source, IngestOptions())

    assert reader.name == kind
    assert (book.title, book.skipped) == (title, ())
    assert [page.title for page in book.pages if page.sections] == [
        topics[0].title for _, topics in CHAPTERS
    ]
    assert found(book) == wanted(note)


def test_no_format_is_forgotten() -> None:
    # A shelf is a folder of books of two other formats.
    assert {kind for _, kind, _, _ in FORMATS} == set(FORMAT_NAMES) - {"shelf"}


def test_the_book_has_what_formats_disagree_about() -> None:
    topics: list[Topic] = [topic for _, chapter in CHAPTERS for topic in chapter]
    kinds = {part.kind for topic in topics for part in topic.parts}

    assert kinds == {"prose", "list", "code", "table", "admonition"}
    assert {topic.level for topic in topics} == {1, 2, 3}
