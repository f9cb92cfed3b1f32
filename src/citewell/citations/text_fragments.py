"""Text fragments: links by which a browser finds and highlights one sentence on a page.

A browser uses the first match of `prefix-,start,end,-suffix` on the page. Each term must be within
one block and at word boundaries; case, accents and the form of quotation marks are ignored.
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
from citewell.text.render_map import BREAK, GAP, UNKNOWN, Rendered, render

# Clauses serve as words in scripts without spaces, since finding their words takes a dictionary.
_WORD = re.compile(rf"[^\s{UNKNOWN}。！？、，；：]+[。！？、，；：」』）】]*|[。！？、，；：]+")
_JOINING = frozenset(".,:;'’·_‿")
"""Characters that join the letters or digits around them into one word."""
_CONTEXT_CHARS = 300
"""Characters around a span to search for prefix and suffix."""


class Span(NamedTuple):
    """A span of the page's text."""

    start: int
    end: int


class _FoldedLetters(dict[int, int | str]):
    """Maps each code point to a character without case and accents, as browsers compare text."""

    def __missing__(self, code: int) -> str:
        folded = unicodedata.normalize("NFKD", chr(code))[0].casefold()[:1]
        self[code] = folded
        return folded


_FOLDED_LETTERS = _FoldedLetters(str.maketrans("‘’‚“”„", "'''\"\"\""))


