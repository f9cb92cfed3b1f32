"""The words of a text that carry meaning, stemmed, with identifiers kept whole and in parts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import fsum, log
from threading import Lock

from Stemmer import Stemmer

from citewell.text.memo import memoize_text

_TOKEN = re.compile(r"[^\W_]+(?:[_./:+'’-][^\W_]+)*\+{0,2}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_CAMEL = re.compile(r"[a-z][A-Z]")
_JOINT = re.compile(r"[_./:+'’-]")
_STEMMER = Stemmer("english", 0)  # without a cache of its own: `stem` has one
_STEMMING = Lock()  # the stemmer keeps the word it works on, and questions are read in threads

STOPWORDS = frozenset(
    re.findall(
        r"\S+",
        """
        a about above after again all also am an and any are as at be because been before being
        below between both but by can could did do does doing done down during each either else
        ever every few for from further had has have having he her here hers him his how however i
        if in into is it its itself just let like made make makes many may me might more most much
        must my need needed no nor not now of off on once one only onto or other our ours out over
        own per please really same say she should since so some such tell than that the their
        theirs them then there these they thing things this those through to too under until up
        upon us use used uses using very via want was way we well were what when where whether
        which while who whom whose why will with within without would yes you your yours explain
        describe definition define mean means meaning book chapter section text according example
        examples give given get got know work works question answer
        """,
    )
)

_SHORTENED = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m))$")
_NOT = ("can't", "won't", "shan't", "ain't")

LONGEST_WORD = 200
"""What is longer is no word: it is neither stemmed nor remembered."""
CAMEL_PART = 3
"""Least length of a word within a word."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of one lower-case word."""
    with _STEMMING:
        return str(_STEMMER.stemWord(word))


def words(text: str) -> list[str]:
    """Split into words and identifiers, as written."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=65536)
def _expand(word: str) -> tuple[str, ...]:
    lower = word.lower().replace("’", "'").removesuffix("'s")
    parts = [p.lower() for p in _PART.findall(word)]
    whole = stem(lower) if lower.isalpha() else lower
    if len(parts) == 1 or not parts or (lower.isalpha() and not _CAMEL.search(word)):
        return (whole,)
    # An identifier matches as itself and by its words: `cmd_vel` is found by "cmd vel". Without
    # marks between them, only what is long enough is a word: `LaserScan` has two, `QoS` has none.
    least = CAMEL_PART if lower.isalpha() else 2
    # A type is asked for without its package: `TwistStamped` of `geometry_msgs/msg/TwistStamped`.
    types = [t.lower() for t in _JOINT.split(word) if _CAMEL.search(t) and t != word]
    found = (*types, *(p for p in parts if len(p) >= least and p not in STOPWORDS))
    return (whole, *(stem(p) for p in found))


def _is_small(word: str) -> bool:
    """Whether a word carries no meaning: “the”, “what's”, “doesn't”."""
    lower = word.lower().replace("’", "'")
    return lower in STOPWORDS or _SHORTENED.sub("", lower) in STOPWORDS or lower in _NOT


@memoize_text(8192)
def terms(text: str) -> tuple[str, ...]:
    """Return the meaning-carrying stems of `text`, in order, repeats kept."""
    return tuple(
        part
        for word in words(text)
        if not _is_small(word)
        for part in (_expand(word) if len(word) <= LONGEST_WORD else (word.lower(),))
        if len(part) > 1 or part.isdigit()
    )


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How rare each term is in one book."""

    documents: int = 0
    frequency: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def count(cls, texts: Iterable[str]) -> "TermStatistics":
        """Count in how many of `texts` each term occurs."""
        frequency: dict[str, int] = {}
        total = 0
        for total, text in enumerate(texts, start=1):  # noqa: B007 - the last index is the count
            for term in set(terms(text)):
                frequency[term] = frequency.get(term, 0) + 1
        return cls(total, frequency)

    def weight(self, term: str) -> float:
        """Return the inverse document frequency: high for rare terms, highest for unknown ones."""
        return log(1 + (self.documents + 0.5) / (self.frequency.get(term, 0) + 0.5))

    def coverage(self, wanted: Iterable[str], present: Iterable[str]) -> float:
        """Return the share of the wanted terms' weight that is present, from 0 to 1."""
        have = set(present)
        need = set(wanted)
        # Summed exactly: in any order, a part is never more than the whole.
        total = fsum(self.weight(term) for term in need)
        return fsum(self.weight(term) for term in need & have) / total if total else 0.0
