"""Text fragments: the words by which a browser finds one sentence on a page, and no other.

A browser takes the first match of `prefix-,start,end,-suffix` in the page. Each term must stand in
one block and at the edges of words; case, accents and the shape of quotation marks do not count.
See https://wicg.github.io/scroll-to-text-fragment/.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from urllib.parse import quote

from quire.verify.pagetext import PageText, Span

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
    """Give the text fragment that finds just the words of `span`, or most of them, if one does."""
    runs = page.runs(span.start, span.end)
    spoken = [run for run in runs if page.says(_joined(run))]
    if not spoken:
        return None
    # Any first match will do; but what has no second one is found in any order of the page.
    for unique in (True, False):
        short = _is_short(runs)
        terms = _whole(page, runs[0], unique=unique) if short else None
        terms = terms or _ranged(page, runs[0], runs[-1], unique=unique)
        if not terms and len(runs) == 1 and not short:
            terms = _whole(page, runs[0], unique=unique)
        if terms:
            return _written(page, terms)
    # A part of the sentence is still a way to it.
    parts = (
        _ranged(page, first, last, unique=True)
        for first in runs[:_TRIED]
        for last in reversed(runs[-_TRIED:])
        if first[0] <= last[0]
    )
    longest = sorted(spoken, key=len, reverse=True)[:_TRIED]
    rest = (_whole(page, run, unique=True) for run in longest)
    return next((_written(page, terms) for terms in chain(parts, rest) if terms), None)


def _is_short(runs: list[list[Span]]) -> bool:
    size = runs[0][-1].end - runs[0][0].start
    return len(runs) == 1 and (size <= _WHOLE or len(runs[0]) <= _BEGIN + _END)


def _whole(page: PageText, run: Sequence[Span], *, unique: bool) -> _Terms | None:
    """Look for all the words at once."""
    start = _joined(run)
    left, right = page.words_before(start.start), page.words_after(start.end)
    crossing = bool(left) and not page.touches(left[-1], start)
    choices = (
        _Terms(start, prefix=prefix, suffix=suffix)
        for prefix, suffix in _contexts(page, left, right, _FEWEST - len(run), right_first=crossing)
    )
    return next((terms for terms in choices if _is_first(page, terms, unique=unique)), None)


def _ranged(page: PageText, first: list[Span], last: list[Span], *, unique: bool) -> _Terms | None:
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
    """Give what may be said of the words around, little first; of `least` words, if there are."""
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


def _written(page: PageText, terms: _Terms) -> str:
    def term(words: Span | None, before: str = "", after: str = "") -> str:
        if words is None:
            return ""
        # A hyphen would be read as the edge of a prefix or suffix.
        text = quote(page.text[words.start : words.end], safe="").replace("-", "%2D")
        return f"{before}{text}{after}"

    parts = (term(terms.prefix, after="-"), term(terms.start), term(terms.end))
    return ",".join(filter(None, (*parts, term(terms.suffix, before="-"))))