class PageText:
    """The rendered text of a page."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        """Combine the chunks of a page, in order."""
        self._rendered: dict[str, tuple[int, Rendered]] = {}
        # Menus and tables of contents repeat the headings, and browsers find them there first.
        headings = dict.fromkeys(heading for chunk in chunks for heading in chunk.path)
        parts = [f"{heading}{GAP}" for heading in headings]
        size = sum(map(len, parts))
        previous: Chunk | None = None
        for chunk in chunks:
            # Sites append a symbol to headings, so a match must not extend from one into the text.
            new_headings = _new_headings(previous, chunk)
            lead_in = BREAK + "".join(f"{heading}{GAP}" for heading in new_headings)
            rendered = render(chunk.text)
            self._rendered[chunk.id] = (size + len(lead_in), rendered)
            parts += (lead_in, rendered.text)
            size += len(lead_in) + len(rendered.text)
            previous = chunk
        self.text = "".join(parts)
        self._folded = self.text.translate(_FOLDED_LETTERS)

    def span(self, chunk_id: str, start: int, end: int) -> Span:
        """Convert a span of a chunk to a span of the page."""
        base, rendered = self._rendered[chunk_id]
        first, last = bisect_left(rendered.offsets, start), bisect_left(rendered.offsets, end)
        return Span(base + first, base + last)

    def has_letters(self, words: Span) -> bool:
        """Return whether a span is more than punctuation."""
        return any(map(str.isalnum, self.text[words.start : words.end]))

    def is_adjacent(self, first: Span, second: Span) -> bool:
        """Return whether only white space separates two spans of a block."""
        between = self.text[first.end : second.start]
        return BREAK not in between and not between.strip()

    def runs(self, start: int, end: int) -> list[list[Span]]:
        """Return the words between two offsets, in runs separated by unknown text or block ends.

        Words whose ends may not be word boundaries on the page are left out.
        """
        runs: list[list[Span]] = []
        for match in _WORD.finditer(self.text, start, end):
            word = Span(*match.span())
            if not (self._is_word_boundary(word.start) and self._is_word_boundary(word.end)):
                continue
            if runs and self.is_adjacent(runs[-1][-1], word):
                runs[-1].append(word)
            else:
                runs.append([word])
        return runs

    def words_before(self, offset: int) -> list[Span]:
        """Return the run of words that ends right before an offset, perhaps in another block."""
        stop = self._skip_spaces_back(offset)
        start = max(self.text.rfind(BREAK, 0, stop), self.text.rfind(UNKNOWN, 0, stop)) + 1
        runs = self.runs(max(start, stop - _CONTEXT_CHARS), stop)
        return runs[-1] if runs and runs[-1][-1].end == stop else []

    def words_after(self, offset: int) -> list[Span]:
        """Return the run of words that starts right after an offset, perhaps in another block."""
        start = self._skip_spaces(offset)
        runs = self.runs(start, min(len(self.text), start + _CONTEXT_CHARS))
        return runs[0] if runs and runs[0][0].start == start else []

    def find(self, words: Span, prefix: Span | None, suffix: Span | None) -> Iterator[int]:
        """Yield the offset of every match of the words between a prefix and a suffix."""
        wanted, before, after = map(self._folded_text, (words, prefix, suffix))
        offset = self._folded.find(wanted)
        while offset >= 0:
            stop = offset + len(wanted)
            if self._is_before(before, offset) and self._is_after(after, stop):
                yield offset
            offset = self._folded.find(wanted, offset + 1)

    def find_end(self, words: Span, start: int, suffix: Span | None) -> int:
        """Return the end of the first match after `start` that precedes the suffix."""
        wanted, after = self._folded_text(words), self._folded_text(suffix)
        offset = self._folded.find(wanted, start)
        while offset >= 0 and not self._is_after(after, offset + len(wanted)):
            offset = self._folded.find(wanted, offset + 1)
        return offset + len(wanted)

    def _folded_text(self, words: Span | None) -> str:
        return self._folded[words.start : words.end] if words else ""

    def _is_before(self, words: str, offset: int) -> bool:
        return not words or self._folded.endswith(words, 0, self._skip_spaces_back(offset))

    def _is_after(self, words: str, offset: int) -> bool:
        return not words or self._folded.startswith(words, self._skip_spaces(offset))

    def _skip_spaces(self, offset: int) -> int:
        while offset < len(self.text) and self.text[offset].isspace():
            offset += 1
        return offset

    def _skip_spaces_back(self, offset: int) -> int:
        while offset and self.text[offset - 1].isspace():
            offset -= 1
        return offset

    def _is_word_boundary(self, offset: int) -> bool:
        """Return whether an offset is certainly a word boundary."""
        chars = self.text[max(0, offset - 2) : offset].rjust(2)
        earlier, before, after, later = tuple(chars + self.text[offset : offset + 2].ljust(2))
        if UNKNOWN in (before, after):
            # Unknown text may continue the word, or a footnote's number the number before a point.
            ends_number = before in _JOINING and earlier.isdigit()
            return not ends_number and not (after if before == UNKNOWN else before).isalnum()
        if before.isalnum() and after.isalnum():
            return False
        return not (
            (before in _JOINING and earlier.isalnum() and after.isalnum())
            or (after in _JOINING and before.isalnum() and later.isalnum())
        )


def _new_headings(previous: Chunk | None, chunk: Chunk) -> tuple[str, ...]:
    """Return the headings between two chunks, or above the first."""
    if previous and (previous.url, previous.path) == (chunk.url, chunk.path):
        return ()
    shared = 0
    if previous:
        pairs = zip(previous.path, chunk.path[:-1], strict=False)
        while shared < len(chunk.path) - 1 and next(pairs, ("", None))[0] == chunk.path[shared]:
            shared += 1
    return chunk.path[shared:]


_MAX_FULL_CHARS = 100
"""Longer sentences are matched by their start and end."""
_MIN_WORDS = 4
"""Shorter text gets a prefix or suffix, since menus and tables of contents may repeat it."""
_START_WORDS, _END_WORDS = 6, 3
"""Words to try first: more at the start, which often repeats the page's title, than at the end."""
_MAX_WORDS, _MAX_CONTEXT = 12, 8
"""Maximum number of words at the start and end, and in prefix and suffix."""
_MAX_RUNS = 4
"""How many runs at either end to try if a span cannot be matched as a whole."""

Context = tuple[Span | None, Span | None]
"""The prefix and the suffix of a text fragment."""


