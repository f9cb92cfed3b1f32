import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from citewell.domain import Book, Chunk, SkippedFile
from citewell.ingest.chunking import chunk_page
from citewell.ingest.detect import detect_format
from citewell.options import IngestOptions
from citewell.text.sentences import split_spans

SAMPLE = Path(__file__).parents[2] / "examples" / "physical-ai"
SITE = "https://physical-ai.example/physical-ai/book"


@pytest.fixture(scope="module")
def book() -> Book:
    return detect_format(SAMPLE).read(SAMPLE, IngestOptions())


@pytest.fixture(scope="module")
def chunks(book: Book) -> list[Chunk]:
    return [
        chunk
        for page in book.pages
        for chunk in chunk_page(
            page,
            book="physical-ai",
            count=lambda texts: [len(text.split()) for text in texts],
            options=IngestOptions(),
            now=datetime(2024, 5, 1, tzinfo=UTC),
        )
    ]


def without_code_and_math(text: str) -> str:
    spans = [span for span in split_spans(text) if span.kind not in ("code", "math")]
    return re.sub(r"`[^`]*`|\$[^$]*\$", "", "\n".join(span.of(text) for span in spans))


def test_every_page_but_the_draft_is_read(book: Book) -> None:
    files = [p for p in (SAMPLE / "docs").rglob("*.md*") if not p.name.startswith("_")]

    assert len(book.pages) == len(files) - 1 == 24
    assert book.skipped == (
        SkippedFile(source="docs/05-humanoids/07-field-notes.md", reason="is draft", failed=False),
    )
    assert book.title == "Physical AI: from Sensors to Humanoids"


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ("docs/intro.mdx", SITE),
        ("docs/glossary.md", f"{SITE}/glossary"),
        ("docs/02-ros2/01-nodes-and-topics.mdx", f"{SITE}/ros2/nodes-and-topics"),
        ("docs/02-ros2/02-services-and-actions.mdx", f"{SITE}/ros2/services-actions"),
        ("docs/02-ros2/03-parameters-and-launch.mdx", f"{SITE}/ros2/parameters"),
        ("docs/04-autonomy/05-nav2.mdx", f"{SITE}/nav2"),
        ("docs/05-humanoids/04-learning.md", f"{SITE}/humanoids/learned-policies"),
    ],
)
def test_a_page_has_the_address_of_the_built_site(book: Book, source: str, url: str) -> None:
    assert {page.source: page.url for page in book.pages}[source] == url


def test_the_parts_come_in_their_order(book: Book) -> None:
    parts = list(dict.fromkeys(page.part for page in book.pages if page.part))

    assert [part.split(":")[0] for part in parts] == [f"Part {n}" for n in range(1, 6)]
    assert book.pages[0].source == "docs/intro.mdx"
    assert book.pages[-1].source == "docs/glossary.md"


def test_no_chunk_holds_leftovers_of_mdx(chunks: list[Chunk]) -> None:
    leftover = re.compile(
        r"^\s*(?:import|export)\s+[\w{*]|</?[A-Za-z][\w.]*[\s/>]|\{/\*|<!--|className|=\{", re.M
    )

    found = [
        (chunk.source_file, match[0])
        for chunk in chunks
        for match in leftover.finditer(without_code_and_math(chunk.text))
    ]

    assert len(chunks) > 100
    assert found == []


def test_every_sentence_of_a_plain_page_stands_in_its_source(chunks: list[Chunk]) -> None:
    sentences = [
        (span.of(chunk.text), chunk.source_file)
        for chunk in chunks
        if chunk.source_file.endswith(".md")
        for span in split_spans(chunk.text)
        if span.kind == "sentence"
    ]

    lost = [(s, file) for s, file in sentences if s not in (SAMPLE / file).read_text("utf-8")]

    assert len(sentences) > 300
    assert lost == []


def test_every_anchor_is_on_its_page_once_for_each_section(book: Book) -> None:
    for page in book.pages:
        anchors = [section.anchor for section in page.sections if section.anchor]
        assert len(anchors) == len(set(anchors))
