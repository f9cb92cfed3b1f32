"""Where sentences begin and end, by exact offsets into the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["sentence", "item", "row", "code", "math", "heading"]

_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|ca|approx|resp|a\.k\.a|Fig|Figs|Eq|Eqs|Sec|Ch|No|Nos|Vol|pp?"
    r"|Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Jr|Sr|Ref|Refs|Tab|App|Def|Thm|min|max|incl|est|Jan|Feb|Mar|Apr"
    r"|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z])\.$"
)
_END = re.compile(r"[.!?…]+[\"'”’)\]*_`]*(?:\[\^?[\w, -]+\])*(?=\s|$)")
_PROTECTED = re.compile(r"`+[^`]*`+|\$[^$\n]+\$|\]\([^)\s]*\)|https?://\S+")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
_ADMONITION = re.compile(r"^[ \t]*:{3,}")
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*$")
_LEAD = re.compile(r"[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text by its offsets, and what it is."""

    start: int
    end: int
    kind: Kind = "sentence"

    def of(self, text: str) -> str:
        """Cut this span out of the text it was made for."""
        return text[self.start : self.end]


@lru_cache(maxsize=4096)
def split_spans(text: str) -> tuple[Span, ...]:
    """Split Markdown into sentences, list items, table rows, code blocks and formulas.

    Spans are in order, do not overlap, and leave out only white space and markup between them.
    """
    return tuple(
        span for start, end, kind in _blocks(text) for span in _inside(text, start, end, kind)
    )


def split_sentences(text: str) -> tuple[str, ...]:
    """Give the sentences of running prose."""
    return tuple(span.of(text) for span in split_spans(text))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line)
        start += len(line)


def _blocks(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Walk the lines and give (start, end, kind) of each block."""
    fence = ""
    start: int | None = None
    kind: Kind = "sentence"
    for begin, end in _lines(text):
        line = text[begin:end].rstrip()
        opening = _FENCE.match(line)
        if fence:
            assert start is not None
            if opening and opening[1].startswith(fence) and line.strip() == opening[1]:
                yield start, begin + len(line), "code"
                fence, start = "", None
            continue
        found: Kind | None = _line_kind(line)
        starts_block = found != "sentence" or _ITEM.match(line) or opening
        if start is not None and kind == "math" and not line.strip().endswith("$$"):
            continue
        if start is not None and kind == "math":
            yield start, begin + len(line), "math"
            start = None
            continue
        if start is not None and (starts_block or not line.strip()):
            yield start, begin, kind
            start = None
        if opening:
            fence, start, kind = opening[1], begin, "code"
        elif found is None or not line.strip():
            continue
        elif found == "math" and (line.strip() == "$$" or not line.strip().endswith("$$")):
            start, kind = begin, "math"
        elif found in ("row", "math", "heading"):
            yield begin, begin + len(line), found
        elif start is None:
            start, kind = begin, "item" if _ITEM.match(line) else "sentence"
    if start is not None:
        yield start, len(text), "code" if fence else kind


def _line_kind(line: str) -> Kind | None:
    """Tell what a line is by itself; `None` for a line of pure markup."""
    stripped = line.strip()
    if _ADMONITION.match(line) or _RULE.match(line):
        return None
    if stripped.startswith("|"):
        return "row"
    if stripped.startswith("$$"):
        return "math"
    if stripped.startswith("#"):
        return "heading"
    return "sentence"


def _inside(text: str, start: int, end: int, kind: Kind) -> Iterator[Span]:
    if kind in ("code", "math", "row", "heading"):
        yield _trimmed(text, start, end, kind)
        return
    lead = _LEAD.match(text, start, end)
    if lead:
        start = lead.end()
    hidden = [(m.start(), m.end()) for m in _PROTECTED.finditer(text, start, end)]
    begin = start
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if any(a < match.start() < b for a, b in hidden):
            continue
        if match[0].startswith(".") and _ABBREVIATION.search(text, begin, match.start() + 1):
            continue
        following = text[stop:end].lstrip()
        if following and following[0].islower() and not following.startswith("http"):
            continue
        yield _trimmed(text, begin, stop, kind)
        begin = stop
    if text[begin:end].strip():
        yield _trimmed(text, begin, end, kind)


def _trimmed(text: str, start: int, end: int, kind: Kind) -> Span:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip())
    return Span(start + lead, start + len(piece.rstrip()), kind)
