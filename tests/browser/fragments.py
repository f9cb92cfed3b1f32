"""What the browser itself highlights when an address with a text fragment is opened."""

import asyncio
import io
from dataclasses import dataclass
from time import monotonic

from PIL import Image
from playwright.async_api import Browser, Page

SIZE = {"width": 1200, "height": 1600}
SIGNAL = (255, 0, 255)
# Highlights are not told to scripts. Painted over in one colour, they show in a screenshot, and
# each letter of the page whose middle has that colour is a highlighted one.
PAINT = f"::target-text {{ background: rgb{SIGNAL} !important; color: rgb{SIGNAL} !important }}"
LETTERS = """
(() => {
  const letters = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, 1 | 4);  // elements and text
  let heading = "";
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (/^H[1-6]$/.test(node.tagName)) heading = node.id;
      continue;
    }
    if (node.parentElement.closest(".katex") || !node.parentElement.checkVisibility()) continue;
    for (let at = 0; at < node.length; at++) {
      if (/[\\s\\u200b]/.test(node.data[at])) continue;
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const box = range.getClientRects()[0];
      if (!box) continue;
      const x = box.x + box.width / 2, y = box.y + box.height / 2;
      if (x >= 0 && x < innerWidth && y >= 0 && y < innerHeight)
        letters.push([node.data[at], x, y, heading]);
    }
  }
  return letters;
})()
"""


@dataclass(frozen=True, slots=True)
class Highlight:
    """What is highlighted, without white space and formulas, and the id of the heading above it."""

    text: str
    heading: str


async def highlighted(browser: Browser, url: str, *, scripts: bool) -> Highlight:
    """Open an address and give what its text fragment highlights, with or without scripts."""
    page = await browser.new_page(viewport=SIZE, java_script_enabled=scripts)
    try:
        await page.goto(url)
        await page.add_style_tag(content=PAINT)
        return await _settled(page)
    finally:
        await page.close()


async def _settled(page: Page) -> Highlight:
    """Wait until two looks agree; a page without a highlight gets eight seconds for one."""
    until = monotonic() + 8
    seen = Highlight("", "")
    while True:
        last, seen = seen, await _look(page)
        if (seen.text and seen == last) or (not seen.text and monotonic() > until):
            return seen
        await asyncio.sleep(0.2)


async def _look(page: Page) -> Highlight:
    image = Image.open(io.BytesIO(await page.screenshot())).convert("RGB")
    lit = [
        (letter, heading)
        for letter, x, y, heading in await page.evaluate(LETTERS)
        if image.getpixel((int(x), int(y))) == SIGNAL
    ]
    return Highlight("".join(letter for letter, _ in lit), lit[0][1] if lit else "")
