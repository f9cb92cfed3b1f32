"""Answers that try to do harm, shown by the real browser on a page without any policy."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, expect

from tests.browser.reader import Reader, hosted
from tests.browser.services import Script, scripted_service
from tests.servers import build_services

CORPUS = Path(__file__).parents[2] / "widget" / "test" / "hostile.json"
AFTER = "\n\nThis is the end."
ALLOWED = (
    "a b blockquote br code div em hr i li ol p pre s span strong table tbody td th thead tr ul"
)
HARM = """(allowed) => {
  const answer = document.querySelector("citewell-chat").shadowRoot.querySelector("[part=answer]");
  // Buttons that copy code are the chat's own.
  const all = [...answer.querySelectorAll("*")].filter((one) => !one.closest(".code button"));
  const prose = all.filter((one) => !one.closest("math, .katex-error"));
  const links = all.filter((one) => one.localName === "a");
  return {
    hacked: "hacked" in window,
    page: document.body.children.length,
    tags: prose.map((one) => one.localName).filter((name) => !allowed.split(" ").includes(name)),
    handlers: all.flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith("on")),
    styled: prose.filter((one) => one.hasAttribute("style")).map((one) => one.outerHTML),
    links: links.map((one) => one.href).filter((href) => !/^https?:[/][/][^@]*$/.test(href)),
    outside: answer.scrollWidth > answer.clientWidth + 1,
  };
}"""
HARMLESS = {
    "hacked": False,
    "page": 3,
    "tags": [],
    "handlers": [],
    "styled": [],
    "links": [],
    "outside": False,
}


def hostile() -> dict[str, str]:
    """Return the answers by their names."""
    found: list[dict[str, Any]] = json.loads(CORPUS.read_text("utf-8"))
    return {one["name"]: one.get("answer") or one["repeat"][0] * one["repeat"][1] for one in found}


async def test_no_answer_can_do_more_than_be_read(chromium: Browser, tiny_copy: Path) -> None:
    answers = hostile()
    assert len(answers) >= 40
    elsewhere: list[str] = []

    def script(question: str) -> Script:
        return Script((answers[question], AFTER))

    async with (
        scripted_service(build_services(tiny_copy), script) as address,
        hosted(chromium, address) as reader,
    ):
        host = urlsplit(address).netloc
        reader.page.on(
            "request", lambda one: urlsplit(one.url).netloc == host or elsewhere.append(one.url)
        )
        await reader.open()
        for name in answers:
            await see(reader, name)
        assert elsewhere == []
        assert reader.page.url == f"{address}/host"


async def see(reader: Reader, name: str) -> None:
    """Show one answer in a conversation of its own, and see that it did nothing."""
    turn = await reader.ask(name)

    await expect(turn).to_contain_text("This is the end.")
    assert await reader.page.evaluate(HARM, ALLOWED) == HARMLESS, name
    if name in ("a style attribute", "text that is turned around", "broken Markdown"):
        await reader.look(f"hostile-{name.replace(' ', '-')}")
    await reader.button("New conversation").click()
    await expect(reader.turns).to_have_count(0)
