"""A question said with an abbreviation and with what it stands for, by the book's own words."""

import re
from functools import partial

from quire.prose.terms import STOPWORDS
from quire.prose.vocabulary import Vocabulary, is_english

_ALONE = r"(?:\b(?P<article>an?|An?)\s+)?(?<![\w-]){}(?![\w-])"


def said_in_full(question: str, vocabulary: Vocabulary) -> str | None:
    """Give the question with “inverse kinematics (IK)” for either of them; nothing if it has none.

    Both ways of asking become the same question, so that both find the same.
    """
    said = question
    for short, long in vocabulary.abbreviations.items():
        if long.lower() in question.lower() and _written(short, question):
            continue
        pattern = _written(short, question) or _spoken(long, question)
        if pattern:
            said = pattern.sub(partial(_in_full, short, _mid(long)), said, count=1)
    return said if said != question else None


def _in_full(short: str, long: str, found: re.Match[str]) -> str:
    article = found["article"] or ""
    if article.lower() in ("a", "an"):  # “an LQR”, but “a linear quadratic regulator”
        article = f"{article[0]}{'n' if long[0].lower() in 'aeiou' else ''}"
    return f"{article}{' ' if article else ''}{long} ({short})"


def _written(short: str, question: str) -> re.Pattern[str] | None:
    """Match the abbreviation as written, or in small letters if that is no other word."""
    exact = re.compile(_ALONE.format(re.escape(short)))
    if exact.search(question):
        return exact
    small = short.lower()
    loose = re.compile(_ALONE.format(re.escape(small)))
    if small in STOPWORDS or is_english(small) or not loose.search(question):
        return None
    return loose


def _spoken(long: str, question: str) -> re.Pattern[str] | None:
    loose = re.compile(_ALONE.format(re.escape(long)), re.I)
    return loose if loose.search(question) else None


def _mid(long: str) -> str:
    """Give it as within a sentence: a capital that only began one is taken off."""
    first, _, rest = long.partition(" ")
    return long if first[1:] != first[1:].lower() or rest != rest.lower() else long.lower()
