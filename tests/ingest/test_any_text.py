"""Whatever stands in the files of a Markdown book, its reader reads it or says why not."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.ingest.detect import detect_format
from citewell.options import IngestOptions

PIECES = [
    *(
        "# ",
        "## A",
        "{#id}",
        "[[id]]",
        "- ",
        "    ",
        "\n",
        "\n\n",
        "> ",
        "---\n",
        "```rust\n",
        "```",
    ),
    *("{{#include a.md}}", "{{#include b.md:2:}}", "{{#playground a.md}}", '--8<-- "a.md"\n'),
    *(
        "--8<--\n",
        '!!! note "A"\n',
        '=== "T"\n',
        "<Tip>\n",
        "</Tip>\n",
        "[[autodoc]] x\n",
        ":::a\n",
    ),
    *(
        "[A](a.md)",
        "[B](../b.md)",
        "[C](%00)",
        "<!--",
        "-->",
        "{/*",
        "*/}",
        "<a ",
        "</a>",
        "{",
        "}",
    ),
    *(
        "$$",
        "$",
        "|a|\n|-|\n",
        "[^1]: x",
        "a: b\n",
        "- local: a\n",
        "nav:\n",
        "&a",
        "*a",
        "!!x",
        "'",
    ),
    *('{"text": "a"}\n', '{"text": "\\ud800", "url": "#"}', "\\", "é", "模", "\0", "\ufeff", "\r"),
]
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=25).map("".join)
FILES = {
    "docusaurus": ("docusaurus.config.js", "docs/a.mdx", "docs/b.md", "docs/_category_.json"),
    "mdbook": ("book.toml", "src/SUMMARY.md", "src/a.md", "src/b.md"),
    "mkdocs": ("mkdocs.yml", "docs/a.md", "docs/b.md", "a.md"),
    "hfdocs": ("_toctree.yml", "a.mdx", "b.md", "c/d.mdx"),
    "jsonl": ("a.jsonl", "b.jsonl", "c.ndjson", "d.jsonl"),
    "markdown": ("a.md", "b.mdx", "c/d.md", "e.md"),
}


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", errors="replace")


@pytest.mark.parametrize("kind", FILES)
@given(texts=st.lists(TEXT, min_size=4, max_size=4))
@example(texts=["", "[A](a.md)\n[B](b.md)", "{{#include b.md}}", "{{#include a.md}}"])
@settings(max_examples=60)
def test_a_book_of_any_text_is_read_or_refused(kind: str, texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, dict(zip(FILES[kind], texts, strict=True)))
        reader = detect_format(root, kind)
        try:
            names = {file.name for file in reader.files(root)}
            book = reader.read(root, IngestOptions(site_url="https://x.y"))
        except CitewellError as error:
            assert str(error)  # noqa: PT017 - either outcome is allowed
        else:
            assert len({page.source for page in book.pages}) == len(book.pages)
            for page in book.pages:
                assert page.source in names or kind == "jsonl"
                assert page.title.encode() is not None
                assert all(section.blocks for section in page.sections)


ABSURD = {
    "quotes": "> " * 10_000 + "a",
    "lists": "- " * 10_000 + "a",
    "numbers": "1. " * 10_000 + "a",
    "brackets": "[" * 10_000 + "a" + "]" * 10_000,
    "braces": "{" * 10_000,
    "ticks": " ".join("`" * n for n in range(1, 300)),
    "tags": "<a " * 10_000,
    "imports": "import a\n" * 5_000,
    "stairs": "\n".join("  " * n + "- a" for n in range(500)),
    "notes": "\n".join("    " * n + "!!! note" for n in range(400)),
    "tabs": "\n".join("    " * n + '=== "a"' for n in range(400)),
    "tips": "<Tip>\n" * 5_000,
    "containers": ":::a\n" * 2_000,
}


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "jsonl"])
def test_absurd_nesting_takes_no_time(kind: str, tmp_path: Path) -> None:
    pages = {f"{name}.md": f"Before.\n\n{text}\n" for name, text in ABSURD.items()}
    summary = "".join(f"- [{name}]({name})\n" for name in pages)
    extra = {"docusaurus": "docusaurus.config.js", "mkdocs": "mkdocs.yml", "hfdocs": "_toctree.yml"}
    below = "docs/" if kind in ("docusaurus", "mkdocs") else ""
    write(tmp_path, {f"{below}{name}": text for name, text in pages.items()})
    write(tmp_path, {"SUMMARY.md": summary} if kind == "mdbook" else {extra.get(kind, "x.md"): ""})

    started = time.process_time()
    book = detect_format(tmp_path, kind).read(tmp_path, IngestOptions())

    assert time.process_time() - started < 20
    read = {Path(page.source).name for page in book.pages}
    assert read | {Path(skip.source).name for skip in book.skipped} >= set(pages)
    assert {"quotes.md", "lists.md", "brackets.md"} <= read


def test_what_is_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    lines = "\n".join("    " * n + "!!! note" for n in range(100))
    write(tmp_path, {"mkdocs.yml": "", "docs/a.md": lines, "docs/b.md": "B."})

    book = detect_format(tmp_path).read(tmp_path, IngestOptions())

    assert [page.source for page in book.pages] == ["docs/b.md"]
    assert [skip.reason for skip in book.skipped] == ["is nested too deeply to be read"]


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_100_mb_is_skipped_with_its_size(kind: str, tmp_path: Path) -> None:
    name = FILES[kind][2]
    write(tmp_path, dict.fromkeys(FILES[kind], ""))
    if kind == "mdbook":
        write(tmp_path, {"src/SUMMARY.md": "- [A](a.md)"})
    if kind == "docusaurus":
        write(tmp_path, {"docusaurus.config.js": "module.exports = {};"})
    with (tmp_path / name).open("wb") as file:
        file.truncate(100_000_000)

    book = detect_format(tmp_path, kind).read(tmp_path, IngestOptions())

    assert [(s.source, s.reason[:32]) for s in book.skipped if s.failed] == [
        (name, "100.0 MB is more than the limit ")
    ]
