"""Where sentences begin and end, by exact offsets into the text."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from citewell.text.memo import memoize_text

Kind = Literal["sentence", "item", "row", "code", "math", "heading"]

_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|ca|approx|resp|a\.k\.a|Fig|Figs|Eq|Eqs|Sec|Ch|No|Nos|Vol|pp?"
    r"|Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Jr|Sr|Ref|Refs|Tab|App|Def|Thm|min|max|incl|est|Jan|Feb|Mar|Apr"
    r"|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z])\.$"
)
_LONGEST_ABBREVIATION = 8
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_`]*+(?:\[\^?[\w, -]+\])*+(?=\s|$)")
_NEXT_WORD = re.compile(r"\s*+")
INLINE = r"(?<!`)(`++)[\s\S]+?(?<!`)\1(?!`)|\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d)"
"""Code and math within a line; code ends at as many backticks as began it."""
# An address ends where another begins: else each `](` would be read to the end of the text.
_PROTECTED = re.compile(
    rf"{INLINE}|\]\((?:[^)\s\]]|\](?!\())*+\)|https?://\S*[^\s.,;:!?…\"'”’)\]*_`]"
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
_NUMBER = re.compile(r"^[ \t]*(\d+)[.)][ \t]+")
_ADMONITION = re.compile(r"^[ \t]*:{3,}")
_RULE = re.compile(r"^[ \t]*+\|?[ \t]*+:?-{2,}+[-:| \t]*+$")
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


@memoize_text(4096)
def split_spans(text: str) -> tuple[Span, ...]:
    """Split Markdown into sentences, list items, table rows, code blocks and formulas.

    Spans are in order, do not overlap, and leave out only white space and markup between them.
    """
    return tuple(
        span
        for start, end, kind in _Blocks(text).walk()
        for span in _inside(text, start, end, kind)
    )


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of running prose."""
    return tuple(span.of(text) for span in split_spans(text))


class _Blocks:
    """Walks the lines of a text and gathers (start, end, kind) of each block."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[tuple[int, int, Kind]] = []
        self._start: int | None = None
        self._kind: Kind = "sentence"
        self._fence = ""
        self._column = 0

    def walk(self) -> list[tuple[int, int, Kind]]:
        begin = 0
        for whole in self._text.splitlines(keepends=True):
            line = whole.rstrip()
            if self._start is not None and self._kind in ("code", "math"):
                self._inside_fence(begin, line)
            else:
                self._outside(begin, line)
            begin += len(whole)
        self._close(len(self._text))
        return self._found

    def _inside_fence(self, begin: int, line: str) -> None:
        stripped = line.strip()
        if self._kind == "math":
            ended = stripped.endswith("$$")
        else:
            ended = stripped.startswith(self._fence) and set(stripped) == {self._fence[0]}
        if ended:
            self._close(begin + len(line))

    def _outside(self, begin: int, line: str) -> None:
        kind = "sentence" if self._goes_on(line) else _line_kind(line)
        if kind != "sentence":
            self._close(begin)
        if kind in ("row", "heading"):
            self._found.append((begin, begin + len(line), kind))
        elif kind == "code":
            self._open(begin, "code")
            self._fence = line.strip()[: len(line.strip()) - len(line.strip().lstrip("`~"))]
        elif kind == "math":
            self._open(begin, "math")
            if line.strip() != "$$" and line.strip().endswith("$$"):
                self._close(begin + len(line))
        elif kind is not None and self._start is None:
            self._open(begin, kind)
            item = _ITEM.match(line)
            self._column = item.end() if item else 0

    def _goes_on(self, line: str) -> bool:
        """Whether a line that only looks like an item, `1996. It`, goes on with its paragraph."""
        number = _NUMBER.match(line)
        if self._start is None or not number or number[1] == "1":
            return False
        return len(line) - len(line.lstrip()) >= self._column

    def _open(self, begin: int, kind: Kind) -> None:
        self._start, self._kind = begin, kind

    def _close(self, end: int) -> None:
        if self._start is not None:
            self._found.append((self._start, end, self._kind))
        self._start = None


def _line_kind(line: str) -> Kind | None:
    """Return what a line begins or is; `None` for an empty line or one of pure markup."""
    stripped = line.strip()
    if not stripped or _ADMONITION.match(line) or _RULE.match(line):
        return None
    if _FENCE.match(line):
        return "code"
    if stripped.startswith("$$"):
        return "math"
    if stripped.startswith("|"):
        return "row"
    if _HEADING.match(stripped):
        return "heading"
    return "item" if _ITEM.match(line) else "sentence"


def _inside(text: str, start: int, end: int, kind: Kind) -> Iterator[Span]:
    if kind in ("code", "math", "row", "heading"):
        yield _trimmed(text, start, end, kind)
        return
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    hidden = [m.span() for m in _PROTECTED.finditer(text, start, end)]
    begin = start
    for match in _END.finditer(text, start, end):
        stop = match.end()
        if _is_within(match.start(), hidden):
            continue
        if match[0].startswith(".") and _ends_short(text, begin, match.start() + 1):
            continue
        after = _NEXT_WORD.match(text, stop, end)
        at = after.end() if after else stop
        following = text[at : min(end, at + 4)]
        if following[:1].islower() and following != "http":
            continue
        yield _trimmed(text, begin, stop, kind)
        begin = stop
    if text[begin:end].strip():
        yield _trimmed(text, begin, end, kind)


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a place is inside of one of the spans, which are in order and do not overlap."""
    before = bisect_left(spans, (place, 0)) - 1
    return before >= 0 and place < spans[before][1]


def _ends_short(text: str, begin: int, end: int) -> bool:
    """Whether an abbreviation ends here; of the sentence, only its end is looked at."""
    return _ABBREVIATION.search(text, max(begin, end - _LONGEST_ABBREVIATION), end) is not None


def _trimmed(text: str, start: int, end: int, kind: Kind) -> Span:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip())
    return Span(start + lead, start + len(piece.rstrip()), kind)
