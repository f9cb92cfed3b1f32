"""Replaces values that differ between runs by placeholders."""

import json
import re
from collections.abc import Mapping
from typing import Any

DIGITS = 4
"""Digits to which floats are compared, because the order of additions affects the last."""

# Ids of version 5 are worked out from what they name, and stay.
_ID = re.compile(
    r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[1467][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|call_[0-9a-f]{32})\b"
)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")
_PLAIN = (
    (_TIME, "<time>"),
    (re.compile(r"\breq_[0-9a-f]{32}\b"), "<request>"),
    (re.compile(r"\bkey_[0-9a-f]{12}\b"), "<key>"),
    (re.compile(r"\bcw_(pub_)?[\w-]{43}"), r"<secret \1>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
)
_MEASURED = re.compile(
    r"(_ms|_seconds|^seconds|[rR]esponse_?[tT]ime|^created|^bytes|^x-request-id|^date)$"
)
_CONSOLE = re.compile(r"\b\d[\d.,]*(?= (?:MB|GB free|ms|s\.|seconds)(?:\W|$))")


class Normal:
    """Replaces what differs between runs; the same id gets the same placeholder each time."""

    def __init__(self, places: Mapping[str, str] | None = None, *, measured: bool = True) -> None:
        """Replace the paths and ids of `places` by their names; durations only if `measured`."""
        self._places = sorted((places or {}).items(), key=lambda place: -len(place[0]))
        self._ids: dict[str, str] = {}
        self._measured = measured

    def text(self, text: str) -> str:
        """Return a text with placeholders."""
        for path, name in self._places:
            text = text.replace(path, name)
        for pattern, placeholder in _PLAIN:
            text = pattern.sub(placeholder, text)
        return _ID.sub(self._numbered, text)

    def console(self, text: str) -> list[str]:
        """Return the lines of a command's output, with durations and sizes replaced."""
        return [_CONSOLE.sub("<n>", line).rstrip() for line in self.text(text).splitlines()]

    def value(self, value: Any, key: str = "") -> Any:
        """Return JSON with placeholders, keys in order."""
        if isinstance(value, dict):
            named = {self.text(str(name)): item for name, item in value.items()}
            return {name: self.value(named[name], name) for name in sorted(named)}
        if isinstance(value, list | tuple):
            return [self.value(item, key) for item in value]
        if value is not None and self._measured and _MEASURED.search(key):
            return "<measured>"
        if isinstance(value, float):
            return round(value, DIGITS)
        return self.text(value) if isinstance(value, str) else value

    def record(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record with placeholders."""
        return dict(self.value(dict(found)))

    def _numbered(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"<id-{len(self._ids) + 1}>")


def unwrapped(text: str) -> list[str]:
    """Return the lines of a help text without wrapping, which depends on the length of names."""
    lines: list[str] = []
    listing = False
    for line in text.splitlines():
        bare = " ".join(line.split())
        indent = len(line) - len(line.lstrip())
        listing = bare.endswith(":") if bare and not indent else listing
        # Entries of a list are indented by two, what continues them by more.
        if bare and lines and lines[-1] and indent > (2 if listing else 1):
            lines[-1] += bare if lines[-1].endswith("-") else f" {bare}"
        else:
            lines.append(bare)
    return [line for line in lines if line]


def events(text: str) -> list[dict[str, Any]]:
    """Return server-sent events with parsed data, without comments."""
    found = []
    for block in re.split(r"\n\n+", text.replace("\r\n", "\n").strip()):
        pairs = (line.partition(":") for line in block.split("\n") if not line.startswith(":"))
        event: dict[str, Any] = {name: said.removeprefix(" ") for name, _, said in pairs}
        if event:
            found.append(event | {"data": read(str(event.get("data", "")))})
    return found


def read(text: str) -> Any:
    """Parse a text as JSON; return the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
