"""The addresses Citewell works out, against mdBook's rules and against books that mdBook built."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.domain import Book
from citewell.ingest.formats.mdbook import MdBookFormat
from citewell.options import IngestOptions
from tests.ingest.formats.built_site import check, cut, read_built
from tests.ingest.ingest_helpers import WriteBook
from tests.ingest.test_shared_books import BOOKS

SITE = "https://x.y/"
MDBOOK = Path(sys.executable).with_name("mdbook")
AWKWARD = """\
# Lamps

Before the headings.

## Wick

First wick.

## Wick

Second wick.

## Wick-1

With a dash.

## Wick 1

With a number.

## Größe ÄÖÜ 日本

Not ASCII.

## `code()` & *emphasis*

Marked up.

## Own {#own-id .wide}

With an id.

## Own

Without an id.

## A <b>tag</b> &amp; an entity

Tags.

> ## Wick
>
> In a quote.

- ## Wick

## Wick

After quote and list.

## A [link](x.md) and ![a picture](y.png) here

A link.

## snake_case -- dashes --- and... "quotes"

Typography.

## 1. First: 2/3

Numbers.

## Double  spaces

Spaces.

<h2 id="raw">Raw</h2>

Under a raw heading.

Setext `x` heading
---

Underlined.

## Emoji 🎉

Emoji.

## a::b &lt;T&gt;

Angles.

# Second title

At the end.
"""


def built(folder: Path) -> Path:
    """Builds a book with mdBook, and gives where it is."""
    if not MDBOOK.exists():
        pytest.skip("there is no mdBook for this machine: nothing is checked against a real build")
    subprocess.run([MDBOOK, "build", folder], check=True, capture_output=True, timeout=300)
    return folder / "book"


def read(folder: Path) -> Book:
    return MdBookFormat().read(folder, IngestOptions(site_url=SITE))


def rust_book(tmp_path: Path) -> Path:
    """Copies the Rust book, where it is at hand."""
    if not (BOOKS / "rust-book").is_dir():
        pytest.skip(f"{BOOKS}/rust-book is not here; CITEWELL_SHARED names the folder of `books`")
    folder = tmp_path / "rust-book"
    shutil.copytree(BOOKS / "rust-book", folder)
    (folder / "book.toml").touch()
    return folder


@pytest.mark.parametrize(
    ("smart", "name"), [("", "default"), ("smart-punctuation = false", "plain punctuation")]
)
def test_every_chunk_of_an_awkward_book_has_its_place_in_the_built_book(
    write_book: WriteBook, say: Callable[[str], None], smart: str, name: str
) -> None:
    folder = write_book(
        {
            "book.toml": f"[output.html]\n{smart}\n",
            "src/SUMMARY.md": "# Summary\n\n- [Lamps](lamps.md)\n  - [Deep](deep/README.md)\n",
            "src/lamps.md": AWKWARD,
            "src/deep/README.md": "# Deep\n\nDeep down.\n",
        }
    )
    pages = read_built(built(folder), main="//main", site=SITE)

    checked = check(cut(read(folder)), pages)

    say(f"awkward book by mdBook, {name}: {checked}")
    assert checked.wrong == ()


def test_every_chunk_of_the_rust_book_has_its_place_in_the_built_book(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    folder = rust_book(tmp_path)
    pages = read_built(built(folder), main="//main", site=SITE)

    checked = check(cut(read(folder)), pages)

    say(f"Rust book by mdBook: {checked}")
    assert checked.chunks > 500
    assert checked.wrong == ()


def ids_by_the_rules(text: str) -> list[str]:
    """Return the ids of a chapter's headings by mdBook's `normalize_id` and its counter.

    Written from the rules alone: lower case, letters and digits and `_-`, white space to a hyphen,
    and the number of headings before that gave the same.
    """
    text = "".join(re.split(r"^[ >]*```.*$", text, flags=re.M)[::2])
    counts: dict[str, int] = {}
    ids = []
    for heading in re.findall(r"^[ >]*#{1,6}[ \t]+(.+?)[ \t]*#*$", text, re.M):
        own = re.search(r"\{#([\w-]+)\}$", heading)
        words = re.sub(r"</?[a-z][^>]*>|&\w+;", "", heading)
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
        words = re.sub(r"(?<!\w)_([^_`]+)_(?!\w)", r"\1", words)
        kept = [c.lower() for c in words.strip() if c.isalnum() or c in "_- "]
        name = "".join(kept).replace(" ", "-")
        if own:
            ids.append(own[1])
            continue
        ids.append(f"{name}-{counts[name]}" if name in counts else name)
        counts[name] = counts.get(name, 0) + 1
    return ids


def test_the_anchors_of_the_rust_book_follow_the_rules_of_mdbook(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    folder = rust_book(tmp_path)

    wrong = []
    anchors = 0
    for page in read(folder).pages:
        ids = ids_by_the_rules((folder / page.source).read_text("utf-8"))
        mine = [section.anchor for section in page.sections if section.anchor]
        anchors += len(mine)
        # Those that hold no text of their own are no sections.
        wrong += [(page.source, anchor) for anchor in mine if anchor not in ids]
        assert mine == [i for i in ids if i in mine]

    say(f"Rust book by the rules: {anchors} anchors checked, {anchors - len(wrong)} correct")
    assert wrong == []
    assert anchors > 300
