"""The chat without a mouse, on a phone, enlarged, in the dark, in other scripts and colours."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.reader import Reader, hosted, opened
from tests.browser.services import Script, Service, scripted_service
from tests.browser.test_chat import AMCL, SAID
from tests.servers import build_services

WIDER_THAN_SCREEN = "document.scrollingElement.scrollWidth > innerWidth"
CUT_OFF = """
  [...document.querySelector("citewell-chat").shadowRoot.querySelectorAll("button, textarea, p, a")]
    .filter((one) => one.checkVisibility() && !one.closest(".unseen, .clip"))
    .map((one) => [one.outerHTML.slice(0, 120), one.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.left < 0 || box.right > innerWidth + 1))
    .map(([words]) => words)
"""
SELECT_FIRST = "getSelection().selectAllChildren(document.querySelector('main p, article p, p'))"
PANEL = """
  getComputedStyle(
    document.querySelector("citewell-chat").shadowRoot.querySelector("dialog")
  ).backgroundColor
"""


def looking(*, width: int, height: int, **looks: Any) -> dict[str, Any]:
    return {"viewport": {"width": width, "height": height}, **looks}


PHONE = looking(width=320, height=568, has_touch=True, is_mobile=True)
LOOKS = [
    pytest.param("phone", PHONE, id="phone"),
    # A window of 1280 by 800, enlarged to 200 %.
    pytest.param("zoom", looking(width=640, height=400, device_scale_factor=2), id="zoom"),
    pytest.param("dark", {"color_scheme": "dark"}, id="dark"),
    pytest.param("still", {"reduced_motion": "reduce"}, id="still"),
    pytest.param("forced-colours", {"forced_colors": "active"}, id="forced-colours"),
]


@pytest.mark.parametrize(("name", "looks"), LOOKS)
async def test_the_chat_works_however_a_reader_looks_at_it(
    chromium: Browser, service: Service, site: str, name: str, looks: dict[str, Any]
) -> None:
    page = f"{site}/physical-ai/book/autonomy/localisation"
    async with opened(chromium, page, **looks) as reader:
        await reader.look(f"{name}-page")
        await reader.open()
        await expect(reader.page.get_by_role("list", name="Start reading")).to_be_visible()
        await reader.look(f"{name}-welcome")

        turn = await reader.ask(AMCL)

        await expect(turn).to_contain_text(SAID)
        await reader.marks.first.click()
        await expect(reader.quote).to_be_in_viewport()
        assert await reader.page.evaluate(CUT_OFF) == []
        assert not await reader.page.evaluate(WIDER_THAN_SCREEN)
        await reader.look(f"{name}-quote")


async def test_on_a_phone_the_panel_closes_to_show_what_it_cites(
    chromium: Browser, service: Service, site: str
) -> None:
    page = f"{site}/physical-ai/book/autonomy/localisation"
    async with opened(chromium, page, **PHONE) as reader:
        await reader.open()
        await reader.ask(AMCL)
        await reader.marks.first.click()

        await reader.page.get_by_role("link", name="Show in book").click()

        (lit,) = await reader.highlighted()
        assert lit.startswith(SAID)
        await expect(reader.panel).to_be_hidden()
        await reader.look("phone-highlighted")


async def test_on_a_phone_selected_text_can_be_asked_about(
    chromium: Browser, service: Service, site: str
) -> None:
    page = f"{site}/physical-ai/book/autonomy/localisation"
    async with opened(chromium, page, **PHONE) as reader:
        await reader.page.evaluate(SELECT_FIRST)
        await expect(reader.selection).to_be_visible()
        box = await reader.selection.bounding_box()
        assert box
        assert 0 <= box["x"] <= PHONE["viewport"]["width"] - box["width"]
        await reader.look("phone-selection")

        await reader.selection.click()
        turn = await reader.ask(AMCL)

        await expect(turn).to_contain_text("The selected text doesn't answer that.")
        assert await reader.page.evaluate(CUT_OFF) == []
        await reader.look("phone-selection-refusal")


async def test_everything_can_be_done_from_the_keyboard(reader: Reader) -> None:
    keyboard = reader.page.keyboard
    await keyboard.press("Control+i")
    await expect(reader.question).to_be_focused()
    await keyboard.type(AMCL)
    await keyboard.press("Shift+Enter")
    await keyboard.press("Backspace")
    await keyboard.press("Enter")
    await expect(reader.turns).to_have_attribute("aria-busy", "false")

    await reach(reader, re.compile("^Source 1: "), backwards=True)
    await keyboard.press("Enter")
    await expect(reader.quote).to_be_visible()
    await reader.look("keyboard")
    await keyboard.press("Escape")
    await expect(reader.quote).to_be_hidden()
    await expect(reader.marks.last).to_be_focused()  # the first that was met going back

    await reach(reader, re.compile("^Helpful$"))
    await keyboard.press("Space")
    await expect(reader.turns).to_contain_text("Thanks, that helps.")
    await keyboard.press("Escape")
    await expect(reader.panel).to_be_hidden()
    await expect(reader.launcher).to_be_focused()


FOCUSED = """() => {
  let one = document.activeElement;
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  return one?.ariaLabel || one?.textContent?.trim() || "";
}"""


async def reach(reader: Reader, name: re.Pattern[str], *, backwards: bool = False) -> None:
    """Go from one thing to the next until one of that name has the focus."""
    passed: list[str] = []
    for _ in range(40):
        await reader.page.keyboard.press("Shift+Tab" if backwards else "Tab")
        focused: str = await reader.page.evaluate(FOCUSED)
        if name.search(focused):
            return
        passed.append(focused)
    raise AssertionError(passed)


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
async def test_the_panel_is_as_dark_as_the_page(
    chromium: Browser, service: Service, site: str, scheme: str, dark: bool
) -> None:
    page = f"{site}/physical-ai/book/autonomy/localisation"
    async with opened(chromium, page, color_scheme=scheme) as reader:
        await reader.open()
        assert await is_dark(reader) == dark
        before = await reader.page.evaluate(PANEL)
        await reader.page.emulate_media(color_scheme="light" if dark else "dark")
        await reader.page.wait_for_function(f"(before) => ({PANEL}) !== before", arg=before)
        assert await is_dark(reader) != dark


async def is_dark(reader: Reader) -> bool:
    painted: str = await reader.page.evaluate(PANEL)
    red, green, blue = (float(part) for part in re.findall(r"[\d.]+", painted)[:3])
    return red + green + blue < 3 * 128


@pytest.mark.parametrize(("language", "direction"), [("de", "ltr"), ("es", "ltr"), ("ur", "rtl")])
async def test_the_chat_speaks_the_languages_of_readers(
    chromium: Browser, tiny_copy: Path, language: str, direction: str
) -> None:
    script = Script(("A sentence of the answer.",))
    options = f'data-language="{language}"'
    async with (
        scripted_service(build_services(tiny_copy), script) as address,
        hosted(chromium, address, options) as reader,
    ):
        await reader.page.locator("citewell-chat").get_by_role("button").first.click()
        assert await reader.panel.evaluate("(one) => getComputedStyle(one).direction") == direction
        assert await reader.panel.evaluate("(one) => one.closest('[lang]').lang") == language
        await reader.look(f"language-{language}")
        field = reader.panel.get_by_role("textbox")
        await field.fill("?")
        await field.press("Enter")
        await expect(reader.panel.get_by_role("article")).to_contain_text(script.pieces[0])
        await reader.look(f"language-{language}-answer")
        # What stays English has been forgotten.
        said = await reader.panel.inner_text()
        assert not {"Sources", "Ask", "Stop", "Close"} & set(re.findall(r"\w+", said))
