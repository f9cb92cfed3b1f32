"""A question said with an abbreviation and with what it stands for, by the book's own words."""

import re
from functools import lru_cache, partial

from citewell.text.terms import STOPWORDS
from citewell.text.vocabulary import Vocabulary, abbreviations_in, is_english

_ALONE = r"(?<![\w-]){}(?![\w-])"


def expand_abbreviations(question: str, vocabulary: Vocabulary) -> str | None:
    """Return the question with “IK (inverse kinematics)” for “IK”, and the other way round.

    Either way of asking then has the words of both. Nothing if it has neither.
    """
    said = question
    for short, long in vocabulary.abbreviations.items():
        written, spoken = _short_form_pattern(short, question), _long_form_pattern(long, question)
        if written and not spoken:
            said = written.sub(partial(_both_forms, short, _lowercase_initial(long)), said, count=1)
        elif spoken and not written:
            said = spoken.sub(partial(_both_forms, "", short), said, count=1)
    return said if said != question else None


def _both_forms(asked: str, other: str, found: re.Match[str]) -> str:
    return f"{asked or found[0]} ({other})"


@lru_cache(maxsize=256)
def without_expansions(question: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without what `expand_abbreviations` put in.

    The forms that it was asked in.
    """
    forms = []
    for short, long in list(abbreviations_in(question)):
        for form, other in ((short, long), (long, short)):
            if f"{form} ({other})" in question:
                question = question.replace(f"{form} ({other})", form)
                forms.append(form)
    return question, tuple(forms)


def _short_form_pattern(short: str, question: str) -> re.Pattern[str] | None:
    """Match the abbreviation as written, or in small letters if that is no other word."""
    exact = re.compile(_ALONE.format(re.escape(short)))
    if exact.search(question):
        return exact
    small = short.lower()
    loose = re.compile(_ALONE.format(re.escape(small)))
    if small in STOPWORDS or is_english(small) or not loose.search(question):
        return None
    return loose


def _long_form_pattern(long: str, question: str) -> re.Pattern[str] | None:
    loose = re.compile(_ALONE.format(re.escape(long)), re.I)
    return loose if loose.search(question) else None


def _lowercase_initial(long: str) -> str:
    """Return it as within a sentence: a capital that only began one is taken off."""
    first, _, rest = long.partition(" ")
    return long if first[1:] != first[1:].lower() or rest != rest.lower() else long.lower()
