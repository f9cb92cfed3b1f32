"""Expand abbreviations in questions, by the definitions in the book."""

import re
from functools import lru_cache, partial

from citewell.text.terms import STOPWORDS
from citewell.text.vocabulary import Vocabulary, abbreviations_in, is_english

_WHOLE_WORD = r"(?<![\w-]){}(?![\w-])"


def expand_abbreviations(question: str, vocabulary: Vocabulary) -> str | None:
    """Return the question with “IK (inverse kinematics)” for “IK”, and vice versa.

    Return `None` if it contains no known abbreviation.
    """
    expanded = question
    for short, long in vocabulary.abbreviations.items():
        short_form = _short_form_pattern(short, question)
        long_form = _long_form_pattern(long, question)
        if short_form and not long_form:
            both_forms = partial(_both_forms, short, _lowercase_initial(long))
            expanded = short_form.sub(both_forms, expanded, count=1)
        elif long_form and not short_form:
            expanded = long_form.sub(partial(_both_forms, "", short), expanded, count=1)
    return expanded if expanded != question else None


def _both_forms(kept: str, added: str, match: re.Match[str]) -> str:
    return f"{kept or match[0]} ({added})"


@lru_cache(maxsize=256)
def without_expansions(question: str) -> tuple[str, tuple[str, ...]]:
    """Undo `expand_abbreviations`; return the question, and the forms that it used."""
    forms = []
    for short, long in list(abbreviations_in(question)):
        for form, added in ((short, long), (long, short)):
            if f"{form} ({added})" in question:
                question = question.replace(f"{form} ({added})", form)
                forms.append(form)
    return question, tuple(forms)


def _short_form_pattern(short: str, question: str) -> re.Pattern[str] | None:
    """Match the abbreviation exactly, or in lower case if that is no English word."""
    exact = re.compile(_WHOLE_WORD.format(re.escape(short)))
    if exact.search(question):
        return exact
    lower = short.lower()
    lowercase = re.compile(_WHOLE_WORD.format(re.escape(lower)))
    if lower in STOPWORDS or is_english(lower) or not lowercase.search(question):
        return None
    return lowercase


def _long_form_pattern(long: str, question: str) -> re.Pattern[str] | None:
    pattern = re.compile(_WHOLE_WORD.format(re.escape(long)), re.I)
    return pattern if pattern.search(question) else None


def _lowercase_initial(long: str) -> str:
    """Lowercase a capital that only marks the beginning of a sentence."""
    first, _, rest = long.partition(" ")
    return long if first[1:] != first[1:].lower() or rest != rest.lower() else long.lower()
