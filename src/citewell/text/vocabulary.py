"""The vocabulary of a book: its words, and the abbreviations it defines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from citewell.text.plain_text import plain
from citewell.text.terms import stem

_WORD = re.compile(r"(?<![\w/.`])[^\W\d_]{3,}(?![\w/`])")


@cache
def english_stems() -> frozenset[str]:
    """Return the stems of common English words."""
    text = files("citewell.text").joinpath("english.txt").read_text("utf-8")
    return frozenset(text.split())


def is_english(word: str) -> bool:
    """Return whether a word is a form of a common English word."""
    return stem(word.lower()) in english_stems()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words and abbreviations of a book."""

    words: Mapping[str, int] = field(default_factory=dict)
    """Lower-case word to its number of occurrences."""
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    """Short form to its most frequent long form."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """Collect the vocabulary of texts."""
        counts = VocabularyCounts()
        for text in texts:
            counts.add(text)
        return counts.vocabulary


class VocabularyCounts:
    """Collects a vocabulary, text by text."""

    def __init__(self) -> None:
        self._words: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def add(self, text: str) -> None:
        """Add a text."""
        plain_text = plain(text)
        self._words.update(word.lower() for word in _WORD.findall(plain_text))
        self._pairs.update(abbreviations_in(plain_text))

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the texts so far."""
        abbreviations: dict[str, str] = {}
        # Sorted, so that the choice among equal counts is deterministic.
        for (short, long), _ in sorted(self._pairs.items(), key=lambda pair: (-pair[1], pair[0])):
            abbreviations.setdefault(short, long)
        return Vocabulary(dict(sorted(self._words.items())), dict(sorted(abbreviations.items())))


_IN_BRACKETS = re.compile(r"\(([^()\n]{2,60})\)")
_MAX_LONG_FORM_CHARS = 120
_ABBREVIATION = re.compile(r"[A-Za-z][A-Za-z0-9-]{1,8}")
_PLAIN_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_CLAUSE_BOUNDARY = re.compile(r"[.:;!?()\[\]|\n,“”\"]")
SKIPPABLE_WORDS = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "per", "the", "to")
)
"""Words that an abbreviation may omit."""


def abbreviations_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield (short, long) for each “long form (LF)” and each “LF (long form)”."""
    for brackets in _IN_BRACKETS.finditer(text):
        inside = brackets[1].strip()
        start = max(0, brackets.start() - _MAX_LONG_FORM_CHARS)
        preceding = _CLAUSE_BOUNDARY.split(text[start : brackets.start()])[-1]
        if _is_abbreviation(inside):
            if long := _long_form(inside, preceding):
                yield inside, long
        elif (short := preceding.split()[-1:]) and _is_abbreviation(short[0]):
            long = _long_form(short[0], inside)
            if long and long == " ".join(_PLAIN_WORD.findall(inside)):
                yield short[0], long


def _is_abbreviation(text: str) -> bool:
    """Return whether a word has the form of an abbreviation, with at least two capitals."""
    return bool(_ABBREVIATION.fullmatch(text)) and sum(letter.isupper() for letter in text) > 1


def _long_form(short: str, preceding: str) -> str | None:
    """Return the shortest end of `preceding` that `short` abbreviates.

    Every word must contribute its first letter, except skippable words and the later parts of
    hyphenated ones: a looser match would include unrelated words.
    """
    letters = [letter.lower() for letter in short.rstrip("s") if letter.isalpha()]
    words = _PLAIN_WORD.findall(preceding)
    for count in range(1, min(len(words), 2 * len(letters) + 2) + 1):
        candidate = words[-count:]
        if candidate[0].lower() not in SKIPPABLE_WORDS and _is_spelled_by(candidate, letters):
            return " ".join(candidate)
    return None


def _is_spelled_by(words: list[str], letters: list[str]) -> bool:
    parts = [
        (part.lower(), index > 0 or part.lower() in SKIPPABLE_WORDS)
        for word in words
        for index, part in enumerate(word.split("-"))
        if part
    ]
    if not letters or not parts or parts[0][0][0] != letters[0]:
        return False
    return _matches_letters(parts, letters)


def _matches_letters(parts: list[tuple[str, bool]], letters: list[str]) -> bool:
    """Return whether the parts contribute the letters in order; each is (word, optional)."""
    if not parts:
        return not letters
    (word, optional), other_parts = parts[0], parts[1:]
    if optional and _matches_letters(other_parts, letters):
        return True
    if not letters or word[0] != letters[0]:
        return False
    count = 1
    position = 1
    while True:
        if _matches_letters(other_parts, letters[count:]):
            return True
        if count >= len(letters) or (position := word.find(letters[count], position)) < 0:
            return False
        count, position = count + 1, position + 1
