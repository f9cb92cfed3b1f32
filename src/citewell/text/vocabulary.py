"""The words a book uses, as it spells them, and the abbreviations it explains."""

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
    """Whether it is a form of a common English word."""
    return stem(word.lower()) in english_stems()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How one book writes."""

    words: Mapping[str, int] = field(default_factory=dict)
    """In lower case, with how often each occurs."""
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    """Short form to long form, each as the book writes it most often."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """Read the vocabulary of texts."""
        counts = VocabularyCounts()
        for text in texts:
            counts.add(text)
        return counts.vocabulary


class VocabularyCounts:
    """Gathers a vocabulary text by text."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._words: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def add(self, text: str) -> None:
        """Read one text."""
        said = plain(text)
        self._words.update(word.lower() for word in _WORD.findall(said))
        self._pairs.update(abbreviations_in(said))

    @property
    def vocabulary(self) -> Vocabulary:
        """What was read so far."""
        chosen: dict[str, str] = {}
        # Sorted, so that equal counts give the same choice wherever the book is ingested.
        for (short, long), _ in sorted(self._pairs.items(), key=lambda one: (-one[1], one[0])):
            chosen.setdefault(short, long)
        return Vocabulary(dict(sorted(self._words.items())), dict(sorted(chosen.items())))


_IN_BRACKETS = re.compile(r"\(([^()\n]{2,60})\)")
_SHORT = re.compile(r"[A-Za-z][A-Za-z0-9-]{1,8}")
_SPOKEN_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_CLAUSE = re.compile(r"[.:;!?()\[\]|\n,“”\"]")
SKIPPABLE_WORDS = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "per", "the", "to")
)
"""Words whose letters an abbreviation may leave out."""


def abbreviations_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield (short, long) for each “long form (LF)” and each “LF (long form)”."""
    for found in _IN_BRACKETS.finditer(text):
        inside = found[1].strip()
        before = _CLAUSE.split(text[max(0, found.start() - 120) : found.start()])[-1]
        if _is_short(inside):
            if long := _long_form(inside, before):
                yield inside, long
        elif (short := before.split()[-1:]) and _is_short(short[0]):
            long = _long_form(short[0], inside)
            if long and long == " ".join(_SPOKEN_WORD.findall(inside)):
                yield short[0], long


def _is_short(text: str) -> bool:
    """Whether it is written as abbreviations are: at least two capitals."""
    return bool(_SHORT.fullmatch(text)) and sum(letter.isupper() for letter in text) > 1


def _long_form(short: str, before: str) -> str | None:
    """Return the last words of `before` whose letters, in order, make up `short`.

    Every word of them gives its first letter, except small words and the halves of hyphenated ones:
    a looser match would take in words that only happen to hold the letters.
    """
    letters = [letter.lower() for letter in short.rstrip("s") if letter.isalpha()]
    spoken = _SPOKEN_WORD.findall(before)
    # The fewest words that do it: “we use simultaneous localisation and mapping (SLAM)”.
    for count in range(1, min(len(spoken), 2 * len(letters) + 2) + 1):
        taken = spoken[-count:]
        if taken[0].lower() not in SKIPPABLE_WORDS and _spells(taken, letters):
            return " ".join(taken)
    return None


def _spells(taken: list[str], letters: list[str]) -> bool:
    heads = [
        (part.lower(), place > 0 or part.lower() in SKIPPABLE_WORDS)
        for word in taken
        for place, part in enumerate(word.split("-"))
        if part
    ]
    return bool(letters and heads) and heads[0][0][0] == letters[0] and _covers(heads, letters)


def _covers(heads: list[tuple[str, bool]], letters: list[str]) -> bool:
    """Whether the letters can be dealt out in order, some to each word that may not go without."""
    if not heads:
        return not letters
    (word, may_miss), rest = heads[0], heads[1:]
    if may_miss and _covers(rest, letters):
        return True
    if not letters or word[0] != letters[0]:
        return False
    given = 1
    place = 1
    while True:
        if _covers(rest, letters[given:]):
            return True
        if given >= len(letters) or (place := word.find(letters[given], place)) < 0:
            return False
        given, place = given + 1, place + 1
