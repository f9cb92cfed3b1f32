"""Locate a reader's selection in the book; browsers return it without markup."""

import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.domain import Chunk, Filters
from citewell.ports import Index, Vectors
from citewell.text.render_map import render
from citewell.text.sentences import split_spans

CANDIDATE_PASSAGES = 8
"""Passages to consider from each ranking."""
MAX_PAGES = 4
"""Pages of the candidates to read."""
MIN_SHARE_ON_PAGE = 0.5
"""Minimum share of a selection on one page; formulas, for example, render differently."""
OVERLAY_COMBINING_CLASS = 1
"""Unicode's class of overlays: `1̶0̶` is struck out, and differs from 10."""
_MIN_PARTIAL_MATCH = 20
"""Minimum length to match also in the middle of a word."""


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A span of a passage."""

    chunk: Chunk
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    forms: tuple[str, ...]
    """The normalized source, and the normalized rendering: the selection may be either."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A normalized passage of the book, with the source offset of each letter."""

    chunk: Chunk
    text: str
    offsets: "array[int]"

    def find(self, forms: Iterable[str], start: int = 0) -> tuple[int, int] | None:
        """Return the span of the first form found in the normalized text."""
        for form in forms:
            index = self.text.find(f" {form} ", max(0, start - 1)) + 1
            if not index and len(form) >= _MIN_PARTIAL_MATCH:
                index = max(0, self.text.find(form, start))
            if index:
                return index, index + len(form)
        return None

    def to_source(self, start: int, stop: int) -> PassageSpan:
        """Convert a span of the normalized text to a span of the passage."""
        end, text = self.offsets[stop - 1] + 1, self.chunk.text
        # Include the punctuation at the end of the sentence.
        while end < len(text) and not (text[end].isalnum() or text[end].isspace()):
            end += 1
        return PassageSpan(self.chunk, self.offsets[start], end)


@dataclass(frozen=True, slots=True)
class _AlignedSentence:
    """A sentence of the selection, and its position in a passage."""

    sentence: _Sentence
    passage: _Passage
    start: int


@dataclass(frozen=True, slots=True)
class LocatedSelection:
    """A selection that was located on a page of the book."""

    text: str
    aligned: tuple[_AlignedSentence, ...]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks that contain the selection, in order."""
        return tuple({one.passage.chunk.id: one.passage.chunk for one in self.aligned}.values())

    def find(self, start: int, end: int) -> PassageSpan | None:
        """Return the span in the book of a span of the selection."""
        for aligned in self.aligned:
            if aligned.sentence.start < end and start < aligned.sentence.end:
                match = aligned.passage.find(_folded_forms(self.text[start:end]), aligned.start)
                return aligned.passage.to_source(*match) if match else None
        return None


def locate(index: Index, text: str, vector: Vectors) -> LocatedSelection | None:
    """Locate a selection; return `None` if it is not from the book.

    White space, markup, case, accents and punctuation are ignored.
    """
    rankings = index.rank(text, vector, filters=Filters(), depth=CANDIDATE_PASSAGES)
    ids = dict.fromkeys(chunk_id for chunk_id, _ in (*rankings.keyword, *rankings.dense))
    files = dict.fromkeys(chunk.source_file for chunk in index.read(list(ids)))
    spans = ((span.start, span.end, _folded_forms(span.of(text))) for span in split_spans(text))
    sentences = [_Sentence(*span) for span in spans if any(span[2])]
    best: tuple[float, LocatedSelection | None] = (0.0, None)
    for file in list(files)[:MAX_PAGES]:
        page = index.page(file)
        headings = {form for chunk in page for title in chunk.path for form in _folded_forms(title)}
        prose = [sentence for sentence in sentences if not headings & set(sentence.forms)]
        aligned = tuple(_align(prose, [_passage(chunk) for chunk in page]))
        share = _length([one.sentence for one in aligned]) / (_length(prose) or 1)
        if share > best[0]:
            best = (share, LocatedSelection(text, aligned))
    return best[1] if best[0] >= MIN_SHARE_ON_PAGE else None


def _align(
    sentences: Sequence[_Sentence], passages: Sequence[_Passage]
) -> Iterator[_AlignedSentence]:
    """Find each sentence after the previous one, or else anywhere on the page."""
    current, position = 0, 0
    for sentence in sentences:
        onward = [(i, position if i == current else 0) for i in range(len(passages))]
        anywhere = [(i, 0) for i in range(len(passages))]
        for i, start in (*onward[current:], *anywhere):
            match = passages[i].find(sentence.forms, start)
            if match:
                yield _AlignedSentence(sentence, passages[i], match[0])
                current, position = i, match[1]
                break


def _length(sentences: Sequence[_Sentence]) -> int:
    return sum(sentence.end - sentence.start for sentence in sentences)


def _folded_forms(text: str) -> tuple[str, ...]:
    source, rendered = _fold(text, range(len(text)))[0], _fold(*_render(text))[0]
    return tuple(form for form in dict.fromkeys((source.strip(), rendered.strip())) if form)


def _passage(chunk: Chunk) -> _Passage:
    return _Passage(chunk, *_fold(*_render(chunk.text)))


def _render(text: str) -> tuple[str, Sequence[int]]:
    rendered = render(text)
    return rendered.text, rendered.offsets


def _fold(text: str, offsets: Sequence[int]) -> tuple[str, "array[int]"]:
    """Return the lower-case words, a space around each, with the offset of every letter."""
    letters, kept_offsets = [" "], array("l", [0])
    for char, offset in zip(text, offsets, strict=True):
        for part in char if char.isascii() else unicodedata.normalize("NFKD", char):
            if part.isalnum() or unicodedata.combining(part) == OVERLAY_COMBINING_CLASS:
                letters.append(part.casefold()[:1])
                kept_offsets.append(offset)
            elif letters[-1] != " " and not unicodedata.combining(part) and part != "\u00ad":
                letters.append(" ")
                kept_offsets.append(offset)
    if letters[-1] != " ":
        letters.append(" ")
        kept_offsets.append(offsets[-1] + 1)
    return "".join(letters), kept_offsets
