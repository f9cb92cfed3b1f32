"""An answer's text to the claims it makes, piece by piece as it arrives."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from citewell.text.plain_text import INVISIBLE, strip_inline_markup
from citewell.text.sentences import INLINE, Kind, Span, split_spans
from citewell.text.terms import words

_LIST = r"(?!0\s*[,;–-])\d{1,3}(?:\s*+(?:[,;&–-]|(?:,\s*+)?and)\s*+\d{1,3})*"
"""Numbers of passages; `[0, 1]` is an interval."""
_WORD = r"(?:see\s+)?(?:sources?|passages?|references?|refs?\.?|citations?)\s*:?\s*#?"
_MARKS = (
    rf"\s*(?:\[\s*(?:\^|{_WORD}\s*)?(?P<square>{_LIST})\s*\](?!\()"
    rf"|【\s*(?P<lens>{_LIST})[^】\n]{{0,20}}】"
    rf"|\(\s*{_WORD}\s*(?P<round>{_LIST})\s*\))"
)
_INLINE = re.compile(INLINE)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _MARKS)
_LEADING_MARKS = re.compile(rf"(?:{_UNNAMED})+", re.I)
_MARK_TO_COME = re.compile(rf"(?:{_UNNAMED})*\s*(?:[\[(【][^\])】]{{0,60}})?", re.I)
"""What may become a mark with the next word; also one that may yet turn out to be a link."""
_MARK = re.compile(rf"{_INLINE.pattern}|{_MARKS}", re.I)
"""A mark, or code and math, which are stepped over: `ranges[0]` names no passage."""
_OPEN = re.compile(r"`|\$(?=[^\n]*\Z)")
_TITLE = re.compile(r"^[ \t]*(:{3,}[^\n]*\w[^\n]*?)[ \t]*$", re.M)
_BETWEEN_ROWS = re.compile(r"\s*(?:\|[-:| \t]*\s*)?")
_BLANK_LINE = re.compile(r"[ \t]*\n[ \t]*\n")
MAX_SENTENCE_CHARS = 4_000
"""A sentence that has not ended after so many characters is cut: a model that loops ends none."""
EAGER_PARSE_CHARS = 500
"""Up to so many characters held, each word that comes may complete a piece at once."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A place of a passage that a piece was copied from."""

    number: int
    start: int
    end: int
    of: Literal["text", "heading"] = "text"
    """Of a heading, which is no part of the passage's text, the offsets are not looked at."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence, item, table or code block of an answer, with the passages it names."""

    lead: str
    """White space and markup of lists and quotes before the words; it says nothing itself."""
    text: str
    """The words, without marks."""
    marks: tuple[int, ...]
    kind: Kind
    quoted: tuple[Quoted, ...] = ()
    """Where it was copied from, if who wrote it says so."""
    answers: bool = False
    """Whether it is what answers, and was not only brought along by it."""
    ours: bool = False
    """Whether it is said by the service about the answer, and not about the book's subject."""

    @property
    def is_block(self) -> bool:
        """Whether it is code, a formula or a table, behind which nothing can stand on its line."""
        return self.kind in ("code", "row", "math")

    @property
    def glue(self) -> str:
        """What stands between its words and its marks."""
        # Below a block in a list, a mark at the margin would end the list.
        indent = self.lead.rpartition("\n")[2]
        return ("\n\n" + ("" if indent.strip() else indent)) if self.is_block else " "

    @property
    def needs_continuation(self) -> bool:
        """Whether it says nothing without what follows it."""
        return self.kind == "heading" or self.text.rstrip("*_ ").endswith(":")


