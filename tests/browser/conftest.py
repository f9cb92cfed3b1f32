"""A real browser, a real service over the sample book, and the book as a plain site with the chat.

Screenshots of every state go to `.screenshots`, for people to look at.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser.reader import Reader, opened
from tests.browser.services import Service, citewell_serve, publishable_key
from tests.browser.site import plain_site, served


@pytest.fixture(scope="package")
async def chromium() -> AsyncIterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        pytest.skip("no chromium on the path: nothing is opened in a browser")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture(scope="package")
def book_folder(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample book in a data folder that no other test serves."""
    data = tmp_path_factory.mktemp("browsed") / "data"
    shutil.copytree(sample_data, data)
    return data


@pytest.fixture(scope="package")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="package")
def site(site_folder: Path) -> Iterator[str]:
    """Where the book stands as a plain site, on an origin of its own."""
    with served(site_folder, "/physical-ai/") as origin:
        yield origin


@pytest.fixture(scope="package")
async def service(book_folder: Path, site: str, site_folder: Path) -> AsyncIterator[Service]:
    """The service as an operator runs it, with a key for the pages of the site."""
    key = await publishable_key(book_folder, site)
    async with citewell_serve(book_folder) as service:
        plain_site(book_folder, site_folder, service.address, key)
        yield service


@pytest.fixture
async def reader(chromium: Browser, service: Service, site: str) -> AsyncIterator[Reader]:
    """A reader with an empty browser, on a page of the book."""
    async with opened(chromium, f"{site}/physical-ai/book/autonomy/localisation") as reader:
        yield reader
