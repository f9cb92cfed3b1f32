"""Split streamed answer text into pieces, and tell claims from boilerplate."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from citewell.text.plain_text import INVISIBLE, strip_inline_markup
from citewell.text.sentences import INLINE, Kind, Span, split_spans
from citewell.text.terms import words

_CITATION_NUMBERS = r"(?!0\s*[,;–-])\d{1,3}(?:\s*+(?:[,;&–-]|(?:,\s*+)?and)\s*+\d{1,3})*"
"""Citation numbers; `[0, 1]` is an interval, not a citation."""
_SOURCE_WORD = r"(?:see\s+)?(?:sources?|passages?|references?|refs?\.?|citations?)\s*:?\s*#?"
_CITATION_MARK = (
    rf"\s*(?:\[\s*(?:\^|{_SOURCE_WORD}\s*)?(?P<square>{_CITATION_NUMBERS})\s*\](?!\()"
    rf"|【\s*(?P<lens>{_CITATION_NUMBERS})[^】\n]{{0,20}}】"
    rf"|\(\s*{_SOURCE_WORD}\s*(?P<round>{_CITATION_NUMBERS})\s*\))"
)
_INLINE = re.compile(INLINE)
_ANY_MARK = re.sub(r"\?P<\w+>", "?:", _CITATION_MARK)
_LEADING_MARKS = re.compile(rf"(?:{_ANY_MARK})+", re.I)
_PARTIAL_MARK = re.compile(rf"(?:{_ANY_MARK})*\s*(?:[\[(【][^\])】]{{0,60}})?", re.I)
"""An incomplete citation mark, or the beginning of a link."""
_MARK_OR_CODE = re.compile(rf"{_INLINE.pattern}|{_CITATION_MARK}", re.I)
"""A citation mark, or code and math, where `ranges[0]` is no citation."""
_UNCLOSED = re.compile(r"`|\$(?=[^\n]*\Z)")
_ADMONITION_TITLE = re.compile(r"^[ \t]*(:{3,}[^\n]*\w[^\n]*?)[ \t]*$", re.M)
_BETWEEN_ROWS = re.compile(r"\s*(?:\|[-:| \t]*\s*)?")
_BLANK_LINE = re.compile(r"[ \t]*\n[ \t]*\n")
MAX_SENTENCE_CHARS = 4_000
"""Longer sentences are cut, since a looping model may never end one."""
EAGER_PARSE_CHARS = 500
"""Up to this buffer size, every delta is parsed; beyond it, parsing is less frequent."""


@dataclass(frozen=True, slots=True)
class QuotedSpan:
    """A span of a passage that a piece quotes."""

    number: int
    """Citation number of the passage."""
    start: int
    end: int
    of: Literal["text", "heading"] = "text"
    """For a heading, the offsets are ignored."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, list item, table or code block of an answer, with its citations."""

    lead: str
    """White space and list or quote markup before the text."""
    text: str
    """The text without citation marks."""
    cited: tuple[int, ...]
    """Citation numbers, as written by the model."""
    kind: Kind
    quoted_spans: tuple[QuotedSpan, ...] = ()
    """The spans that it quotes, if known."""
    is_answer: bool = False
    """Whether it answers the question, rather than give context."""
    is_own_text: bool = False
    """Whether it is a note by Citewell, rather than content of the book."""

    @property
    def is_block(self) -> bool:
        """Whether it is a code block, formula or table."""
        return self.kind in ("code", "row", "math")

    @property
    def separator(self) -> str:
        """What separates the text from its citation marks."""
        # Below a block in a list, an unindented mark would end the list.
        indent = self.lead.rpartition("\n")[2]
        return ("\n\n" + ("" if indent.strip() else indent)) if self.is_block else " "

    @property
    def needs_continuation(self) -> bool:
        """Whether it only introduces the following piece."""
        return self.kind == "heading" or self.text.rstrip("*_ ").endswith(":")


