"""What one page of the built site shows, as far as its source tells, and what is found in it."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.domain import Chunk
from quire.prose.rendered import BREAK, HIDDEN, WALL, Rendered, render

# Scripts without spaces are cut where their clauses end; where their words do, takes a dictionary.
_WORD = re.compile(rf"[^\s{HIDDEN}。！？、，；：]+[。！？、，；：」』）】]*|[。！？、，；：]+")
_JOINING = frozenset(".,:;'’·_‿")
"""Between two letters or digits, these make one word of them."""
_NEAR = 300
"""How far to look for words around; longer ones than fit in are of no use."""


class Span(NamedTuple):
    """A stretch of the page's text."""

    start: int
    end: int


class _Folding(dict[int, str]):
    """Letters without case and accents, one for one, as browsers compare them."""

    def __missing__(self, code: int) -> str:
        bare = unicodedata.normalize("NFKD", chr(code))[0].casefold()[:1]
        self[code] = bare
        return bare


_FOLDING = _Folding({ord(sign): "'" for sign in "‘’‚"} | {ord(sign): '"' for sign in "“”„"})


class PageText:
    """The text of a page, block by block under its headings."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Lay out the passages of one page, which are in order."""
        self._placed: dict[str, tuple[int, Rendered]] = {}
        # Menus and lists of contents repeat the headings, before the text or after it.
        headings = dict.fromkeys(heading for chunk in chunks for heading in chunk.path)
        parts = [f"{heading}{WALL}" for heading in headings]
        size = sum(map(len, parts))
        before: Chunk | None = None
        for chunk in chunks:
            # Sites add a sign to their headings, so that what follows does not touch them.
            lead = BREAK + "".join(f"{heading}{WALL}" for heading in _headings(before, chunk))
            shown = render(chunk.text)
            self._placed[chunk.id] = (size + len(lead), shown)
            parts += (lead, shown.text)
            size += len(lead) + len(shown.text)
            before = chunk
        self.text = "".join(parts)
        self._folded = self.text.translate(_FOLDING)

    def span(self, chunk_id: str, start: int, end: int) -> Span:
        """Give where the words stand that a chunk has from `start` to `end`."""
        base, shown = self._placed[chunk_id]
        first, last = bisect_left(shown.places, start), bisect_left(shown.places, end)
        return Span(base + first, base + last)

    def says(self, words: Span) -> bool:
        """Tell whether there is more than punctuation."""
        return any(map(str.isalnum, self.text[words.start : words.end]))

    def touches(self, first: Span, second: Span) -> bool:
        """Tell whether two stretches stand in one block, with nothing but space between them."""
        between = self.text[first.end : second.start]
        return BREAK not in between and not between.strip()

    def runs(self, start: int, end: int) -> list[list[Span]]:
        """Give the words that can be looked for, those together that stand together."""
        runs: list[list[Span]] = []
        for found in _WORD.finditer(self.text, start, end):
            word = Span(*found.span())
            if not (self._bounded(word.start) and self._bounded(word.end)):
                continue
            if runs and self.touches(runs[-1][-1], word):
                runs[-1].append(word)
            else:
                runs.append([word])
        return runs

    def words_before(self, place: int) -> list[Span]:
        """Give the last words of a block that nothing shown divides from `place`."""
        stop = self._skip_back(place)
        edge = max(self.text.rfind(BREAK, 0, stop), self.text.rfind(HIDDEN, 0, stop)) + 1
        runs = self.runs(max(edge, stop - _NEAR), stop)
        return runs[-1] if runs and runs[-1][-1].end == stop else []

    def words_after(self, place: int) -> list[Span]:
        """Give the first words of a block that nothing shown divides from `place`."""
        start = self._skip(place)
        runs = self.runs(start, min(len(self.text), start + _NEAR))
        return runs[0] if runs and runs[0][0].start == start else []

    def find(self, words: Span, prefix: Span | None, suffix: Span | None) -> Iterator[int]:
        """Give every place where such words begin, with such words right before and after them."""
        sought, before, after = map(self._folding, (words, prefix, suffix))
        place = self._folded.find(sought)
        while place >= 0:
            stop = place + len(sought)
            if self._is_before(before, place) and self._is_after(after, stop):
                yield place
            place = self._folded.find(sought, place + 1)

    def find_end(self, words: Span, start: int, suffix: Span | None) -> int:
        """Give where the first such words behind `start` end, with such words right after them."""
        sought, after = self._folding(words), self._folding(suffix)
        place = self._folded.find(sought, start)
        while place >= 0 and not self._is_after(after, place + len(sought)):
            place = self._folded.find(sought, place + 1)
        return place + len(sought)

    def _folding(self, words: Span | None) -> str:
        return self._folded[words.start : words.end] if words else ""

    def _is_before(self, words: str, place: int) -> bool:
        return not words or self._folded.endswith(words, 0, self._skip_back(place))

    def _is_after(self, words: str, place: int) -> bool:
        return not words or self._folded.startswith(words, self._skip(place))

    def _skip(self, place: int) -> int:
        while place < len(self.text) and self.text[place].isspace():
            place += 1
        return place

    def _skip_back(self, place: int) -> int:
        while place and self.text[place - 1].isspace():
            place -= 1
        return place

    def _bounded(self, place: int) -> bool:
        """Tell whether a word surely begins or ends here."""
        around = self.text[max(0, place - 2) : place].rjust(2) + self.text[place : place + 2].ljust(
            2
        )
        earlier, before, after, later = tuple(around)
        if HIDDEN in (before, after):
            # What is shown there may go on with the word or, as a footnote's mark, the number.
            number = before in _JOINING and earlier.isdigit()
            return not number and not (after if before == HIDDEN else before).isalnum()
        if before.isalnum() and after.isalnum():
            return False
        return not (
            (before in _JOINING and earlier.isalnum() and after.isalnum())
            or (after in _JOINING and before.isalnum() and later.isalnum())
        )


def _headings(before: Chunk | None, here: Chunk) -> tuple[str, ...]:
    """Give the headings that stand between two passages, or above the first."""
    if before and (before.url, before.path) == (here.url, here.path):
        return ()
    shared = 0
    if before:
        pairs = zip(before.path, here.path[:-1], strict=False)
        while shared < len(here.path) - 1 and next(pairs, ("", None))[0] == here.path[shared]:
            shared += 1
    return here.path[shared:]
