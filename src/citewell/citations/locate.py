"""Where in the book the words of a selection stand: a browser gives them without their markup."""

import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.domain import Chunk, Filters
from citewell.ports import Index, Vectors
from citewell.text.render_map import render
from citewell.text.sentences import split_spans

CANDIDATE_PASSAGES = 8
"""How many passages of each ranking are looked at."""
MAX_PAGES = 4
"""How many of their pages are read."""
MIN_SHARE_ON_PAGE = 0.5
"""Share of a selection that must stand on one page; formulas, say, are shown in another form."""
OVERLAY_COMBINING_CLASS = 1
"""Unicode's class of signs drawn across a letter: `1̶0̶` is struck out, and no way to write 10."""
_LONG = 20
"""So many letters are found also where the selection began or ended in the middle of a word."""


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """Words of a passage, by their offsets."""

    chunk: Chunk
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of the selection as its words alone."""

    start: int
    end: int
    forms: tuple[str, ...]
    """As it is written, and as a browser would show it: it may be either."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage of the book as its words alone, and where each letter stands in the source."""

    chunk: Chunk
    words: str
    places: "array[int]"

    def find(self, forms: Iterable[str], since: int = 0) -> tuple[int, int] | None:
        """Return where the words begin and end among those of the passage."""
        for form in forms:
            found = self.words.find(f" {form} ", max(0, since - 1)) + 1
            if not found and len(form) >= _LONG:
                found = max(0, self.words.find(form, since))
            if found:
                return found, found + len(form)
        return None

    def place(self, first: int, last: int) -> PassageSpan:
        """Return the offsets of words in the passage."""
        end, text = self.places[last - 1] + 1, self.chunk.text
        # The full stop belongs to the sentence, though it is no word.
        while end < len(text) and not (text[end].isalnum() or text[end].isspace()):
            end += 1
        return PassageSpan(self.chunk, self.places[first], end)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A sentence of the selection, and from where on a passage has it."""

    sentence: _Sentence
    passage: _Passage
    first: int


@dataclass(frozen=True, slots=True)
class LocatedSelection:
    """A selection on a page of the book, sentence by sentence."""

    text: str
    aligned: tuple[_Aligned, ...]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The passages that have it, in order."""
        return tuple({one.passage.chunk.id: one.passage.chunk for one in self.aligned}.values())

    def find(self, start: int, end: int) -> PassageSpan | None:
        """Return where the book has what the selection says from `start` to `end`, if it does."""
        for one in self.aligned:
            if one.sentence.start < end and start < one.sentence.end:
                found = one.passage.find(_forms(self.text[start:end]), one.first)
                return one.passage.place(*found) if found else None
        return None


def locate(index: Index, text: str, vector: Vectors) -> LocatedSelection | None:
    """Find the page that a selection came from; `None` if it is not of the book.

    White space, markup, case, accents and the shape of quotation marks do not count.
    """
    rankings = index.rank(text, vector, filters=Filters(), depth=CANDIDATE_PASSAGES)
    ids = dict.fromkeys(identity for identity, _ in (*rankings.keyword, *rankings.dense))
    files = dict.fromkeys(chunk.source_file for chunk in index.read(list(ids)))
    spans = ((span.start, span.end, _forms(span.of(text))) for span in split_spans(text))
    sentences = [_Sentence(*span) for span in spans if any(span[2])]
    best: tuple[float, LocatedSelection | None] = (0.0, None)
    for file in list(files)[:MAX_PAGES]:
        page = index.page(file)
        headings = {form for chunk in page for title in chunk.path for form in _forms(title)}
        wanted = [one for one in sentences if not headings & set(one.forms)]
        aligned = tuple(_align(wanted, [_passage(chunk) for chunk in page]))
        total = _size(wanted) or 1
        share = _size([one.sentence for one in aligned]) / total
        if share > best[0]:
            best = (share, LocatedSelection(text, aligned))
    return best[1] if best[0] >= MIN_SHARE_ON_PAGE else None


def _align(sentences: Sequence[_Sentence], passages: Sequence[_Passage]) -> Iterator[_Aligned]:
    """Find each sentence behind the one before it, or else anywhere on the page."""
    current, behind = 0, 0
    for sentence in sentences:
        onward = [(place, behind if place == current else 0) for place in range(len(passages))]
        anywhere = [(place, 0) for place in range(len(passages))]
        for place, since in (*onward[current:], *anywhere):
            found = passages[place].find(sentence.forms, since)
            if found:
                yield _Aligned(sentence, passages[place], found[0])
                current, behind = place, found[1]
                break


def _size(sentences: Sequence[_Sentence]) -> int:
    return sum(one.end - one.start for one in sentences)


def _forms(text: str) -> tuple[str, ...]:
    plain, shown = _fold(text, range(len(text)))[0], _fold(*_rendered_forms(text))[0]
    return tuple(form for form in dict.fromkeys((plain.strip(), shown.strip())) if form)


def _passage(chunk: Chunk) -> _Passage:
    return _Passage(chunk, *_fold(*_rendered_forms(chunk.text)))


def _rendered_forms(text: str) -> tuple[str, Sequence[int]]:
    rendered = render(text)
    return rendered.text, rendered.places


def _fold(text: str, places: Sequence[int]) -> tuple[str, "array[int]"]:
    """Return the words in small letters, a space around each, with the place of every letter."""
    letters, kept = [" "], array("l", [0])
    for char, place in zip(text, places, strict=True):
        for one in char if char.isascii() else unicodedata.normalize("NFKD", char):
            if one.isalnum() or unicodedata.combining(one) == OVERLAY_COMBINING_CLASS:
                letters.append(one.casefold()[:1])
                kept.append(place)
            elif letters[-1] != " " and not unicodedata.combining(one) and one != "\u00ad":
                letters.append(" ")
                kept.append(place)
    if letters[-1] != " ":
        letters.append(" ")
        kept.append(places[-1] + 1)
    return "".join(letters), kept
