"""Which language a question is in, told by its letters and its small words.

The languages are in `languages.toml`.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from quire.prose.terms import STOPWORDS, TermStatistics, stem, terms

COMMON = 0.02
"""A word in this share of the passages belongs to the book's language."""
LEAST_WORDS = 2
"""How many small words of a language a question in Latin letters must have."""
_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = "\u0370-\u1fff\u3040-\uffff"
_NEVER = "(?!)"
_TOPICS = {
    "<any>": r"(?P<topic>[^?¿？؟।]+?)",
    "<english>": r"(?P<topic>[A-Za-z0-9][A-Za-z0-9 _./+-]*?)",
}
_END = r"\s*[?？؟।.]*\s*"


@dataclass(frozen=True, slots=True)
class Language:
    """What tells a language from English, and how it says that the book is in English."""

    name: str
    notice: str
    words: frozenset[str]
    """Small words in Latin letters."""
    letters: re.Pattern[str]
    """Letters that English does not have."""
    defines: re.Pattern[str]
    """“What is X?”"""


@cache
def _languages() -> tuple[Language, ...]:
    table = tomllib.loads(files("quire.retrieve").joinpath("languages.toml").read_text("utf-8"))
    return tuple(_language(one) for one in table["language"])


def _language(one: dict[str, str]) -> Language:
    letters = one.get("letters")
    defines = one.get("defines", _NEVER)
    for mark, topic in _TOPICS.items():
        defines = defines.replace(mark, topic)
    return Language(
        name=one["name"],
        notice=one.get("notice", ""),
        words=frozenset(one.get("words", "").split()),
        # One letter alone may be a symbol.
        letters=re.compile(rf"[{letters}]\w*[{_NOT_LATIN}]" if letters else _NEVER),
        defines=re.compile(f"{defines}{_END}", re.I),
    )


def foreign_language(question: str, statistics: TermStatistics) -> Language | None:
    """Give the language of a question that is not in the book's; nothing where in doubt."""
    words = [word.lower() for word in _WORD.findall(question)]
    english = sum(word in STOPWORDS for word in words)
    for language in _languages():
        # An English question may ask about a foreign word.
        if language.letters.search(question) and not english:
            told = [word for word in words if not word.isascii()]
            return None if _is_of_book(told, statistics) else language
    best = max(_languages(), key=lambda one: sum(word in one.words for word in words))
    told = [word for word in words if word in best.words]
    enough = 1 if best.defines.fullmatch(question.strip()) else LEAST_WORDS
    only = [word for word in told if word not in STOPWORDS]
    if len(told) < enough or len(told) <= english or not only or _is_of_book(only, statistics):
        return None
    return best


def _is_of_book(words: list[str], statistics: TermStatistics) -> bool:
    """Whether the book itself uses these words, so that it is not in English, or not only."""
    common = COMMON * statistics.documents
    used = sum(statistics.frequency.get(stem(word), 0) > common for word in words)
    return 2 * used > len(words)


def in_english(question: str, language: Language, statistics: TermStatistics) -> str | None:
    """Give “What is X?” for a question that asks just that about something the book names.

    Anything else would have to be translated, and a guess might answer what was not asked.
    """
    found = language.defines.fullmatch(question.strip())
    named = terms(found["topic"]) if found else ()
    if found and named and all(term in statistics.frequency for term in named):
        return f"What is {found['topic'].strip()}?"
    return None


def notice_of(language: Language) -> str:
    """Say in both languages that the book is in English."""
    if not language.notice:
        return "The book is in English, and I can only read questions in English."
    english = "The book is in English; please ask your question in English."
    return f"{language.notice} {english}"
