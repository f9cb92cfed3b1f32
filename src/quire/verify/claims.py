"""An answer's text to the claims it makes, piece by piece as it arrives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quire.prose.plain import inline_plain
from quire.prose.sentences import Kind, Span, split_spans
from quire.prose.terms import terms

_MARK = re.compile(r"\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_LEADING_MARKS = re.compile(rf"(?:{_MARK.pattern})+")


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence, item, table or code block of an answer, with the passages it names."""

    lead: str
    """White space and list markup before the words."""
    text: str
    """The words, without marks."""
    marks: tuple[int, ...]
    kind: Kind

    @property
    def is_claim(self) -> bool:
        """Whether it states something that can be true or false."""
        if self.kind in ("heading",):
            return False
        words = inline_plain(self.text)
        return not words.endswith("?") and len(set(terms(words))) > 0


class PieceReader:
    """Cuts a stream of text into pieces; a piece is given once nothing can be added to it."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> Iterator[Piece]:
        """Take more text and give the pieces it completes."""
        self._held += text
        spans = _joined(self._held)
        # The last span may go on, and the one before it may still get its mark.
        yield from self._release(spans[:-1])

    def finish(self) -> Iterator[Piece]:
        """Give what is left at the end of the text."""
        yield from self._release(_joined(self._held))
        self._held = ""

    def _release(self, spans: list[Span]) -> Iterator[Piece]:
        done = 0
        for span in spans:
            raw = span.of(self._held)
            marks = tuple(
                int(number)
                for found in _MARK.finditer(raw if span.kind != "code" else "")
                for number in re.split(r"\D+", found[1])
            )
            text = raw if span.kind == "code" else _MARK.sub("", raw).strip()
            end, after = _marks_after(self._held, span.end)
            yield Piece(self._held[done : span.start], text, marks + after, span.kind)
            done = end
        self._held = self._held[done:]


def split_pieces(text: str) -> tuple[Piece, ...]:
    """Cut a whole text into pieces."""
    reader = PieceReader()
    return (*reader.feed(text), *reader.finish())


def _marks_after(text: str, end: int) -> tuple[int, tuple[int, ...]]:
    found = _LEADING_MARKS.match(text, end)
    if not found:
        return end, ()
    numbers = tuple(int(n) for m in _MARK.finditer(found[0]) for n in re.split(r"\D+", m[1]))
    return found.end(), numbers


def _joined(text: str) -> list[Span]:
    """Join table rows that follow each other, and drop spans that are only marks."""
    spans: list[Span] = []
    for span in split_spans(text):
        if _LEADING_MARKS.fullmatch(span.of(text)):
            continue
        marks = _LEADING_MARKS.match(text, span.start)
        start = marks.end() if marks and marks.end() < span.end else span.start
        if spans and span.kind == spans[-1].kind == "row":
            spans[-1] = Span(spans[-1].start, span.end, "row")
        else:
            spans.append(Span(_skip_space(text, start), span.end, span.kind))
    return spans


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start
