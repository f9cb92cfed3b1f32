"""The page at `/`: the book to read, to search and to ask."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, LocatorAssertions, expect

from citewell.api.app import create_app
from citewell.settings import Settings
from citewell.wiring import wire_services
from tests.api.live_server import served
from tests.api.serving import new_key, with_settings
from tests.browser.reader import Reader, opened
from tests.browser.test_chat import AMCL, SAID
from tests.browser.test_everyone import PHONE, WIDER_THAN_SCREEN, reach
from tests.servers import build_services


@pytest.fixture(scope="module")
async def address(sample_data: Path) -> AsyncIterator[str]:
    """The service on loopback over the sample book, where no key is needed."""
    async with served(create_app(wire_services(Settings(data_dir=sample_data)))) as address:
        yield address


@pytest.fixture
async def page(chromium: Browser, address: str) -> AsyncIterator[Reader]:
    async with opened(chromium, f"{address}/") as reader:
        yield reader


def shown(reader: Reader) -> Locator:
    """The page of the book that is open."""
    return reader.page.get_by_role("region", name="Page")


def heading(reader: Reader, name: str) -> LocatorAssertions:
    return expect(shown(reader).get_by_role("heading", name=name, exact=True))


async def test_the_book_is_read_from_its_contents(page: Reader) -> None:
    contents = page.page.get_by_role("navigation", name="Contents")
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()
    await page.look("reader")

    await contents.get_by_role("link", name=re.compile("Localisation$")).click()
    await heading(page, "Localisation").to_be_visible()
    await expect(shown(page).locator("math").first).to_be_visible()
    await contents.get_by_label("Sections of Localisation", exact=True).click()
    await contents.get_by_role("link", name="Particle filter").click()

    await heading(page, "Particle filter").to_be_in_viewport()
    await expect(contents.get_by_role("link", name=re.compile("Localisation$"))).to_have_attribute(
        "aria-current", "page"
    )
    await page.look("reader-page")
    await page.page.go_back()
    await page.page.go_back()
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()


async def test_what_an_answer_cites_opens_beside_it_at_the_sentence(page: Reader) -> None:
    await page.ask(AMCL)
    await page.marks.first.click()

    await page.quote.get_by_role("link").click()

    (lit,) = await page.highlighted()
    assert lit.startswith(SAID)
    await heading(page, "Localisation").to_have_count(1)
    await expect(page.turns).to_contain_text(SAID)
    await page.look("reader-cited")
    await page.page.reload()
    await heading(page, "Localisation").to_have_count(1)
    await expect(page.turns).to_contain_text(SAID)


async def test_a_long_conversation_makes_the_page_no_longer(page: Reader) -> None:
    for question in (AMCL, "What is a quaternion?", "Why does odometry drift?"):
        await page.ask(question)

    fits = "document.documentElement.scrollHeight <= window.innerHeight"
    assert await page.page.evaluate(fits)


async def test_the_book_is_searched(page: Reader) -> None:
    field = page.page.get_by_role("searchbox", name="Search the book")
    await field.fill("particle filter")
    await field.press("Enter")

    found = page.page.get_by_role("navigation").get_by_role("listitem")
    await expect(found.first).to_contain_text("particle")
    await expect(page.page.get_by_role("status")).to_contain_text("passages")
    await page.look("reader-search")
    await found.first.get_by_role("link").click()
    await expect(shown(page)).to_contain_text("particle filter")
    await field.fill("")
    await expect(found.first).to_contain_text("Physical AI")


async def test_what_the_book_never_speaks_of_is_not_found(page: Reader) -> None:
    field = page.page.get_by_role("searchbox", name="Search the book")
    await field.fill("asdfghjkl qwerty")
    await field.press("Enter")

    status = page.page.get_by_role("status")
    await expect(status).to_have_text("Nothing in the book is about “asdfghjkl qwerty”.")


async def test_links_from_page_to_page_stay_in_the_book(page: Reader) -> None:
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()
    inside = shown(page).locator("a[data-page]").first

    await inside.click()

    await expect(shown(page).locator("h1")).not_to_have_text(
        "Physical AI: from Sensors to Humanoids"
    )
    await expect(page.page.get_by_role("navigation", name="Contents")).to_be_visible()
    await page.page.go_back()
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()


async def test_the_chapters_to_start_with_open_beside_the_chat(page: Reader) -> None:
    chapters = page.page.get_by_role("list", name="Start reading").get_by_role("link")
    await expect(chapters).to_have_count(4)
    await page.look("reader-start")
    title = str(await chapters.first.text_content())

    await chapters.first.click()

    await heading(page, title.strip()).to_be_visible()
    assert page.page.url.startswith("http://127.0.0.1")


async def test_a_page_that_does_not_load_leaves_the_one_being_read(page: Reader) -> None:
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()
    contents = page.page.get_by_role("navigation", name="Contents")
    await page.page.route("**/read/**", lambda route: route.abort())

    await contents.get_by_role("link", name=re.compile("Localisation$")).click()

    trouble = page.page.get_by_role("alert")
    await expect(trouble).to_contain_text("This page didn’t load.")
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()
    await page.look("reader-trouble")
    await page.page.unroute("**/read/**")
    await trouble.get_by_role("button", name="Try again").click()
    await heading(page, "Localisation").to_be_visible()
    await expect(trouble).to_be_hidden()


@pytest.mark.parametrize(
    ("name", "looks"),
    [("phone", PHONE), ("dark", {"color_scheme": "dark"}), ("forced", {"forced_colors": "active"})],
)
async def test_the_page_works_however_a_reader_looks_at_it(
    chromium: Browser, address: str, name: str, looks: dict[str, object]
) -> None:
    async with opened(chromium, f"{address}/", **looks) as page:
        await page.ask(AMCL)
        await page.look(f"reader-{name}-ask")
        await page.marks.first.click()
        await page.quote.get_by_role("link").click()
        assert (await page.highlighted())[0].startswith(SAID)
        await page.look(f"reader-{name}-cited")
        if name == "phone":
            await page.button("Contents").click()
            await page.look("reader-phone-contents")
            await page.button("Ask").click()
            await expect(page.turns).to_be_in_viewport()
        assert not await page.page.evaluate(WIDER_THAN_SCREEN)


async def test_the_page_is_used_from_the_keyboard(page: Reader) -> None:
    await heading(page, "Physical AI: from Sensors to Humanoids").to_be_visible()
    await reach(page, re.compile("Localisation$"))
    await page.page.keyboard.press("Enter")

    await heading(page, "Localisation").to_be_visible()
    await expect(shown(page)).to_be_focused()


async def test_where_a_key_is_needed_the_page_asks_for_it_and_keeps_it_for_the_tab(
    chromium: Browser, tiny_copy: Path
) -> None:
    services = with_settings(build_services(tiny_copy))
    key = await new_key(services)
    async with (
        served(create_app(services)) as address,
        opened(chromium, f"{address}/") as page,
    ):
        door = page.page.get_by_role("dialog", name="Enter your access key")
        await expect(door).to_be_visible()
        await page.look("reader-door")
        await door.get_by_label("Key").fill("cw_guessed")
        await door.get_by_role("button", name="Open the book").click()
        await expect(door).to_contain_text("That key didn’t work.")
        await door.get_by_label("Key").fill(key)
        await door.get_by_role("button", name="Open the book").click()

        await expect(door).to_be_hidden()
        turn = await page.ask("What is a Fresnel lens made of?")
        await expect(turn).to_contain_text("concentric rings of glass")
        await page.page.reload()
        await expect(page.turns).to_contain_text("concentric rings of glass")
        await expect(door).to_be_hidden()
