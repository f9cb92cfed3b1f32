"""Where in the book the words of a selection stand: a browser gives them without their markup."""

import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quire.domain import Chunk, Filters
from quire.ports import Index, Vectors
from quire.prose.rendered import render
from quire.prose.sentences import split_spans

CANDIDATES = 8
"""How many passages of each ranking are looked at."""
PAGES = 4
"""How many of their pages are read."""
ENOUGH = 0.5
"""Share of a selection that must stand on one page; formulas, say, are shown in another form."""
_LONG = 20
"""So many letters are found also where the selection began or ended in the middle of a word."""


@dataclass(frozen=True, slots=True)
class Place:
    """Words of a passage, by their offsets."""

    chunk: Chunk
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Words:
    """A text as its words alone, in small letters, and where each letter stands in the source."""

    text: str
    places: "array[int]"

    @property
    def letters(self) -> int:
        return len(self.text.replace(" ", ""))


@dataclass(frozen=True, slots=True)
class _Passage:
    chunk: Chunk
    words: _Words

    def find(self, sought: _Words, start: int = 0) -> int:
        """Give where the words begin, or -1."""
        found = self.words.text.find(sought.text, start)
        if found < 0 and sought.letters >= _LONG:
            found = self.words.text.find(sought.text.strip(), start) - 1
        return max(found, -1)

    def place(self, found: int, sought: _Words) -> Place:
        first = self.words.places[found + 1]
        end = self.words.places[found + len(sought.text) - 2] + 1
        text = self.chunk.text
        # The full stop belongs to the sentence, though it is no word.
        while end < len(text) and not (text[end].isalnum() or text[end].isspace()):
            end += 1
        return Place(self.chunk, first, end)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A sentence of the selection, and where a passage has it."""

    start: int
    end: int
    passage: _Passage
    found: int


@dataclass(frozen=True, slots=True)
class Located:
    """A selection on a page of the book, sentence by sentence."""

    text: str
    sentences: tuple[_Aligned, ...]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The passages that have it, in order."""
        return tuple({s.passage.chunk.id: s.passage.chunk for s in self.sentences}.values())

    def find(self, start: int, end: int) -> Place | None:
        """Give where the book has what the selection says from `start` to `end`, if it does."""
        sought = _fold(self.text[start:end])
        for one in self.sentences:
            if one.start < end and start < one.end:
                found = one.passage.find(sought, max(0, one.found - 1))
                return one.passage.place(found, sought) if found >= 0 else None
        return None


def locate(index: Index, text: str, vector: Vectors) -> Located | None:
    """Find the page that a selection came from; `None` if it is not of the book.

    White space, markup, case, accents and the shape of quotation marks do not count.
    """
    rankings = index.rank(text, vector, filters=Filters(), depth=CANDIDATES)
    ids = dict.fromkeys(identity for identity, _ in (*rankings.keyword, *rankings.dense))
    files = dict.fromkeys(chunk.source_file for chunk in index.read(list(ids)))
    spans = [(span.start, span.end, _fold(span.of(text))) for span in split_spans(text)]
    sentences = [one for one in spans if one[2].letters]
    best: tuple[float, Located | None] = (0.0, None)
    for file in list(files)[:PAGES]:
        page = index.page(file)
        headings = {_fold(heading).text for chunk in page for heading in chunk.path}
        wanted = [one for one in sentences if one[2].text not in headings]
        aligned = tuple(_align(wanted, [_Passage(chunk, _fold(chunk.text)) for chunk in page]))
        found = {(one.start, one.end) for one in aligned}
        total = sum(words.letters for _, _, words in wanted) or 1
        share = sum(w.letters for start, end, w in wanted if (start, end) in found) / total
        if share > best[0]:
            best = (share, Located(text, aligned))
    return best[1] if best[0] >= ENOUGH else None


def _align(
    sentences: Sequence[tuple[int, int, _Words]], passages: Sequence[_Passage]
) -> Iterator[_Aligned]:
    """Find each sentence behind the one before it, or else anywhere on the page."""
    current, behind = 0, 0
    for start, end, words in sentences:
        order = [(place, behind if place == current else 0) for place in range(len(passages))]
        for place, since in (*order[current:], *((place, 0) for place, _ in order)):
            found = passages[place].find(words, since)
            if found >= 0:
                yield _Aligned(start, end, passages[place], found)
                current, behind = place, found + len(words.text) - 1
                break


def _fold(source: str) -> _Words:
    shown = render(source)
    letters, places = [" "], array("l", [0])
    for char, place in zip(shown.text, shown.places, strict=True):
        for one in char if char.isascii() else unicodedata.normalize("NFKD", char):
            if one.isalnum():
                letters.append(one.casefold()[:1])
                places.append(place)
            elif letters[-1] != " " and not unicodedata.combining(one):
                letters.append(" ")
                places.append(place)
    if letters[-1] != " ":
        letters.append(" ")
        places.append(len(source))
    return _Words("".join(letters), places)
