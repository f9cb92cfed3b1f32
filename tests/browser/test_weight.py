"""What the chat costs a page: bytes, the time until it can be used, and work while it streams."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.reader import hosted
from tests.browser.services import Script, scripted_service
from tests.servers import build_services

WORDS = 2000
BYTES, WORK_MS, TASK_MS = 64_000, 500, 50
Say = Callable[[str], None]
TRACED = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
USABLE = """async () => {
  await customElements.whenDefined("citewell-chat");
  const chat = document.querySelector("citewell-chat");
  await chat.updateComplete;
  chat.shadowRoot.querySelector("button").getBoundingClientRect();
  return performance.now();
}"""


def long_answer() -> tuple[str, ...]:
    """Two thousand words with all that an answer can have, a sentence at a time."""
    prose = (
        "The lens gathers the light of the lamp and throws it far over the sea, **every** night. "
    )
    others = (
        "\n\n- one `ring` of glass\n- two rings, and [a link](https://book.example/page)\n\n",
        "\n\n| ring | glass |\n| --- | --- |\n| 1 | 2 kg |\n\n",
        "\n\n```python\ndef lens(rings):\n    return [ring.glass for ring in rings]\n```\n\n",
    )
    sentences = [
        others[number // 20 % 3] if number % 20 == 19 else prose
        for number in range(WORDS // len(prose.split()) + 20)
    ]
    return tuple(sentences)


@pytest.fixture
def answer() -> Script:
    pieces = long_answer()
    assert sum(len(piece.split()) for piece in pieces) >= WORDS
    # A model's pace, in bursts: the page gets to paint in between.
    return Script(pieces, lambda _: asyncio.sleep(0.01))


async def test_a_page_pays_little_for_the_chat(
    chromium: Browser, tiny_copy: Path, answer: Script, tmp_path: Path, say: Say
) -> None:
    trace = tmp_path / "trace.json"
    async with (
        scripted_service(build_services(tiny_copy), answer) as address,
        hosted(chromium, address) as reader,
    ):
        session = await reader.page.context.new_cdp_session(reader.page)
        sizes: list[float] = []
        session.on("Network.loadingFinished", lambda one: sizes.append(one["encodedDataLength"]))
        await session.send("Network.enable")
        await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        await chromium.start_tracing(page=reader.page, path=trace, categories=TRACED)
        await reader.page.reload()
        ready: float = await reader.page.evaluate(USABLE)
        await chromium.stop_tracing()
        await expect(reader.launcher).to_be_visible()

    work, bytes_sent = sum(tasks(trace)), sum(sizes)
    say(
        f"a page with nothing but the chat transfers {bytes_sent:,.0f} bytes; "
        f"the chat can be used after {ready:.0f} ms, {work:.0f} ms of them work"
    )
    assert 10_000 < bytes_sent <= BYTES
    assert work <= WORK_MS


async def test_no_frame_is_late_while_a_long_answer_streams(
    chromium: Browser, tiny_copy: Path, answer: Script, tmp_path: Path, say: Say
) -> None:
    trace = tmp_path / "trace.json"
    async with (
        scripted_service(build_services(tiny_copy), answer) as address,
        hosted(chromium, address) as reader,
    ):
        await reader.open()
        await chromium.start_tracing(page=reader.page, path=trace, categories=TRACED)
        turn = await reader.ask("What is a lens?")
        await chromium.stop_tracing()
        shown = len((await turn.inner_text()).split())

    longest = max(tasks(trace))
    say(f"{shown:,} words streamed; the longest task took {longest:.1f} ms")
    assert shown >= WORDS
    assert longest <= TASK_MS


def tasks(trace: Path) -> list[float]:
    """Return the milliseconds of work in each task of the page's own thread.

    Counted is the time on the processor: what else a busy machine does is not the page's fault.
    """
    events: list[dict[str, Any]] = json.loads(trace.read_text("utf-8"))["traceEvents"]
    threads = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    return [
        one["tdur"] / 1000
        for one in events
        if one["name"] == "RunTask" and (one["pid"], one["tid"]) in threads and "tdur" in one
    ]
