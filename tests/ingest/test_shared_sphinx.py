"""Real books, where they are at hand: nothing may be lost on the way.

What is lost is measured without the readers' own parsers: markup is taken out of the source by
regular expressions, and the words that are left must be among those of the page.
"""

import json
import os
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from quire.domain import Book, Page
from quire.ingest.options import IngestOptions
from quire.ingest.source import find_reader

# At import: the tests' environment is emptied of QUIRE_ settings.
SHARED = Path(os.environ.get("QUIRE_SHARED") or Path(__file__).parents[3] / "shared") / "books"
ROS = SHARED / "ros2-docs" / "source"
GTBOOK = SHARED / "gtbook-robotics"
MAX_LOSS = 0.005
MAX_SECONDS = 120

_WORD = re.compile(r"[^\W_]+")
_UNSEEN = re.compile(
    r"( *)(?:[-*] |#\. |\d+\. )*\.\. (?:(?:raw|contents|redirect-from|toctree|index|meta|image"
    r"|include|literalinclude|highlight)::|(?![\w:+-]+::|_|\[|\|))",
    re.I,
)


def words(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _WORD.findall(text))


def words_of_page(page: Page) -> Counter[str]:
    # A heading without text of its own stands only in the paths of those below it.
    headings = {s.path[:n]: s.path[n - 1] for s in page.sections for n in range(1, len(s.path) + 1)}
    texts = [block.text for section in page.sections for block in section.blocks]
    return words("\n".join([page.title, *texts, *headings.values()]))


def words_of_rst(text: str) -> Counter[str]:
    lines, kept, place = text.split("\n"), [], 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if unseen := _UNSEEN.match(line):
            depth = len(unseen[1])
            while place < len(lines) and (
                not lines[place].strip() or len(lines[place]) - len(lines[place].lstrip()) > depth
            ):
                place += 1
        elif not re.match(r"\s*\.\. (?:_[^:]*:|\|)|\s{2,}:[\w-]+:(?= |$)", line):
            line = re.sub(r"\.\. figure::.*", "", line)
            kept.append(re.sub(r"\.\. [\w:+-]+::", " ", line))
    text = "\n".join(kept)
    text = re.sub(r":[\w:+-]+:`([^`<]*)<[^`>]*>`", r"\1", text)
    # A reference by name alone shows a title, not the name.
    text = re.sub(r":(?:doc|ref):`[^`]*`", " ", text)
    text = re.sub(r":[\w:+-]+:`", " `", text)
    text = re.sub(r"`([^`<]*)<[^`>]+>`_{1,2}", r"\1", text)
    return words(re.sub(r"https?://\S+", "", text))


def words_of_notebook(text: str) -> Counter[str]:
    kept = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "raw" or "remove-cell" in cell["metadata"].get("tags", []):
            continue
        if cell["cell_type"] == "markdown":
            source = re.sub(r"```\{index\}.*?```|<!--.*?-->", "", source, flags=re.S)
            source = re.sub(r"</?\w[^>]*>", " ", source, flags=re.S)
            source = re.sub(r"^:\w+:.*$|```\{[\w:-]+\}|\{[\w:]+\}(?=`)", "", source, flags=re.M)
            source = re.sub(r"https?://\S+", "", source)
        kept.append(source)
    return words("\n".join(kept))


def read(folder: Path) -> tuple[Book, float]:
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here; set QUIRE_SHARED to the folder of shared books")
    begun = time.perf_counter()
    book = find_reader(folder).read(folder, IngestOptions(site_url="https://x.y"))
    return book, time.perf_counter() - begun


def test_the_ros_documentation_is_read_whole() -> None:
    book, seconds = read(ROS)

    assert book.kind == "sphinx"
    named = {page.source for page in book.pages} | {skip.source for skip in book.skipped}
    assert {path.relative_to(ROS).as_posix() for path in ROS.rglob("*.rst")} <= named
    total, lost = Counter[str](), Counter[str]()
    for page in book.pages:
        source = words_of_rst((ROS / page.source).read_text("utf-8"))
        total += source
        lost += source - words_of_page(page)
    assert total.total() > 300_000
    assert lost.total() < MAX_LOSS * total.total(), lost.most_common(20)
    assert seconds < MAX_SECONDS, f"{len(book.pages) / seconds:.1f} pages a second"


def test_the_robotics_notebooks_are_read_whole() -> None:
    book, _ = read(GTBOOK)

    assert (book.kind, book.skipped) == ("notebooks", ())
    assert len(book.pages) == len(list(GTBOOK.glob("*.ipynb")))
    total, lost = Counter[str](), Counter[str]()
    for page in book.pages:
        source = words_of_notebook((GTBOOK / page.source).read_text("utf-8"))
        total += source
        lost += source - words_of_page(page)
    assert total.total() > 40_000
    assert lost.total() < MAX_LOSS * total.total(), lost.most_common(20)
