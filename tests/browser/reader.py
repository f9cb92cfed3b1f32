"""A reader in a browser: what they see and do, by the names that assistive technology hears."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.async_api import Browser, ConsoleMessage, Locator, Page, expect

SCREENSHOTS = Path(__file__).parents[2] / ".screenshots"
AXE = Path(AXE_FILE_PATH).read_text("utf-8")
PATIENCE = 30_000
"""Milliseconds within which a busy machine must show what is waited for."""
HIGHLIGHTED = """() => {
  const ranges = [...CSS.highlights.values()].flatMap((one) => [...one]);
  const boxes = ranges.flatMap((range) => [...range.getClientRects()]);
  const chat = document.querySelector("citewell-chat").shadowRoot.querySelector("dialog");
  const panel = chat.getBoundingClientRect();
  const apart = (box) => box.right <= panel.left || panel.right <= box.left ||
    box.bottom <= panel.top || panel.bottom <= box.top || !panel.width;
  const seen = boxes.every((box) => box.top >= 0 && box.bottom <= innerHeight && apart(box));
  return ranges.length && seen ? ranges.map(String) : null;
}"""
HOST = """<!doctype html><html lang="en"><title>A page</title><main><h1>A page</h1></main>
<script type="module" src="/widget.js" OPTIONS></script></html>"""
expect.set_options(timeout=PATIENCE)


class Reader:
    """One tab with a chat."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.troubles: list[str] = []
        """What the browser complains of: errors of scripts, and what a policy forbids."""
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._note)
        page.set_default_timeout(PATIENCE)
        self.launcher = page.get_by_role("button", name="Ask the book", exact=True)
        self.panel = page.get_by_role("dialog")
        self.question = page.get_by_role("textbox", name="Your question")
        self.turns = page.get_by_role("article", name=re.compile("^You asked: "))
        self.marks = page.get_by_role("button", name=re.compile(r"^Source \d+: "))
        self.quote = page.get_by_role("complementary", name=re.compile(r"^Source \d+: "))
        self.selection = page.get_by_role("button", name="Ask about this")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def open(self) -> None:
        await self.launcher.click()
        await expect(self.question).to_be_focused()

    async def send(self, question: str) -> None:
        """Write a question and send it, as people do."""
        await self.question.fill(question)
        await self.question.press("Enter")

    async def ask(self, question: str) -> Locator:
        """Ask, and wait for the whole answer."""
        before = await self.turns.count()
        await self.send(question)
        turn = self.turns.nth(before)
        await expect(turn).to_have_attribute("aria-busy", "false")
        await expect(turn).to_be_in_viewport()
        return turn

    async def highlighted(self) -> list[str]:
        """Give what the chat has marked on the page, once all of it can be seen."""
        found = await self.page.wait_for_function(HIGHLIGHTED)
        marked: list[str] = await found.json_value()
        return marked

    async def select(self, words: str) -> None:
        """Select the paragraph that begins with the words, by three clicks as people do."""
        await self.page.get_by_text(words).click(click_count=3, position={"x": 8, "y": 8})

    async def picture(self, name: str) -> None:
        """Take a picture of a state."""
        SCREENSHOTS.mkdir(exist_ok=True)
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    async def look(self, name: str) -> None:
        """Take a picture of a state, and see that it keeps nobody out."""
        await self.picture(name)
        found = await violations(self.page)
        assert not found, "\n".join([name, *found])

    def _note(self, message: ConsoleMessage) -> None:
        # What the network refuses is told by the chat, and also by the browser.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.troubles.append(message.text)


async def violations(page: Page) -> list[str]:
    """Give what axe finds on a page, also inside of components."""
    await page.evaluate(AXE)
    found: dict[str, Any] = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


@asynccontextmanager
async def opened(browser: Browser, address: str, **looks: Any) -> AsyncIterator[Reader]:
    """Open an address in an empty browser; afterwards nothing may have gone wrong in it."""
    context = await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **looks})
    try:
        reader = Reader(await context.new_page())
        await reader.page.goto(address)
        yield reader
        assert not reader.troubles, "\n".join(reader.troubles)
    finally:
        await context.close()


@asynccontextmanager
async def hosted(
    browser: Browser, server: str, options: str = "", **looks: Any
) -> AsyncIterator[Reader]:
    """Open the chat on a page of the service's own origin that holds nothing else."""
    context = await browser.new_context(**looks)
    try:
        reader = Reader(await context.new_page())
        host = HOST.replace("OPTIONS", options)
        await reader.page.route(
            f"{server}/host", lambda route: route.fulfill(body=host, content_type="text/html")
        )
        await reader.page.goto(f"{server}/host")
        yield reader
        assert not reader.troubles, "\n".join(reader.troubles)
    finally:
        await context.close()
