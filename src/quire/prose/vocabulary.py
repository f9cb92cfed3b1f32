"""The words a book uses, as it spells them, and the abbreviations it explains."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from quire.prose.abbreviations import abbreviations_in
from quire.prose.plain import plain
from quire.prose.terms import stem

_WORD = re.compile(r"(?<![\w/.`])[^\W\d_]{3,}(?![\w/`])")


@cache
def english_stems() -> frozenset[str]:
    """Give the stems of common English words."""
    text = files("quire.prose").joinpath("english.txt").read_text("utf-8")
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