class PieceSplitter:
    """Splits a stream of text into pieces, each as soon as it is complete.

    The longer the buffer, the less often it is parsed, so that the total time stays linear.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._done = 0
        """Offset of the first character that belongs to no released piece."""
        self._next_parse = 0
        """Buffer size at which to parse again."""

    def feed(self, text: str) -> Iterator[Piece]:
        """Add text, and yield the pieces that are complete."""
        # Invisible characters could split a word or number.
        self._buffer += INVISIBLE.sub("", text)
        if len(self._buffer) < self._next_parse:
            return
        self._next_parse = len(self._buffer) + max(0, len(self._buffer) - EAGER_PARSE_CHARS) // 16
        open_from = _find_unclosed(self._buffer)
        spans = _merge_rows(self._buffer)
        is_prose = bool(spans) and spans[-1].kind in ("sentence", "item")
        overdue = is_prose and len(self._buffer) - self._done > MAX_SENTENCE_CHARS
        # The last span may continue, and the one before may still get a citation mark.
        for span in spans[:-1]:
            incomplete = span.end > open_from or _PARTIAL_MARK.fullmatch(self._buffer, span.end)
            if incomplete and not overdue:
                break
            yield from self._release(span)
        if _BLANK_LINE.match(self._buffer, self._done):
            # A blank line ends the block, so the text before it is no longer needed.
            self._discard_done()
        elif overdue:
            yield from self._cut(spans[-1])

    def _cut(self, overlong: Span) -> Iterator[Piece]:
        """Release the words of an overlong sentence."""
        start = max(self._done, overlong.start)
        if overlong.end - start <= MAX_SENTENCE_CHARS:
            return
        end = max(self._buffer.rfind(sign, start, overlong.end) for sign in " \n")
        yield from self._release(Span(start, end if end > start else overlong.end, overlong.kind))
        self._discard_done()

    def _discard_done(self) -> None:
        self._buffer, self._done, self._next_parse = self._buffer[self._done :], 0, 0

    def finish(self) -> Iterator[Piece]:
        """Yield the remaining pieces at the end of the text."""
        for span in _merge_rows(self._buffer):
            yield from self._release(span)
        self._buffer, self._done, self._next_parse = "", 0, 0

    def _release(self, span: Span) -> Iterator[Piece]:
        if span.start < self._done:
            return
        span_text = span.of(self._buffer)
        verbatim = span.kind in ("code", "math")
        lead = self._buffer[self._done : span.start]
        cited = _numbers(lead) + _numbers("" if verbatim else span_text)
        text = span_text if verbatim else _without_marks(span_text).strip()
        marks_after = _LEADING_MARKS.match(self._buffer, span.end)
        self._done = marks_after.end() if marks_after else span.end
        cited += _numbers(marks_after[0] if marks_after else "")
        yield Piece(_without_marks(lead), text, cited, span.kind)


def split_pieces(text: str) -> tuple[Piece, ...]:
    """Split a complete text into pieces."""
    splitter = PieceSplitter()
    return (*splitter.feed(text), *splitter.finish())


def _numbers(text: str) -> tuple[int, ...]:
    marks = (mark[mark.lastgroup] for mark in _MARK_OR_CODE.finditer(text) if mark.lastgroup)
    return tuple(int(number) for mark in marks for number in re.findall(r"\d+", mark))


def _without_marks(text: str) -> str:
    return _MARK_OR_CODE.sub(lambda match: "" if match.lastgroup else match[0], text)


def _find_unclosed(text: str) -> int:
    """Return the offset of unclosed inline code or math, in which a period ends no sentence."""
    block = text.rfind("\n\n") + 1
    blanked = _INLINE.sub(lambda match: " " * len(match[0]), text[block:])
    unclosed = _UNCLOSED.search(blanked)
    return block + unclosed.start() if unclosed else len(text)


def _merge_rows(text: str) -> list[Span]:
    """Join adjacent table rows, and drop spans that are only citation marks."""
    spans: list[Span] = []
    for span in _with_titles(text):
        if _LEADING_MARKS.fullmatch(span.of(text)):
            continue
        marks = _LEADING_MARKS.match(text, span.start)
        start = marks.end() if marks and marks.end() < span.end else span.start
        if _is_next_row(text, spans, span):
            spans[-1] = Span(spans[-1].start, span.end, "row")
        else:
            spans.append(Span(_skip_space(text, start), span.end, span.kind))
    return spans


def _with_titles(text: str) -> Iterator[Span]:
    """Yield the spans, with the titles of admonitions as headings."""
    offset = 0
    for span in (*split_spans(text), Span(len(text), len(text))):
        for title in _ADMONITION_TITLE.finditer(text, offset, span.start):
            yield Span(title.start(1), title.end(1), "heading")
        offset = span.end
        if span.start < span.end:
            yield span


def _is_next_row(text: str, spans: list[Span], span: Span) -> bool:
    if not spans or not span.kind == spans[-1].kind == "row":
        return False
    return _BETWEEN_ROWS.fullmatch(text, spans[-1].end, span.start) is not None


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


_HEDGE = re.compile(
    r"(?:(?:and|but|also|however|moreover|furthermore|additionally|in addition|in short|in summary"
    r"|in other words|to sum up|to summari[sz]e|overall|essentially|basically|put simply|simply put"
    r"|yes|sure|certainly|indeed|in fact|specifically|in particular|for example|for instance"
    r"|importantly|as far as i (?:know|can tell)|according to the (?:book|text|passages?|author)"
    r"|as the (?:book|text|author) (?:says|states|explains|notes|puts it))\s*[,:]\s+"
    r"|(?:i (?:think|believe|guess|suppose)|it (?:seems|appears)|note|remember|keep in mind"
    r"|the (?:book|text|passages?|author|chapter|section) (?:also )?"
    r"(?:says?|states?|explains?|notes?|mentions?|points out))"
    r"(?: that\s+|\s*[,:]\s+|\s+(?=[A-Z])))+",
    re.I,
)
_QUOTE_PREFIX = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_HEADING = re.compile(r"^(?:#{1,6}\s+|:{3,}[ \t]*\w*[ \t]*\[?)|(?:\s+#+|\])$")
_OPENING = re.compile(
    r"(?:here(?:'s|’s| is| are)|let(?:'s|’s| us| me)|below (?:is|are)|the following|see below"
    r"|i hope|to (?:sum up|summari[sz]e)|in (?:short|summary|other words|brief)"
    r"|for (?:example|instance))\b",
    re.I,
)
_CLAIM_SIGN = re.compile(r"[`$<>|\\\[\]{}=]|https?:|\d")
"""Code, formulas, links, images, HTML and numbers always make a claim."""
_PUNCTUATION = re.compile(r"[\s!-/:-@\[-`{-~…–—‘’“”«»·•]*")
_BOILERPLATE_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        a about above also an and another answer any anything are as at background be below brief
        book briefly by can caution chapter code conclusion consider could danger definition detail
        details do does else equation example examples explain explains explanation figure
        following follows for formula from further go good have help helpful helps here here's
        here’s hope how i idea ideas if important in info instance introduction is it its key know
        let let's let’s like list look main may me more need note notes of on or other our overview
        part parts passage passages please point points put question questions quote reason reasons
        say says section see shall short should show simply some source sources step steps sum
        summarise summarize summary table take tell text that the them these they this those tip to
        turn us want warning was way we what where which why will with word words work works would
        you your
        """,
    )
)


