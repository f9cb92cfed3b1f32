"""Terms for keyword matching: stems without stopwords; identifiers whole and in parts."""

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
_SEPARATOR = re.compile(r"[_./:+'’-]")
_STEMMER = Stemmer("english", 0)  # without its own cache: `stem` has one
_STEMMER_LOCK = Lock()  # the stemmer is not thread-safe

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

_CONTRACTION = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m))$")
_NEGATED_CONTRACTIONS = ("can't", "won't", "shan't", "ain't")

MAX_WORD_CHARS = 200
"""Longer words are neither stemmed nor cached."""
MIN_CAMEL_PART_CHARS = 3
"""Minimum length of a part of a CamelCase identifier."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of one lower-case word."""
    with _STEMMER_LOCK:
        return str(_STEMMER.stemWord(word))


def words(text: str) -> list[str]:
    """Split a text into words and identifiers."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=65536)
def _expand(word: str) -> tuple[str, ...]:
    lower = word.lower().replace("’", "'").removesuffix("'s")
    parts = [p.lower() for p in _PART.findall(word)]
    whole_term = stem(lower) if lower.isalpha() else lower
    if len(parts) == 1 or not parts or (lower.isalpha() and not _CAMEL.search(word)):
        return (whole_term,)
    # An identifier matches whole and by its parts: "cmd vel" matches `cmd_vel`. Parts of CamelCase
    # must be longer: `LaserScan` has two, `QoS` has none.
    min_chars = MIN_CAMEL_PART_CHARS if lower.isalpha() else 2
    # Questions name types without their package: `TwistStamped`, not
    # `geometry_msgs/msg/TwistStamped`.
    type_names = [t.lower() for t in _SEPARATOR.split(word) if _CAMEL.search(t) and t != word]
    long_parts = [p for p in parts if len(p) >= min_chars and p not in STOPWORDS]
    return (whole_term, *(stem(p) for p in (*type_names, *long_parts)))


def _is_stopword(word: str) -> bool:
    """Return whether a word is a stopword or a contraction of one: “the”, “what's”, “doesn't”."""
    lower = word.lower().replace("’", "'")
    return (
        lower in STOPWORDS
        or _CONTRACTION.sub("", lower) in STOPWORDS
        or lower in _NEGATED_CONTRACTIONS
    )


@memoize_text(8192)
def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text in order, with repetitions."""
    return tuple(
        part
        for word in words(text)
        if not _is_stopword(word)
        for part in (_expand(word) if len(word) <= MAX_WORD_CHARS else (word.lower(),))
        if len(part) > 1 or part.isdigit()
    )


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """The document frequency of terms in a book."""

    documents: int = 0
    frequency: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def count(cls, texts: Iterable[str]) -> "TermStatistics":
        """Count the document frequency of each term in `texts`."""
        frequency: dict[str, int] = {}
        total = 0
        for total, text in enumerate(texts, start=1):  # noqa: B007 - the last index is the count
            for term in set(terms(text)):
                frequency[term] = frequency.get(term, 0) + 1
        return cls(total, frequency)

    def weight(self, term: str) -> float:
        """Return the inverse document frequency of a term."""
        return log(1 + (self.documents + 0.5) / (self.frequency.get(term, 0) + 0.5))

    def coverage(self, wanted: Iterable[str], present: Iterable[str]) -> float:
        """Return the share of the wanted terms that are present, weighted by rarity."""
        wanted = set(wanted)
        # `fsum` is independent of the order, so a part is never more than the whole.
        total = fsum(self.weight(term) for term in wanted)
        return fsum(self.weight(term) for term in wanted & set(present)) / total if total else 0.0
