"""Links opened in a real browser on a real built book: what lights up is what was cited."""

import os
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lxml import html
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Chunk
from citewell.index.qdrant_local import EdgeIndex
from citewell.ingest.pipeline import ingest
from citewell.text.sentences import Span, split_spans
from tests.browser.chromium import Chromium, running
from tests.browser.site import served
from tests.conftest import SAMPLE
from tests.ingest.formats.node_sites import build_site, sample_files
from tests.servers import HashEmbedder, build_services

pytestmark = pytest.mark.browser
BUILT = os.environ.get("CITEWELL_BUILT_SITE")
SEED = int(os.environ.get("CITEWELL_SEED", "1"))
SENTENCES = 200
BASE = "/physical-ai/"
"""Where the configuration of the sample book puts it."""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        pytest.skip("no chromium on the path: links cannot be opened")
    with running(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="session")
def built_sample() -> Path:
    """The sample book as Docusaurus builds it, from CITEWELL_BUILT_SITE or built here."""
    if BUILT:
        return Path(BUILT)
    return build_site("sample", sample_files()) / "build"


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeIndex]:
    data = tmp_path_factory.mktemp("linked")
    ingest(SAMPLE, data / "books", HashEmbedder(), book="sample")
    library = build_services(data).library
    yield library.open("sample")
    library.close()


CLOSED = "//div[@role='tabpanel' and @hidden]"
"""What stands in a closed tab is no part of the page as it opens: no link can light it up."""
REDRAWN = "//div[@role='tabpanel'] | //details"
"""The theme's script draws tabs anew, under another key, and closes what the browser opened, after
the browser has found its words: their light goes out, whatever the link says."""


def sentences(index: EdgeIndex, built: Path, beyond: str) -> tuple[list[tuple[Chunk, Span]], int]:
    """Every sentence and list item of the built book, and how many stand `beyond` any link."""
    files = sorted(p.relative_to(SAMPLE).as_posix() for p in (SAMPLE / "docs").rglob("*.md*"))
    said = [
        (chunk, span)
        for file in files
        for chunk in index.page(file)
        for span in split_spans(chunk.text)
        if span.kind in ("sentence", "item") and letters(span.of(chunk.text))
    ]
    pages = {chunk.url.partition("#")[0] for chunk, _ in said}
    files_of = {url: built / f"{urlsplit(url).path.removeprefix(BASE)}.html" for url in pages}
    lost = {url: letters_in(file, beyond) for url, file in files_of.items()}
    kept = [
        (chunk, span)
        for chunk, span in said
        if letters(span.of(chunk.text)) not in lost[chunk.url.partition("#")[0]]
    ]
    return kept, len(said) - len(kept)


def letters_in(file: Path, parts: str) -> str:
    """What stands in some parts of a built page, without white space and formulas."""
    found = html.parse(file).getroot().xpath(parts)
    for formula in (formula for part in found for formula in part.find_class("katex")):
        formula.drop_tree()
    return re.sub(r"\s", "", "".join(part.text_content() for part in found))


def letters(source: str) -> str:
    """What a page shows of some Markdown, without white space and formulas."""
    markdown = MarkdownIt("commonmark").enable("strikethrough")
    markdown.use(dollarmath_plugin).use(footnote_plugin)
    cells = re.split(r"(?<!\\)\|", source) if source.startswith("|") else [source]
    # Footnotes are only known as such where they are defined.
    cells = [re.sub(r"\[\^\w+\]:?|\n[ \t]*>", " ", cell).replace(r"\|", "|") for cell in cells]
    blocks = [block for cell in cells for block in markdown.parseInline(cell)]
    tokens = [token for block in blocks for token in block.children or []]
    shown = (t.content for t in tokens if t.type in ("text", "code_inline"))
    # A sentence may be cut out of a longer stretch of emphasis.
    return re.sub(r"\s", "", "".join(shown)).strip("*_")


@pytest.mark.parametrize(
    ("scripts", "beyond"),
    [pytest.param(False, CLOSED, id="bare"), pytest.param(True, REDRAWN, id="scripts")],
)
def test_the_highlighted_text_is_the_cited_sentence(
    chromium: Chromium, built_sample: Path, sample_index: EdgeIndex, scripts: bool, beyond: str
) -> None:
    links = DeepLinker()
    shown, hidden = sentences(sample_index, built_sample, beyond)
    wrong: list[str] = []
    again = 0
    with served(built_sample, BASE) as origin:
        for chunk, span in random.Random(SEED).sample(shown, SENTENCES):
            url = links.link(sample_index, chunk, span.start, span.end)
            address = urlsplit(url)
            here = f"{origin}{address.path}#{address.fragment}"
            wanted = letters(span.of(chunk.text))
            anchor = address.fragment.partition(":~:")[0]
            seen = chromium.highlighted(here, scripts=scripts)
            if not seen.text:
                # A busy machine may draw the page anew after the browser gave up looking.
                again += 1
                seen = chromium.highlighted(here, scripts=scripts)
            if seen.text != wanted or seen.heading not in (anchor, "footnote-label"):
                wrong.append(f"{url}\n  wanted {wanted}\n  lit    {seen.text} under {seen.heading}")

    score = (
        f"{SENTENCES - len(wrong)} of {SENTENCES} links light up their sentence (seed {SEED}; "
        f"{again} opened twice; {hidden} of {len(shown) + hidden} sentences are beyond any link)"
    )
    print("", score, *wrong, sep="\n")  # noqa: T201
    assert len(wrong) <= SENTENCES * 0.01, score