class PieceSplitter:
    """Cuts a stream of text into pieces; a piece is given once nothing can be added to it.

    What is held is split again as it grows, the longer it is the less often, so that reading takes
    time in proportion to the text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._done = 0
        self._next = 0
        """How much has to be held before it is split again."""

    def feed(self, text: str) -> Iterator[Piece]:
        """Take more text and give the pieces it completes."""
        # What has no ink could part a word or a number that the reader sees whole.
        self._held += INVISIBLE.sub("", text)
        if len(self._held) < self._next:
            return
        self._next = len(self._held) + max(0, len(self._held) - EAGER_PARSE_CHARS) // 16
        open_from = _find_unclosed(self._held)
        spans = _merge_rows(self._held)
        is_prose = bool(spans) and spans[-1].kind in ("sentence", "item")
        overdue = is_prose and len(self._held) - self._done > MAX_SENTENCE_CHARS
        # The last span may go on, and the one before it may still get its mark.
        for span in spans[:-1]:
            goes_on = span.end > open_from or _MARK_TO_COME.fullmatch(self._held, span.end)
            if goes_on and not overdue:
                break
            yield from self._release(span)
        if _BLANK_LINE.match(self._held, self._done):
            # What follows is a block of its own: what came before says nothing about it.
            self._forget()
        elif overdue:
            yield from self._cut(spans[-1])

    def _cut(self, last: Span) -> Iterator[Piece]:
        """Yield the words of a sentence that is longer than any, so that no more of it is held."""
        start = max(self._done, last.start)
        if last.end - start <= MAX_SENTENCE_CHARS:
            return
        end = max(self._held.rfind(sign, start, last.end) for sign in " \n")
        yield from self._release(Span(start, end if end > start else last.end, last.kind))
        self._forget()

    def _forget(self) -> None:
        self._held, self._done, self._next = self._held[self._done :], 0, 0

    def finish(self) -> Iterator[Piece]:
        """Yield what is left at the end of the text."""
        for span in _merge_rows(self._held):
            yield from self._release(span)
        self._held, self._done, self._next = "", 0, 0

    def _release(self, span: Span) -> Iterator[Piece]:
        if span.start < self._done:
            return
        raw = span.of(self._held)
        verbatim = span.kind in ("code", "math")
        lead = self._held[self._done : span.start]
        marks = _numbers(lead) + _numbers("" if verbatim else raw)
        text = raw if verbatim else _without_marks(raw).strip()
        after = _LEADING_MARKS.match(self._held, span.end)
        self._done = after.end() if after else span.end
        marks += _numbers(after[0] if after else "")
        yield Piece(_without_marks(lead), text, marks, span.kind)


def split_pieces(text: str) -> tuple[Piece, ...]:
    """Cut a whole text into pieces."""
    reader = PieceSplitter()
    return (*reader.feed(text), *reader.finish())


def _numbers(text: str) -> tuple[int, ...]:
    """Return the passage numbers of every mark in the text."""
    marks = (mark[mark.lastgroup] for mark in _MARK.finditer(text) if mark.lastgroup)
    return tuple(int(number) for mark in marks for number in re.findall(r"\d+", mark))


def _without_marks(text: str) -> str:
    return _MARK.sub(lambda found: "" if found.lastgroup else found[0], text)


def _find_unclosed(text: str) -> int:
    """Return where inline code or math begins that has not ended: a period in it ends nothing."""
    block = text.rfind("\n\n") + 1
    closed = _INLINE.sub(lambda found: " " * len(found[0]), text[block:])
    found = _OPEN.search(closed)
    return block + found.start() if found else len(text)


def _merge_rows(text: str) -> list[Span]:
    """Join table rows that follow each other, and drop spans that are only marks."""
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
    """Yield the spans, and as a heading what an admonition's first line says besides them."""
    done = 0
    for span in (*split_spans(text), Span(len(text), len(text))):
        for title in _TITLE.finditer(text, done, span.start):
            yield Span(title.start(1), title.end(1), "heading")
        done = span.end
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
_QUOTED = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_HEADING = re.compile(r"^(?:#{1,6}\s+|:{3,}[ \t]*\w*[ \t]*\[?)|(?:\s+#+|\])$")
_OPENING = re.compile(
    r"(?:here(?:'s|’s| is| are)|let(?:'s|’s| us| me)|below (?:is|are)|the following|see below"
    r"|i hope|to (?:sum up|summari[sz]e)|in (?:short|summary|other words|brief)"
    r"|for (?:example|instance))\b",
    re.I,
)
_RICH = re.compile(r"[`$<>|\\\[\]{}=]|https?:|\d")
"""Code, formulas, links, images, HTML and numbers can always say something."""
_SILENT = re.compile(r"[\s!-/:-@\[-`{-~…–—‘’“”«»·•]*")
_WORDS = frozenset(
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
    """Return what a piece states, without hedges, connectives and the markup of its block."""
    text = _QUOTED.sub("\n", piece.text)
    if piece.is_block:
        return text
    text = _HEADING.sub("", text) if piece.kind == "heading" else text
    hedge = _HEDGE.match(text)
    return text[hedge.end() : hedge.end() + 1].upper() + text[hedge.end() + 1 :] if hedge else text


def is_not_a_claim(piece: Piece, titles: Iterable[str]) -> bool:
    """Whether a piece says nothing about the book: it may be shown unproven.

    `titles` are the book's own headings over the passages; an answer may use them as its own.
    """
    if piece.is_block:
        return False
    if _SILENT.fullmatch(piece.text) and "](" not in piece.text:
        return True
    bare = _HEADING.sub("", piece.text) if piece.kind == "heading" else piece.text
    plain = strip_inline_markup(_QUOTED.sub(" ", bare))
    spoken = [word.lower() for word in words(plain)]
    if piece.kind == "heading" and plain.casefold() in {title.casefold() for title in titles}:
        return True
    if _RICH.search(bare):
        return False
    named = [word for word in spoken if word not in _WORDS]
    if not named:
        return _has_empty_form(piece, plain)
    return bool(_OPENING.match(plain)) and _stand_in_a_title(named, spoken, titles)


def _has_empty_form(piece: Piece, plain: str) -> bool:
    """Whether words that name nothing also state nothing: “It works.” answers a question."""
    if piece.kind == "heading" or plain.endswith(("?", ":")) or _OPENING.match(plain):
        return True
    return bool(re.fullmatch(r"(\*\*|__)[^*_.!?]+\1", piece.text))


def _stand_in_a_title(named: list[str], spoken: list[str], titles: Iterable[str]) -> bool:
    first = spoken.index(named[0])
    if spoken[first : first + len(named)] != named:
        return False
    phrase = f" {' '.join(named)} "
    return any(phrase in f" {' '.join(w.lower() for w in words(title))} " for title in titles)