@dataclass(frozen=True, slots=True)
class _Terms:
    start: Span
    end: Span | None = None
    prefix: Span | None = None
    suffix: Span | None = None


def text_fragment(page: PageText, span: Span) -> str | None:
    """Return a text fragment for a span, or for most of it; `None` if there is none."""
    runs = page.runs(span.start, span.end)
    with_letters = [run for run in runs if page.has_letters(_span_of(run))]
    if not with_letters:
        return None
    # Prefer text that occurs once, since a site may arrange a page differently from its source.
    for unique in (True, False):
        short = _is_short(runs)
        terms = _fragment_by_text(page, runs[0], unique=unique) if short else None
        terms = terms or _fragment_by_ends(page, runs[0], runs[-1], unique=unique)
        if not terms and len(runs) == 1 and not short:
            terms = _fragment_by_text(page, runs[0], unique=unique)
        if terms:
            return _format_fragment(page, terms)
    # Otherwise, match a part of the span.
    parts = (
        _fragment_by_ends(page, first, last, unique=True)
        for first in runs[:_MAX_RUNS]
        for last in reversed(runs[-_MAX_RUNS:])
        if first[0] <= last[0]
    )
    longest = sorted(with_letters, key=len, reverse=True)[:_MAX_RUNS]
    rest = (_fragment_by_text(page, run, unique=True) for run in longest)
    return next((_format_fragment(page, terms) for terms in chain(parts, rest) if terms), None)


def _is_short(runs: list[list[Span]]) -> bool:
    size = runs[0][-1].end - runs[0][0].start
    return len(runs) == 1 and (size <= _MAX_FULL_CHARS or len(runs[0]) <= _START_WORDS + _END_WORDS)


def _fragment_by_text(page: PageText, run: Sequence[Span], *, unique: bool) -> _Terms | None:
    start = _span_of(run)
    left, right = page.words_before(start.start), page.words_after(start.end)
    left_is_other_block = bool(left) and not page.is_adjacent(left[-1], start)
    choices = (
        _Terms(start, prefix=prefix, suffix=suffix)
        for prefix, suffix in _contexts(
            page, left, right, _MIN_WORDS - len(run), right_first=left_is_other_block
        )
    )
    return next((terms for terms in choices if _is_first(page, terms, unique=unique)), None)


def _fragment_by_ends(
    page: PageText, first: list[Span], last: list[Span], *, unique: bool
) -> _Terms | None:
    """Match the start and the end of the words."""
    most = len(first) // 2 if first is last else min(len(first), _MAX_WORDS)
    if not page.has_letters(_span_of(first[:most])):
        return None
    choices = [_Terms(_span_of(first[:count])) for count in range(_START_WORDS, most + 1)]
    left = page.words_before(first[0].start)
    # First try more words of the sentence, then a prefix.
    choices += [
        _Terms(_span_of(first[:most]), prefix=prefix)
        for prefix, _ in _contexts(page, left, [], _MIN_WORDS - most)
    ]
    beginning = next((terms for terms in choices if _is_first(page, terms, unique=unique)), None)
    return _add_end(page, beginning, last) if beginning else None


def _add_end(page: PageText, beginning: _Terms, run: list[Span]) -> _Terms | None:
    words = [word for word in run if word.start >= beginning.start.end][-_MAX_WORDS:]
    if not words:
        return None
    least = min(_END_WORDS, len(words))
    choices = [
        replace(beginning, end=_span_of(words[-count:])) for count in range(least, len(words) + 1)
    ]
    right = page.words_after(words[-1].end)
    followed = [
        replace(beginning, end=_span_of(words), suffix=suffix)
        for _, suffix in _contexts(page, [], right, _MIN_WORDS - len(words))
        if suffix
    ]
    # Punctuation alone matches anywhere, so try it with a suffix first.
    choices = choices + followed if page.has_letters(_span_of(words)) else followed + choices
    for terms in choices:
        assert terms.end
        if page.find_end(terms.end, terms.start.end, terms.suffix) == terms.end.end:
            return terms
    return None


