"""The sample book built by the real Docusaurus with the plugin, and driven on its pages."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from lxml import html
from playwright.async_api import Browser, expect

from tests.browser.reader import Reader, opened
from tests.browser.services import Service, publishable_key
from tests.browser.site import served
from tests.browser.test_chat import AMCL, SAID
from tests.browser.test_everyone import is_dark
from tests.ingest.formats.node_sites import build_site, sample_files

pytestmark = [pytest.mark.browser, pytest.mark.node]
PLUGIN = Path(__file__).parents[2] / "integrations" / "docusaurus"
SERVER, KEY = "https://citewell.example", "cw_of_the_site"
LINE = f"plugins: [['docusaurus-plugin-citewell', {{server: '{SERVER}', key: '{KEY}'}}]],"
CHAT = f"//script[@type='module' and @src='{SERVER}/widget.js' and @data-key='{KEY}']"


def with_plugin(line: str) -> dict[str, str]:
    """Return the sample book with one more line in its configuration."""
    files = sample_files()
    config = files["docusaurus.config.ts"]
    files["docusaurus.config.ts"] = config.replace("  presets: [", f"  {line}\n  presets: [", 1)
    installed = "node_modules/docusaurus-plugin-citewell"
    return files | {
        f"{installed}/{name}": (PLUGIN / name).read_text("utf-8")
        for name in ("package.json", "index.js", "index.d.ts")
    }


@pytest.fixture(scope="module")
def built() -> Path:
    return build_site("chat", with_plugin(LINE)) / "build"


@pytest.fixture(scope="module")
async def origin(
    built: Path, service: Service, book_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """Where the built book is served, with the address and the key of the running service."""
    folder = tmp_path_factory.mktemp("built") / "site"
    shutil.copytree(built, folder)
    with served(folder, "/physical-ai/") as origin:
        key = await publishable_key(book_folder, origin)
        for page in folder.rglob("*.html"):
            text = page.read_text("utf-8")
            page.write_text(text.replace(SERVER, service.address).replace(KEY, key), "utf-8")
        await known(service.address, origin)
        yield origin


async def known(address: str, origin: str) -> None:
    """Wait until the running service has read the new key: before, no page of the site may ask."""
    asks = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    async with httpx.AsyncClient() as client, asyncio.timeout(60):
        while not await allows(client, address, asks):  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def allows(client: httpx.AsyncClient, address: str, asks: dict[str, str]) -> bool:
    reply = await client.options(f"{address}/widget/stream", headers=asks)
    return "access-control-allow-origin" in reply.headers


def test_one_line_puts_the_chat_on_every_page(built: Path) -> None:
    pages = sorted(built.rglob("*.html"))

    assert len(pages) > 20
    for page in pages:
        assert len(html.parse(page).getroot().xpath(CHAT)) == 1, page


@pytest.mark.parametrize(
    "page", ["book/autonomy/localisation", "book/glossary", "book/ros2/nodes-and-topics"]
)
async def test_a_reader_asks_on_different_pages_of_the_built_book(
    chromium: Browser, origin: str, page: str
) -> None:
    async with opened(chromium, f"{origin}/physical-ai/{page}") as reader:
        await reader.open()
        await reader.ask(AMCL)
        await reader.marks.first.click()

        await reader.page.get_by_role("link", name="Show in book").click()

        await reader.page.wait_for_url("**/book/autonomy/localisation**")
        (lit,) = await reader.highlighted()
        assert lit.startswith(SAID)
        await expect(reader.turns).to_contain_text(SAID)
        await reader.picture(f"docusaurus-{page.rpartition('/')[2]}")


async def test_the_chat_stays_open_from_page_to_page_and_follows_the_sites_dark_switch(
    chromium: Browser, origin: str
) -> None:
    async with opened(chromium, f"{origin}/physical-ai/book/autonomy/localisation") as reader:
        await reader.page.evaluate("window.loadedOnce = true")
        await reader.open()
        await reader.ask(AMCL)
        assert not await is_dark(reader)

        await reader.page.get_by_role("link", name="SLAM", exact=True).first.click()
        await reader.page.wait_for_url("**/book/autonomy/slam")
        await expect(reader.turns).to_contain_text(SAID)
        assert await reader.page.evaluate("window.loadedOnce")

        await toggle_dark(reader)
        assert await is_dark(reader)
        await reader.picture("docusaurus-dark")


async def toggle_dark(reader: Reader) -> None:
    switch = reader.page.get_by_role("button", name=re.compile("dark and light mode")).first
    page = reader.page.locator("html")
    while await page.get_attribute("data-theme") != "dark":
        await switch.click()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("plugins: ['docusaurus-plugin-citewell'],", "needs `server`"),
        (
            f"plugins: [['docusaurus-plugin-citewell', {{server: '{SERVER}', ky: 'x'}}]],",
            "no option ky",
        ),
    ],
    ids=["no server", "unknown option"],
)
def test_a_wrong_option_stops_the_build_with_a_sentence(line: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        build_site("wrong", with_plugin(line))
