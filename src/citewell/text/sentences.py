"""Split Markdown into sentences and other spans, by offsets into the text."""

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
_MAX_ABBREVIATION_CHARS = 8
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_`]*+(?:\[\^?[\w, -]+\])*+(?=\s|$)")
_WHITE_SPACE = re.compile(r"\s*+")
INLINE = r"(?<!`)(`++)[\s\S]+?(?<!`)\1(?!`)|\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d)"
"""Inline code and math."""
# A link target ends where another begins: scanning each `](` to the end takes quadratic time.
_NO_SENTENCE_END = re.compile(
    rf"{INLINE}|\]\((?:[^)\s\]]|\](?!\())*+\)|https?://\S*[^\s.,;:!?…\"'”’)\]*_`]"
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
_NUMBER = re.compile(r"^[ \t]*(\d+)[.)][ \t]+")
_ADMONITION = re.compile(r"^[ \t]*:{3,}")
_TABLE_RULE = re.compile(r"^[ \t]*+\|?[ \t]*+:?-{2,}+[-:| \t]*+$")
_BLOCK_PREFIX = re.compile(r"[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a text, and what it is."""

    start: int
    end: int
    kind: Kind = "sentence"

    def of(self, text: str) -> str:
        """Return the text of this span."""
        return text[self.start : self.end]


@memoize_text(4096)
def split_spans(text: str) -> tuple[Span, ...]:
    """Split Markdown into sentences, list items, table rows, code blocks and formulas.

    Spans are in order and do not overlap; only white space and markup are between them.
    """
    return tuple(
        span
        for start, end, kind in _BlockScanner(text).scan()
        for span in _split_block(text, start, end, kind)
    )


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text."""
    return tuple(span.of(text) for span in split_spans(text))


class _BlockScanner:
    """Scans the lines of a text for blocks, as (start, end, kind)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[tuple[int, int, Kind]] = []
        self._start: int | None = None
        self._kind: Kind = "sentence"
        self._fence = ""
        self._column = 0

    def scan(self) -> list[tuple[int, int, Kind]]:
        start = 0
        for full_line in self._text.splitlines(keepends=True):
            line = full_line.rstrip()
            if self._start is not None and self._kind in ("code", "math"):
                self._scan_fenced_line(start, line)
            else:
                self._scan_text_line(start, line)
            start += len(full_line)
        self._close_block(len(self._text))
        return self._blocks

    def _scan_fenced_line(self, start: int, line: str) -> None:
        stripped = line.strip()
        if self._kind == "math":
            is_end = stripped.endswith("$$")
        else:
            is_end = stripped.startswith(self._fence) and set(stripped) == {self._fence[0]}
        if is_end:
            self._close_block(start + len(line))

    def _scan_text_line(self, start: int, line: str) -> None:
        kind = "sentence" if self._continues_paragraph(line) else _line_kind(line)
        if kind != "sentence":
            self._close_block(start)
        if kind in ("row", "heading"):
            self._blocks.append((start, start + len(line), kind))
        elif kind == "code":
            self._open_block(start, "code")
            self._fence = line.strip()[: len(line.strip()) - len(line.strip().lstrip("`~"))]
        elif kind == "math":
            self._open_block(start, "math")
            if line.strip() != "$$" and line.strip().endswith("$$"):
                self._close_block(start + len(line))
        elif kind is not None and self._start is None:
            self._open_block(start, kind)
            item = _ITEM.match(line)
            self._column = item.end() if item else 0

    def _continues_paragraph(self, line: str) -> bool:
        """Return whether a line that looks like a list item, `1996. It`, continues a paragraph."""
        number = _NUMBER.match(line)
        if self._start is None or not number or number[1] == "1":
            return False
        return len(line) - len(line.lstrip()) >= self._column

    def _open_block(self, start: int, kind: Kind) -> None:
        self._start, self._kind = start, kind

    def _close_block(self, end: int) -> None:
        if self._start is not None:
            self._blocks.append((self._start, end, self._kind))
        self._start = None


def _line_kind(line: str) -> Kind | None:
    """Return the kind of block that a line starts; `None` for blank lines and pure markup."""
    stripped = line.strip()
    if not stripped or _ADMONITION.match(line) or _TABLE_RULE.match(line):
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


def _split_block(text: str, start: int, end: int, kind: Kind) -> Iterator[Span]:
    if kind in ("code", "math", "row", "heading"):
        yield _stripped_span(text, start, end, kind)
        return
    prefix = _BLOCK_PREFIX.match(text, start, end)
    start = prefix.end() if prefix else start
    protected = [m.span() for m in _NO_SENTENCE_END.finditer(text, start, end)]
    for match in _SENTENCE_END.finditer(text, start, end):
        stop = match.end()
        if _is_within(match.start(), protected):
            continue
        if match[0].startswith(".") and _ends_with_abbreviation(text, start, match.start() + 1):
            continue
        space = _WHITE_SPACE.match(text, stop, end)
        next_word = space.end() if space else stop
        following = text[next_word : min(end, next_word + 4)]
        if following[:1].islower() and following != "http":
            continue
        yield _stripped_span(text, start, stop, kind)
        start = stop
    if text[start:end].strip():
        yield _stripped_span(text, start, end, kind)


def _is_within(offset: int, spans: list[tuple[int, int]]) -> bool:
    """Return whether an offset is in one of the spans, which are in order and do not overlap."""
    previous = bisect_left(spans, (offset, 0)) - 1
    return previous >= 0 and offset < spans[previous][1]


def _ends_with_abbreviation(text: str, start: int, end: int) -> bool:
    return _ABBREVIATION.search(text, max(start, end - _MAX_ABBREVIATION_CHARS), end) is not None


def _stripped_span(text: str, start: int, end: int, kind: Kind) -> Span:
    chars = text[start:end]
    return Span(start + len(chars) - len(chars.lstrip()), start + len(chars.rstrip()), kind)
