"""The measure of what a book loses must see a loss, and a tear."""

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from citewell.domain import Chunk
from citewell.options import IngestOptions
from evals.reading import holds_heading, read_book, torn_blocks, words_of_source

WriteBook = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def write_book(tmp_path: Path) -> WriteBook:
    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            (tmp_path / name).write_text(text, "utf-8")
        return tmp_path

    return write


def count(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def chunk(text: str, *, page: str = "a.md", piece: str = "") -> Chunk:
    return Chunk(
        id="",
        book="",
        source_file=page,
        part="",
        chapter="A",
        section="A",
        path=("A",),
        url=f"https://x.y/{page}",
        text=text,
        content_hash="",
        sequence=1,
        total=1,
        token_count=1,
        processed_at=datetime(2024, 5, 1, tzinfo=UTC),
        piece=piece,
    )


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        (
            "a.mdx",
            "---\ntitle: no\n---\nimport no from 'no';\n\n# no\n\nOne `two <T>` <b>three</b>.\n\n"
            "```py\nfour <five>\n# six\n```\n\n<Card title={no}>seven</Card> {no} <!-- no -->\n",
            "one two t three four five six seven",
        ),
        (
            "a.rst",
            "One\n===\n\n.. note:: two :class:`~no.three` `four <no>`_ :ref:`no`\n\n"
            ".. image:: no.png\n   :alt: no\n\n.. no\n   no\n\n.. code:: py\n\n   five\n",
            "one two three four py five",
        ),
        (
            "a.md",
            "(no)=\n```{note} \n:class: no\none {func}`~no.two`\n```\n\n```{toctree}\nno\n```\n",
            "one two",
        ),
        (
            "a.html",
            "<title>no</title><nav>no</nav><main>O<b>n</b>e<p>two</p><dt>three</dt><dd>four</dd>"
            "<div class='toc'>no</div></main><footer>no</footer>",
            "one two three four",
        ),
        (
            "a.ipynb",
            json.dumps(
                {
                    "cells": [
                        {"cell_type": "markdown", "metadata": {}, "source": ["one <b>two</b>"]},
                        {"cell_type": "code", "metadata": {}, "source": "three", "outputs": []},
                        {"cell_type": "raw", "metadata": {}, "source": "no"},
                    ]
                }
            ),
            "one two three",
        ),
    ],
)
def test_the_words_of_a_source_are_those_that_a_reader_sees(
    name: str, text: str, seen: str
) -> None:
    found = words_of_source(name, text, mdx=name.endswith(".mdx"), myst=name.endswith(".md"))

    assert sorted(found) == sorted(seen.split())


def test_a_book_that_is_read_whole_loses_nothing(write_book: WriteBook) -> None:
    folder = write_book(
        {"a.md": "# A\n\nText.\n\n## B\n\n```py\nx = 1\n```\n", "b.md": "# C\n\nD."}
    )

    read = read_book(folder, count)

    assert (read.words, read.lost.total(), read.loss) == (4, 0, 0.0)
    assert (len(read.chunks), read.over_headings, read.torn) == (3, (), ())


def test_the_measure_sees_what_a_reader_leaves_out(write_book: WriteBook) -> None:
    folder = write_book({"index.html": "<main><p>Kept words.</p><button>Lost</button></main>"})
    # A form is no text for either side; a menu that is not marked as one is, for the measure.
    (folder / "b.html").write_text("<main><p>Kept.</p><div class='pager'>Lost here</div></main>")

    read = read_book(folder, count)

    assert dict(read.lost) == {"lost": 1, "here": 1}
    assert read.loss == 2 / 5


def test_chapters_of_an_epub_are_compared_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as book:
        book.writestr(
            "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path='c.opf'/></rootfiles></container>",
        )
        book.writestr(
            "c.opf",
            "<package><manifest><item id='a' href='a.xhtml' media-type='application/xhtml+xml'/>"
            "</manifest><spine><itemref idref='a'/></spine></package>",
        )
        book.writestr("a.xhtml", "<html><body><h1>Oil</h1><p>It burns.</p></body></html>")

    read = read_book(tmp_path / "a.epub", count)

    assert (read.words, read.loss) == (3, 0.0)


def test_a_heading_in_a_passage_is_seen_but_not_a_comment_in_code() -> None:
    assert holds_heading("Text.\n\n## Next\n\nMore.")
    assert not holds_heading("Text.\n\n```sh\n# a comment\n```")


@pytest.mark.parametrize(
    ("first", "second", "torn"),
    [
        ("```py\na", "b\n```", True),
        ("```py\na\n```", "Text.", False),
        ("```py\nnever closed", "Text.", False),
        ("| a |\n| - |\n| 1 |", "| 2 |\n| 3 |", True),
        ("| a |\n| - |\n| 1 |", "| b |\n| - |\n| 2 |", False),
    ],
)
def test_code_or_a_table_in_two_passages_is_seen(first: str, second: str, torn: bool) -> None:
    assert bool(list(torn_blocks([chunk(first), chunk(second)]))) is torn
    assert not list(torn_blocks([chunk(first), chunk(second, page="b.md")]))
    assert not list(torn_blocks([chunk(first, piece="1/2"), chunk(second, piece="2/2")]))


def test_options_of_the_ingest_are_those_of_the_measure(write_book: WriteBook) -> None:
    folder = write_book({"a.md": "# A\n\n" + "A short sentence. " * 60})
    small = IngestOptions(target_tokens=20, max_tokens=40)

    assert len(read_book(folder, count, options=small).chunks) > len(
        read_book(folder, count).chunks
    )
