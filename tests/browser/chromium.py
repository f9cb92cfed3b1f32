"""Chromium over its own protocol, to read back what it highlights on a page."""

import base64
import io
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from PIL import Image
from websockets.sync.client import ClientConnection, connect

WIDTH, HEIGHT = 1200, 1600
SIGNAL = (255, 0, 255)
# Highlights are not told to scripts. Painted over in one colour, they show in a screenshot, and
# each letter of the page whose middle has that colour is a highlighted one.
PAINT = f"""
  const style = document.createElement("style"), colour = "rgb{SIGNAL} !important";
  style.textContent = `::target-text {{ background: ${{colour}}; color: ${{colour}} }}`;
  document.head.append(style);
"""
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


class Chromium:
    """A running browser; every address is opened in a tab of its own, as by a click on a link."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0

    def highlighted(self, url: str, *, scripts: bool) -> Highlight:
        """Open an address and give what its text fragment highlights, with or without scripts."""
        tab = self._call("Target.createTarget", url="about:blank")["targetId"]
        session = self._call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        self._call(
            "Emulation.setDeviceMetricsOverride",
            session,
            width=WIDTH,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._call("Emulation.setScriptExecutionDisabled", session, value=not scripts)
        self._call("Page.navigate", session, url=url)
        self._when_loaded(session)
        self._evaluate(session, PAINT)
        try:
            return self._settled(session)
        finally:
            self._call("Target.closeTarget", targetId=tab)

    def _when_loaded(self, session: str) -> None:
        until = monotonic() + 30
        # The empty page, which a new tab shows first, is complete at once.
        arrived = "location.href !== 'about:blank' && document.readyState === 'complete'"
        while not self._evaluate(session, arrived):
            assert monotonic() < until, "the page does not load"
            sleep(0.05)

    def _settled(self, session: str) -> Highlight:
        """Wait until two looks agree; a page without a highlight gets eight seconds for one."""
        until = monotonic() + 8
        seen = Highlight("", "")
        while True:
            last, seen = seen, self._look(session)
            if (seen.text and seen == last) or (not seen.text and monotonic() > until):
                return seen
            sleep(0.2)

    def _look(self, session: str) -> Highlight:
        shot = self._call("Page.captureScreenshot", session)["data"]
        image = Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")
        lit = [
            (letter, heading)
            for letter, x, y, heading in self._evaluate(session, LETTERS)
            if image.getpixel((int(x), int(y))) == SIGNAL
        ]
        return Highlight("".join(letter for letter, _ in lit), lit[0][1] if lit else "")

    def _evaluate(self, session: str, script: str) -> Any:
        result = self._call("Runtime.evaluate", session, expression=script, returnByValue=True)
        return result["result"].get("value")

    def _call(self, method: str, session: str | None = None, **params: object) -> Any:
        self._sent += 1
        to = {"sessionId": session} if session else {}
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params} | to))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                return answer["result"]


@contextmanager
def running(program: str, profile: Path) -> Iterator[Chromium]:
    """Start the browser with an empty profile, and end it."""
    options = ("--headless", "--no-sandbox", "--remote-debugging-port=0", "--hide-scrollbars")
    command = [program, *options, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            lines = (re.search(r"ws://\S+", line) for line in process.stderr)
            address = next(filter(None, lines))[0]
            with connect(address, max_size=None) as socket:
                yield Chromium(socket)
        finally:
            process.terminate()
