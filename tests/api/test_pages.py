"""The pages of a book as this service shows them: their links, notes and footnotes."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import httpx
import pytest
from lxml import html

from citewell.api.app import create_app
from citewell.ingest.pipeline import ingest
from tests.conftest import SAMPLE
from tests.servers import HashEmbedder, build_services

REPOSITORY = Path(__file__).parents[2]
# At import: the tests' environment is emptied of CITEWELL_ settings.
BOOKS = Path(os.environ.get("CITEWELL_SHARED", REPOSITORY.parent / "shared")) / "books"
READER = {"Accept": "text/html,application/xhtml+xml"}


@asynccontextmanager
async def reading(data: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(build_services(data))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def files_of(client: httpx.AsyncClient, book: str) -> list[str]:
    """Ask for the contents, and gather the source files of its pages."""
    entries = (await client.get(f"/books/{book}/toc")).json()["entries"]
    files: dict[str, None] = {}
    while entries:
        entry, *entries = entries
        entries += entry["children"]
        if entry["source_file"]:
            files[entry["source_file"]] = None
    return list(files)


@pytest.mark.parametrize("name", ["sample", "docusaurus-docs", "physical-ai-docusaurus"])
async def test_every_link_of_every_page_leads_somewhere(name: str, tmp_path: Path) -> None:
    root = SAMPLE if name == "sample" else BOOKS / name
    if not root.is_dir():
        pytest.skip(f"{root} is not here; CITEWELL_SHARED names the folder that holds `books`")
    report = ingest(root, tmp_path / "books", HashEmbedder(), book="book")
    broken = {(one.source, one.target) for one in report.broken_links}
    inside = 0
    async with reading(tmp_path) as client:
        files = await files_of(client, "book")
        for file in files:
            page = html.fromstring((await client.get(f"/read/book/{file}")).text)
            for link in page.find("body/main").iter("a"):
                href = link.get("href", "")
                if named := link.get("data-page"):
                    inside += 1
                    assert named in files
                    there = urlsplit(urljoin(f"/read/book/{file}", href)).path
                    assert unquote(there) == f"/read/book/{named}"
                elif href.startswith("#fn"):
                    assert page.get_element_by_id(href[1:]) is not None
                elif href:
                    assert link.get("target") == "_blank"
                    assert link.get("rel") == "noopener"
                    assert urlsplit(href).scheme in ("http", "https", "mailto")
                else:
                    # Other parts of a site whose host is not known, and its pictures, are no pages.
                    written = link.get("title").removeprefix("Not in this book: ")
                    kind = Path(urlsplit(written).path).suffix
                    outside = written.startswith("/") or kind not in ("", ".md", ".mdx")
                    assert (file, written) in broken or outside
    assert inside


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    book = tmp_path / "book"
    (book / "lamps").mkdir(parents=True)
    (book / "index.md").write_text("# Lights\n\nAbout lamps and towers.\n\n## Towers\n\nTall.\n")
    (book / "lamps" / "oil.md").write_text(
        "# Oil lamps\n\n"
        "See [home](../index.md#towers), [gas](./gas.md), [up](#wicks), [a "
        "site](https://x.example),"
        " [mail](mailto:a@b.example), [worse](javascript:alert(1)) and [gone](nowhere.md).\n\n"
        "[Sperm oil][oil] burns bright[^1] and [cleanly].\n\n"
        ":::danger[Never spill]\nOil burns.\n:::\n\n:::tip\nTrim it.\n:::\n\n"
        "## Wicks\n\n![A wick in its holder](/img/wick.svg)\n\n"
        "They are of cotton[^2].\n\n[^2]: Or of flax.\n\n[^1]: Very bright.\n\n"
        "[oil]: https://oil.example\n[cleanly]: gas.md\n"
    )
    (book / "lamps" / "gas.md").write_text("# Gas lamps\n\nThey hiss.\n")
    ingest(book, tmp_path / "data" / "books", HashEmbedder(), book="lights")
    async with reading(tmp_path / "data") as client:
        yield client


async def test_links_stay_in_the_book_or_open_beside_it(client: httpx.AsyncClient) -> None:
    page = html.fromstring((await client.get("/read/lights/lamps/oil.md")).text)

    links = {link.text_content(): link for link in page.find("body/main").iter("a")}
    assert links["home"].get("href") == "/read/lights/index.md#towers"
    assert links["home"].get("data-page") == "index.md"
    assert links["gas"].get("href") == "/read/lights/lamps/gas.md"
    assert links["up"].get("href") == "#wicks"
    assert dict(links["a site"].attrib) == {
        "href": "https://x.example",
        "target": "_blank",
        "rel": "noopener",
    }
    assert links["mail"].get("href") == "mailto:a@b.example"
    assert links["gone"].get("href") is None
    assert not links["worse"].get("href")
    assert "javascript" not in str([link.get("href") for link in links.values()])


async def test_a_page_shows_no_signs_that_it_does_not_explain(client: httpx.AsyncClient) -> None:
    page = html.fromstring((await client.get("/read/lights/lamps/oil.md")).text)

    shown = page.find("body/main").text_content()
    assert "Sperm oil burns bright" in shown
    assert "and cleanly." in shown
    assert "[^" not in shown
    assert "Or of flax." in shown
    assert "A wick in its holder" in shown
    assert "!A wick" not in shown


async def test_notes_tell_their_kind_and_title(client: httpx.AsyncClient) -> None:
    page = html.fromstring((await client.get("/read/lights/lamps/oil.md")).text)

    notes = [(note.get("class"), note.find("p").text) for note in page.iter("aside")]
    assert notes == [("danger", "Never spill"), ("tip", "Tip")]


async def test_a_browser_that_finds_no_page_is_shown_the_way_back(
    client: httpx.AsyncClient,
) -> None:
    for address in ("/lamps/oil.md", "/read/lights/none.md", "/read/none/<i>.md"):
        page = await client.get(address, headers=READER)
        plain = await client.get(address)

        assert page.status_code == plain.status_code == 404
        assert page.headers["content-type"].startswith("text/html")
        assert '<a href="/">Back to the book</a>' in page.text
        assert "<i>" not in page.text
        assert plain.headers["content-type"] == "application/problem+json"
