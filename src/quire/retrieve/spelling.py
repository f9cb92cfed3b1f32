"""Slips of the keys put right by the book's own words; what may be a name is left alone."""

import re
from collections.abc import Iterator, Mapping

from quire.prose.terms import STOPWORDS, TermStatistics, terms
from quire.prose.vocabulary import Vocabulary, is_english

SHORT, LONG = 6, 9
"""Below the first length only swapped, doubled and missing letters are slips, for many short words
are one letter apart; from the second length on, two slips may be in one word."""
_WORD = re.compile(r"(?<![\w/.`@#-])[^\W\d_]{4,}(?![\w/`@(-]|\.\w)")
_CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
_SPELLINGS = (("iz", "is"), ("yz", "ys"), ("or", "our"), ("er", "re"), ("l", "ll"), ("og", "ogue"))
"""American and British."""


def corrected(question: str, vocabulary: Vocabulary, statistics: TermStatistics) -> str:
    """Give the question with words the book does not know as the book spells them.

    Only words that are no English ones either, and are not written as names and identifiers are.
    """
    if not vocabulary.words:
        return question
    kept = [found.span() for found in _CODE.finditer(question)]

    def put_right(found: re.Match[str]) -> str:
        word = found[0]
        quoted = any(start <= found.start() < end for start, end in kept)
        if quoted or not _may_be_slip(word, first=not question[: found.start()].strip()):
            return word
        right = _right_spelling(word.lower(), vocabulary, statistics)
        return right if word.islower() else right[:1].upper() + right[1:]

    return _WORD.sub(put_right, question)


def _may_be_slip(word: str, *, first: bool) -> bool:
    return word.islower() or (first and word[1:].islower())


def _right_spelling(word: str, vocabulary: Vocabulary, statistics: TermStatistics) -> str:
    if word in STOPWORDS or word in vocabulary.words:
        return word
    for variant in _variants(word):
        if variant in vocabulary.words:
            return variant
    if _is_known(word, statistics) or is_english(word):
        return word
    return _nearest(word, vocabulary.words) or word


def _is_known(word: str, statistics: TermStatistics) -> bool:
    return any(term in statistics.frequency for term in terms(word))


def _variants(word: str) -> Iterator[str]:
    """Give the word as it is written on the other side of the Atlantic."""
    for one, other in _SPELLINGS:
        for found in re.finditer(f"(?<=..){one}", word):
            yield word[: found.start()] + other + word[found.end() :]
        for found in re.finditer(f"(?<=..){other}", word):
            yield word[: found.start()] + one + word[found.end() :]


def _nearest(word: str, known: Mapping[str, int]) -> str | None:
    """Give the word of the book that it is a slip of: the nearest, then the commonest."""
    reach = 2 if len(word) >= LONG else 1
    best: tuple[int, int, str] | None = None
    for other, count in (*known.items(), *((stopword, 0) for stopword in STOPWORDS)):
        # The first letter is seldom wrong, and holding to it keeps names apart.
        if other[0] != word[0] or abs(len(other) - len(word)) > reach or len(other) < len("what"):
            continue
        far = slips(word, other, reach)
        if far > reach or (len(word) < SHORT and _is_exchange(word, other)):
            continue
        if best is None or (far, -count, other) < best:
            best = (far, -count, other)
    return best[2] if best else None


def _is_exchange(word: str, other: str) -> bool:
    return len(word) == len(other) and sorted(word) != sorted(other)


def slips(one: str, other: str, most: int) -> int:
    """Count letters missing, added, exchanged or swapped with the next; `most` + 1 if more.

    This is the distance of optimal string alignment.
    """
    older: list[int] = []
    last = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        row = [i]
        for j, right in enumerate(other, start=1):
            far = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                far = min(far, older[j - 2] + 1)
            row.append(far)
        if min(row) > most:
            return most + 1
        older, last = last, row
    return min(last[-1], most + 1)