def statement_of(piece: Piece) -> str:
    """Return the statement of a piece, without hedges, connectives and block markup."""
    text = _QUOTE_PREFIX.sub("\n", piece.text)
    if piece.is_block:
        return text
    text = _HEADING.sub("", text) if piece.kind == "heading" else text
    hedge = _HEDGE.match(text)
    return text[hedge.end() : hedge.end() + 1].upper() + text[hedge.end() + 1 :] if hedge else text


def is_not_a_claim(piece: Piece, titles: Iterable[str]) -> bool:
    """Return whether a piece is boilerplate, which needs no proof.

    `titles` are the headings of the passages, which an answer may repeat.
    """
    if piece.is_block:
        return False
    if _PUNCTUATION.fullmatch(piece.text) and "](" not in piece.text:
        return True
    text_only = _HEADING.sub("", piece.text) if piece.kind == "heading" else piece.text
    plain_text = strip_inline_markup(_QUOTE_PREFIX.sub(" ", text_only))
    piece_words = [word.lower() for word in words(plain_text)]
    if piece.kind == "heading" and plain_text.casefold() in {title.casefold() for title in titles}:
        return True
    if _CLAIM_SIGN.search(text_only):
        return False
    content_words = [word for word in piece_words if word not in _BOILERPLATE_WORDS]
    if not content_words:
        return _is_boilerplate_form(piece, plain_text)
    is_opening = _OPENING.match(plain_text) is not None
    return is_opening and _is_title_mention(content_words, piece_words, titles)


def _is_boilerplate_form(piece: Piece, plain_text: str) -> bool:
    """Return whether a piece without content words states nothing; “It works.” states something."""
    if piece.kind == "heading" or plain_text.endswith(("?", ":")) or _OPENING.match(plain_text):
        return True
    return bool(re.fullmatch(r"(\*\*|__)[^*_.!?]+\1", piece.text))


def _is_title_mention(
    content_words: list[str], piece_words: list[str], titles: Iterable[str]
) -> bool:
    first = piece_words.index(content_words[0])
    if piece_words[first : first + len(content_words)] != content_words:
        return False
    phrase = f" {' '.join(content_words)} "
    return any(phrase in f" {' '.join(w.lower() for w in words(title))} " for title in titles)
