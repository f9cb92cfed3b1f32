import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from citewell.domain import Section
from citewell.ingest.formats.jsonl import JsonlFormat
from citewell.ingest.formats.markdown import parse_blocks
from citewell.options import IngestOptions

OPTIONS = IngestOptions(site_url="https://x.y/")
WriteBook = Callable[[Mapping[str, str]], Path]


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_lines_with_one_address_make_one_page(write_book: WriteBook) -> None:
    root = write_book(
        {
            "lamps.jsonl": lines(
                {
                    "id": "1",
                    "title": "Lens",
                    "section": "",
                    "text": "One.",
                    "url": "https://a/lens",
                },
                {"id": 2, "title": "Oil", "text": "Two.", "url": "https://a/oil"},
                {
                    "title": "Lens",
                    "section": "Rings > Glass",
                    "text": "Three <b>.\n\n| a |\n| - |\n| b |",
                    "url": "https://a/lens#glass",
                },
            )
        }
    )

    book = JsonlFormat().read(root / "lamps.jsonl", OPTIONS)

    assert (book.title, book.kind, book.skipped) == ("lamps", "jsonl", ())
    assert [(p.source, p.title, p.url) for p in book.pages] == [
        ("lamps.jsonl/https://a/lens", "Lens", "https://a/lens"),
        ("lamps.jsonl/https://a/oil", "Oil", "https://a/oil"),
    ]
    assert book.pages[0].sections == (
        Section(path=("Lens",), anchor="", blocks=parse_blocks("One.")),
        Section(
            path=("Lens", "Rings", "Glass"),
            anchor="glass",
            blocks=parse_blocks("Three <b>.\n\n| a |\n| - |\n| b |"),
        ),
    )
    assert [b.kind for b in book.pages[0].sections[1].blocks] == ["prose", "table"]


def test_a_page_is_named_by_its_field_its_address_its_title_or_its_file(
    write_book: WriteBook,
) -> None:
    root = write_book(
        {
            "b.jsonl": lines(
                {"page": "P", "url": "https://a/1", "title": "T", "text": "One."},
                {"page": "P", "url": "https://a/2", "text": "Two."},
                {"title": "T", "text": "Three."},
                {"text": "Four."},
            ),
            "c.jsonl": lines({"text": "Five."}),
        }
    )

    book = JsonlFormat().read(root, OPTIONS)

    assert [(p.source, p.title, p.url, len(p.sections)) for p in book.pages] == [
        ("b.jsonl/P", "T", "https://a/1", 2),
        ("b.jsonl/T", "T", "https://x.y/T", 1),
        ("b.jsonl/b", "b", "https://x.y/b", 1),
        ("c.jsonl/c", "c", "https://x.y/c", 1),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{broken", "is not JSON"),
        ("[" * 50_000, "is not JSON"),
        ('["text"]', "is not a JSON object"),
        ('{"title": "T"}', "has no `text`"),
        ('{"text": 7}', "has no `text`"),
    ],
)
def test_a_line_that_cannot_be_used_is_reported_by_its_number(
    write_book: WriteBook, line: str, reason: str
) -> None:
    root = write_book({"a.jsonl": f'{{"text": "One."}}\n\n{line}\n{{"text": "Two."}}\n'})

    book = JsonlFormat().read(root, OPTIONS)

    assert [b.text for s in book.pages[0].sections for b in s.blocks] == ["One.", "Two."]
    assert [(s.source, s.reason) for s in book.skipped] == [("a.jsonl (line 3)", reason)]


def test_half_a_character_is_replaced(write_book: WriteBook) -> None:
    root = write_book({"a.jsonl": '{"text": "a\\ud800b", "title": "\\udfff"}'})

    page = JsonlFormat().read(root, OPTIONS).pages[0]

    assert (page.title, page.sections[0].blocks[0].text) == ("\ufffd", "a\ufffdb")


def test_a_file_larger_than_ten_pages_may_be_is_skipped(write_book: WriteBook) -> None:
    root = write_book({"a.jsonl": lines({"text": "x" * 1000}), "b.jsonl": lines({"text": "B."})})

    book = JsonlFormat().read(root, IngestOptions(max_page_bytes=100))

    assert [p.source for p in book.pages] == ["b.jsonl/b"]
    assert book.skipped[0].reason.startswith("0.0 MB is more than the limit of 0.001 MB")


@pytest.mark.parametrize(
    ("files", "known"),
    [(("a.jsonl", ".hidden"), True), (("a.ndjson",), True), (("a.jsonl", "b.md"), False)],
)
def test_a_folder_is_known_if_it_holds_nothing_else(
    write_book: WriteBook, files: tuple[str, ...], known: bool
) -> None:
    assert JsonlFormat().matches(write_book(dict.fromkeys(files, ""))) is known
