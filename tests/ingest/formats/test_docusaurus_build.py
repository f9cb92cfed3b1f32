"""The addresses Citewell works out, against those of sites that the real Docusaurus built."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import html

from citewell.domain import Chunk
from citewell.index.revision import current_revision, read_chunks
from citewell.ingest.pipeline import ingest
from citewell.options import IngestOptions
from tests.ingest.awkward_site import awkward_site
from tests.ingest.formats.built_site import check, encoded, read_built
from tests.ingest.formats.node_sites import SAMPLE, build_site, sample_files
from tests.servers import HashEmbedder

pytestmark = pytest.mark.node

ARTICLE = "//article[.//*[contains(@class, 'theme-doc-markdown')]]"
BASE = "https://lamps.example/lamps/"


def chunks_of(source: Path, library: Path, options: IngestOptions | None = None) -> list[Chunk]:
    ingest(source, library, HashEmbedder(), book="lamps", options=options)
    folder = current_revision(library / "lamps")
    assert folder
    return list(read_chunks(folder))


def next_pages(site: Path) -> dict[str, str]:
    """Give which page each page of a built site leads on to, by their addresses."""
    found = {}
    for file in (site / "build").rglob("*.html"):
        tree = html.fromstring(file.read_text("utf-8"))
        links = tree.xpath("//a[contains(@class, 'pagination-nav__link--next')]/@href")
        if links and (mine := tree.xpath("//link[@rel='canonical']/@href")):
            origin = "/".join(mine[0].split("/")[:3])
            found[encoded(mine[0])] = encoded(f"{origin}{links[0]}")
    return found


def test_every_chunk_of_the_sample_book_has_its_place_in_the_built_book(
    library: Path, say: Callable[[str], None]
) -> None:
    pages = read_built(build_site("sample", sample_files()) / "build", main=ARTICLE)

    checked = check(chunks := chunks_of(SAMPLE, library), pages)

    say(f"sample book by Docusaurus: {checked}")
    assert checked.wrong == ()
    assert {chunk.url.partition("#")[0] for chunk in chunks} == set(pages)


@pytest.mark.parametrize(
    ("locale", "version", "kept"),
    [
        (None, None, lambda path: not path.startswith(("next", "old", "fr/"))),
        (None, "current", lambda path: path.startswith(("next", "people", "notes"))),
        (None, "1.0", lambda path: path.startswith(("old", "people", "notes"))),
        ("fr", None, lambda p: p.startswith("fr/") and not p.startswith(("fr/next", "fr/old"))),
        ("fr", "current", lambda p: p.startswith(("fr/next", "fr/people", "fr/notes"))),
    ],
)
def test_every_chunk_of_an_awkward_site_has_its_place_in_each_version_and_language(
    library: Path,
    say: Callable[[str], None],
    locale: str | None,
    version: str | None,
    kept: Callable[[str], bool],
) -> None:
    site = build_site("awkward", awkward_site(None))
    pages = read_built(site / "build", main=ARTICLE)

    chunks = chunks_of(site, library, IngestOptions(locale=locale, version=version))

    checked = check(chunks, pages)
    say(f"awkward site by Docusaurus, {locale or 'default'} {version or 'last'}: {checked}")
    assert checked.wrong == ()
    published = {
        url for url, page in pages.items() if kept(url.removeprefix(BASE)) and not page.hidden
    }
    assert {chunk.url.partition("#")[0] for chunk in chunks} == published


@pytest.mark.parametrize("slash", [True, False])
def test_addresses_end_as_trailing_slash_says(
    library: Path, say: Callable[[str], None], slash: bool
) -> None:
    site = build_site(f"slash-{slash}", awkward_site(slash), "--locale", "en")
    pages = read_built(site / "build", main=ARTICLE)

    checked = check(chunks_of(site, library), pages)

    say(f"awkward site by Docusaurus, trailingSlash {slash}: {checked}")
    assert checked.wrong == ()


@pytest.mark.parametrize("version", [None, "current"])
def test_pages_come_in_the_order_in_which_the_site_leads_on(
    library: Path, version: str | None
) -> None:
    site = build_site("awkward", awkward_site(None))
    after = next_pages(site)

    urls = [
        c.url.partition("#")[0] for c in chunks_of(site, library, IngestOptions(version=version))
    ]

    order = list(dict.fromkeys(urls))
    led = [url for url in order if url in after]
    assert len(led) > 10
    assert [order[order.index(url) + 1] for url in led] == [after[url] for url in led]
