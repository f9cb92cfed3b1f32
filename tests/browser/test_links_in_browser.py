"""Links opened in a real browser on a real built book: what lights up is what was cited."""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from quire.domain import Chunk
from quire.index.qdrant import EdgeIndex
from quire.ingest.pipeline import ingest
from quire.prose.sentences import Span, split_spans
from quire.testing import HashEmbedder, build_services
from quire.verify.links import SentenceLinks
from tests.browser.chromium import Chromium, running
from tests.browser.site import served
from tests.conftest import SAMPLE

pytestmark = pytest.mark.browser
BUILT = os.environ.get("QUIRE_BUILT_SITE")
SEED = int(os.environ.get("QUIRE_SEED", "1"))
SENTENCES = 200
SCRIPTS = os.environ.get("QUIRE_SCRIPTS") == "1"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        pytest.skip("no chromium on the path: links cannot be opened")
    with running(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="session")
def built_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample book as Docusaurus builds it, from QUIRE_BUILT_SITE or built here."""
    if BUILT:
        return Path(BUILT)
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("neither npm nor QUIRE_BUILT_SITE: there is no built book to open links in")
    folder = tmp_path_factory.mktemp("site") / "book"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("node_modules", "build"))
    for command in (["install", "--no-audit", "--no-fund"], ["run", "build"]):
        done = subprocess.run([npm, *command], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm {command[0]} failed: {done.stderr[-500:]}")
    return folder / "build"


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeIndex]:
    data = tmp_path_factory.mktemp("linked")
    ingest(SAMPLE, data / "books", HashEmbedder(), book="sample")
    library = build_services(data).library
    yield library.open("sample")
    library.close()


def sentences(index: EdgeIndex) -> list[tuple[Chunk, Span]]:
    """Every sentence, item and table row of the book that shows words."""
    files = sorted(p.relative_to(SAMPLE).as_posix() for p in (SAMPLE / "docs").rglob("*.md*"))
    return [
        (chunk, span)
        for file in files
        for chunk in index.page(file)
        for span in split_spans(chunk.text)
        if span.kind not in ("code", "math") and letters(span.of(chunk.text))
    ]


def letters(source: str) -> str:
    """What a page shows of some Markdown, without white space and formulas."""
    markdown = MarkdownIt("commonmark").enable("strikethrough")
    markdown.use(dollarmath_plugin).use(footnote_plugin)
    cells = re.split(r"(?<!\\)\|", source) if source.startswith("|") else [source]
    # Footnotes are only known as such where they are defined.
    cells = [re.sub(r"\[\^\w+\]:?|\n[ \t]*>", " ", cell) for cell in cells]
    tokens = [t for cell in cells for block in markdown.parseInline(cell) for t in block.children or []]
    shown = (t.content for t in tokens if t.type in ("text", "code_inline"))
    # A sentence may be cut out of a longer stretch of emphasis.
    return re.sub(r"\s", "", "".join(shown)).strip("*_")


def test_the_highlighted_text_is_the_cited_sentence(
    chromium: Chromium, built_sample: Path, sample_index: EdgeIndex
) -> None:
    links = SentenceLinks()
    chosen = random.Random(SEED).sample(sentences(sample_index), SENTENCES)
    wrong: list[str] = []
    with served(built_sample, "/physical-ai/") as origin:
        for chunk, span in chosen:
            url = links.link(sample_index, chunk, span.start, span.end)
            address = urlsplit(url)
            seen = chromium.highlighted(f"{origin}{address.path}#{address.fragment}", scripts=SCRIPTS)
            wanted = letters(span.of(chunk.text))
            anchor = address.fragment.partition(":~:")[0]
            if seen.text != wanted or seen.heading not in (anchor, "footnote-label"):
                wrong.append(f"{url}\n  wanted {wanted}\n  lit    {seen.text} under {seen.heading}")

    share = 1 - len(wrong) / SENTENCES
    print(f"\n{SENTENCES - len(wrong)} of {SENTENCES} links (seed {SEED}) light up their sentence")  # noqa: T201
    assert share >= 0.99, "\n".join(wrong)
    print("\n".join(wrong))  # noqa: T201
