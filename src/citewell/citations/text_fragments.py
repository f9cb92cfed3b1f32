"""Text fragments: the words by which a browser finds one sentence on a page, and no other.

A browser takes the first match of `prefix-,start,end,-suffix` in the page. Each term must stand in
one block and at the edges of words; case, accents and the shape of quotation marks do not count.
See https://wicg.github.io/scroll-to-text-fragment/.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from threading import Lock
from typing import NamedTuple
from urllib.parse import quote

from citewell.domain import Chunk
from citewell.ports import Index
from citewell.text.render_map import BREAK, HIDDEN, WALL, Rendered, render

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
        """Return where the words stand that a chunk has from `start` to `end`."""
        base, shown = self._placed[chunk_id]
        first, last = bisect_left(shown.places, start), bisect_left(shown.places, end)
        return Span(base + first, base + last)

    def says(self, words: Span) -> bool:
        """Return whether there is more than punctuation."""
        return any(map(str.isalnum, self.text[words.start : words.end]))

    def touches(self, first: Span, second: Span) -> bool:
        """Return whether two stretches stand in one block, with nothing but space between them."""
        between = self.text[first.end : second.start]
        return BREAK not in between and not between.strip()

    def runs(self, start: int, end: int) -> list[list[Span]]:
        """Return the words that can be looked for, those together that stand together."""
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
        """Return the last words of a block that nothing shown divides from `place`."""
        stop = self._skip_back(place)
        edge = max(self.text.rfind(BREAK, 0, stop), self.text.rfind(HIDDEN, 0, stop)) + 1
        runs = self.runs(max(edge, stop - _NEAR), stop)
        return runs[-1] if runs and runs[-1][-1].end == stop else []

    def words_after(self, place: int) -> list[Span]:
        """Return the first words of a block that nothing shown divides from `place`."""
        start = self._skip(place)
        runs = self.runs(start, min(len(self.text), start + _NEAR))
        return runs[0] if runs and runs[0][0].start == start else []

    def find(self, words: Span, prefix: Span | None, suffix: Span | None) -> Iterator[int]:
        """Yield every place where such words begin, with such words right before and after them."""
        sought, before, after = map(self._folding, (words, prefix, suffix))
        place = self._folded.find(sought)
        while place >= 0:
            stop = place + len(sought)
            if self._is_before(before, place) and self._is_after(after, stop):
                yield place
            place = self._folded.find(sought, place + 1)

    def find_end(self, words: Span, start: int, suffix: Span | None) -> int:
        """Return where the first such words after `start` end, with such words right behind."""
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
        """Return whether a word surely begins or ends here."""
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
    """Return the headings that stand between two passages, or above the first."""
    if before and (before.url, before.path) == (here.url, here.path):
        return ()
    shared = 0
    if before:
        pairs = zip(before.path, here.path[:-1], strict=False)
        while shared < len(here.path) - 1 and next(pairs, ("", None))[0] == here.path[shared]:
            shared += 1
    return here.path[shared:]


_WHOLE = 100
"""Up to how many characters a sentence is given in full, not by how it begins and ends."""
_FEWEST = 4
"""Words that a fragment should have: menus and lists of contents repeat shorter ones."""
_BEGIN, _END = 6, 3
"""Words at either end; more at the beginning, which is often the name of the page, too."""
_MOST, _AROUND = 12, 8
"""Words up to which either end, and what stands around, are lengthened."""
_TRIED = 4
"""How many pieces at either end of a long passage are tried in its place."""

Context = tuple[Span | None, Span | None]


@dataclass(frozen=True, slots=True)
class _Terms:
    start: Span
    end: Span | None = None
    prefix: Span | None = None
    suffix: Span | None = None


def text_fragment(page: PageText, span: Span) -> str | None:
    """Return the text fragment that finds the words of `span`, or most of them, if one does."""
    runs = page.runs(span.start, span.end)
    spoken = [run for run in runs if page.says(_joined(run))]
    if not spoken:
        return None
    # Any first match will do; but what has no second one is found in any order of the page.
    for unique in (True, False):
        short = _is_short(runs)
        terms = _fragment_by_text(page, runs[0], unique=unique) if short else None
        terms = terms or _fragment_by_ends(page, runs[0], runs[-1], unique=unique)
        if not terms and len(runs) == 1 and not short:
            terms = _fragment_by_text(page, runs[0], unique=unique)
        if terms:
            return _format_fragment(page, terms)
    # A part of the sentence is still a way to it.
    parts = (
        _fragment_by_ends(page, first, last, unique=True)
        for first in runs[:_TRIED]
        for last in reversed(runs[-_TRIED:])
        if first[0] <= last[0]
    )
    longest = sorted(spoken, key=len, reverse=True)[:_TRIED]
    rest = (_fragment_by_text(page, run, unique=True) for run in longest)
    return next((_format_fragment(page, terms) for terms in chain(parts, rest) if terms), None)


def _is_short(runs: list[list[Span]]) -> bool:
    size = runs[0][-1].end - runs[0][0].start
    return len(runs) == 1 and (size <= _WHOLE or len(runs[0]) <= _BEGIN + _END)


def _fragment_by_text(page: PageText, run: Sequence[Span], *, unique: bool) -> _Terms | None:
    """Look for all the words at once."""
    start = _joined(run)
    left, right = page.words_before(start.start), page.words_after(start.end)
    crossing = bool(left) and not page.touches(left[-1], start)
    choices = (
        _Terms(start, prefix=prefix, suffix=suffix)
        for prefix, suffix in _contexts(page, left, right, _FEWEST - len(run), right_first=crossing)
    )
    return next((terms for terms in choices if _is_first(page, terms, unique=unique)), None)


def _fragment_by_ends(
    page: PageText, first: list[Span], last: list[Span], *, unique: bool
) -> _Terms | None:
    """Look for how the words begin, and from there for how they end."""
    most = len(first) // 2 if first is last else min(len(first), _MOST)
    if not page.says(_joined(first[:most])):
        return None
    choices = [_Terms(_joined(first[:count])) for count in range(_BEGIN, most + 1)]
    left = page.words_before(first[0].start)
    # More of the sentence itself first, and only then what stands before it.
    choices += [
        _Terms(_joined(first[:most]), prefix=prefix)
        for prefix, _ in _contexts(page, left, [], _FEWEST - most)
    ]
    begun = next((terms for terms in choices if _is_first(page, terms, unique=unique)), None)
    return _ending(page, begun, last) if begun else None


def _ending(page: PageText, beginning: _Terms, run: list[Span]) -> _Terms | None:
    words = [word for word in run if word.start >= beginning.start.end][-_MOST:]
    if not words:
        return None
    least = min(_END, len(words))
    choices = [
        replace(beginning, end=_joined(words[-count:])) for count in range(least, len(words) + 1)
    ]
    right = page.words_after(words[-1].end)
    followed = [
        replace(beginning, end=_joined(words), suffix=suffix)
        for _, suffix in _contexts(page, [], right, _FEWEST - len(words))
        if suffix
    ]
    # A full stop alone is found anywhere: better to say what follows, too.
    choices = choices + followed if page.says(_joined(words)) else followed + choices
    for terms in choices:
        assert terms.end
        if page.find_end(terms.end, terms.start.end, terms.suffix) == terms.end.end:
            return terms
    return None


def _contexts(
    page: PageText,
    left: Sequence[Span],
    right: Sequence[Span],
    least: int,
    *,
    right_first: bool = False,
) -> Iterator[Context]:
    """Yield what may be said of the words around, little first; of `least` words, if there are."""
    prefixes = [_joined(left[-count:]) for count in range(1, min(len(left), _AROUND) + 1)]
    suffixes = [_joined(right[:count]) for count in range(1, min(len(right), _AROUND) + 1)]
    before: list[Context] = [(words, None) for words in prefixes]
    after: list[Context] = [(None, words) for words in suffixes]
    sides = (after, before) if right_first else (before, after)
    around: list[Context] = list(zip(prefixes, suffixes, strict=False))
    few = max(0, least - 1)
    enough = [context for side in sides for context in side[few:]] + around
    fewer = [context for side in sides for context in reversed(side[:few])]
    alone: list[Context] = [(None, None)]
    choices = [*alone, *enough] if least <= 0 else [*enough, *fewer, *alone]
    for context in choices:
        if all(page.says(words) for words in context if words):
            yield context


def _is_first(page: PageText, terms: _Terms, *, unique: bool) -> bool:
    found = list(islice(page.find(terms.start, terms.prefix, terms.suffix), 2))
    return found[:1] == [terms.start.start] and not (unique and len(found) > 1)


def _joined(words: Sequence[Span]) -> Span:
    return Span(words[0].start, words[-1].end) if words else Span(0, 0)


def _format_fragment(page: PageText, terms: _Terms) -> str:
    def term(words: Span | None, before: str = "", after: str = "") -> str:
        if words is None:
            return ""
        # A hyphen would be read as the edge of a prefix or suffix.
        text = quote(page.text[words.start : words.end], safe="").replace("-", "%2D")
        return f"{before}{text}{after}"

    parts = (term(terms.prefix, after="-"), term(terms.start), term(terms.end))
    return ",".join(filter(None, (*parts, term(terms.suffix, before="-"))))


_KEPT = 64
"""Pages whose text is kept: answers cite few, and the next question asks about the same ones."""
_LARGEST = 500_000
"""Characters of a page beyond which reading all of it would hold up the answer."""


class DeepLinker:
    """Makes links to sentences; reads a page once for all of them."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str, str], PageText | None] = {}
        self._lock = Lock()

    def link(self, index: Index, chunk: Chunk, start: int, end: int) -> str:
        """Return the address at which a browser opens the words of a chunk, and highlights them.

        Where no text fragment would find just these words, it is the address of their section.
        """
        address, _, anchor = chunk.url.partition("#")
        if anchor.startswith("page=") or ":~:" in anchor:
            # A PDF opens at its page; and an address that names its words already is left alone.
            return chunk.url
        page = self._page(index, chunk.source_file)
        fragment = text_fragment(page, page.span(chunk.id, start, end)) if page else None
        return f"{address}#{anchor}:~:text={fragment}" if fragment else chunk.url

    def _page(self, index: Index, source_file: str) -> PageText | None:
        # By name, not by the index itself: what is kept must not keep an old revision open.
        key = (index.book, index.revision, source_file)
        with self._lock:
            known, page = key in self._pages, self._pages.pop(key, None)
        page = page if known else _read(index, source_file)
        with self._lock:
            self._pages[key] = page
            if len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
        return page


def _read(index: Index, source_file: str) -> PageText | None:
    chunks = index.page(source_file)
    return PageText(chunks) if sum(len(chunk.text) for chunk in chunks) <= _LARGEST else None