def _contexts(
    page: PageText,
    left: Sequence[Span],
    right: Sequence[Span],
    min_words: int,
    *,
    right_first: bool = False,
) -> Iterator[Context]:
    """Yield prefixes and suffixes, short ones first, preferably of at least `min_words`."""
    prefixes = [_span_of(left[-count:]) for count in range(1, min(len(left), _MAX_CONTEXT) + 1)]
    suffixes = [_span_of(right[:count]) for count in range(1, min(len(right), _MAX_CONTEXT) + 1)]
    before: list[Context] = [(words, None) for words in prefixes]
    after: list[Context] = [(None, words) for words in suffixes]
    sides = (after, before) if right_first else (before, after)
    on_both_sides: list[Context] = list(zip(prefixes, suffixes, strict=False))
    enough_from = max(0, min_words - 1)
    long_enough = [context for side in sides for context in side[enough_from:]] + on_both_sides
    too_short = [context for side in sides for context in reversed(side[:enough_from])]
    none: Context = (None, None)
    choices = [none, *long_enough] if min_words <= 0 else [*long_enough, *too_short, none]
    for context in choices:
        if all(page.has_letters(words) for words in context if words):
            yield context


def _is_first(page: PageText, terms: _Terms, *, unique: bool) -> bool:
    offsets = list(islice(page.find(terms.start, terms.prefix, terms.suffix), 2))
    return offsets[:1] == [terms.start.start] and not (unique and len(offsets) > 1)


def _span_of(words: Sequence[Span]) -> Span:
    return Span(words[0].start, words[-1].end) if words else Span(0, 0)


def _format_fragment(page: PageText, terms: _Terms) -> str:
    def term(words: Span | None, before: str = "", after: str = "") -> str:
        if words is None:
            return ""
        # A hyphen would delimit a prefix or suffix.
        text = quote(page.text[words.start : words.end], safe="").replace("-", "%2D")
        return f"{before}{text}{after}"

    parts = (term(terms.prefix, after="-"), term(terms.start), term(terms.end))
    return ",".join(filter(None, (*parts, term(terms.suffix, before="-"))))


_MAX_CACHED_PAGES = 64
_MAX_PAGE_CHARS = 500_000
"""Larger pages would delay the answer, and get no text fragments."""


class DeepLinker:
    """Builds deep links to sentences, with a cache of pages."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str, str], PageText | None] = {}
        self._lock = Lock()

    def link(self, index: Index, chunk: Chunk, start: int, end: int) -> str:
        """Return the deep link to a span of a chunk.

        Without a text fragment for it, this is the address of the section.
        """
        address, _, anchor = chunk.url.partition("#")
        if anchor.startswith("page=") or ":~:" in anchor:
            # Links to pages of a PDF, and those with a text fragment, stay unchanged.
            return chunk.url
        page = self._page_text(index, chunk.source_file)
        fragment = text_fragment(page, page.span(chunk.id, start, end)) if page else None
        return f"{address}#{anchor}:~:text={fragment}" if fragment else chunk.url

    def _page_text(self, index: Index, source_file: str) -> PageText | None:
        # The key names the index, since a reference to it would keep an old revision open.
        key = (index.book, index.revision, source_file)
        with self._lock:
            cached, page = key in self._pages, self._pages.pop(key, None)
        page = page if cached else _read_page_text(index, source_file)
        with self._lock:
            self._pages[key] = page
            if len(self._pages) > _MAX_CACHED_PAGES:
                del self._pages[next(iter(self._pages))]
        return page


def _read_page_text(index: Index, source_file: str) -> PageText | None:
    chunks = index.page(source_file)
    return PageText(chunks) if sum(len(chunk.text) for chunk in chunks) <= _MAX_PAGE_CHARS else None
