"""What a message is, before anything is searched: talk, another language, or a question."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from citewell.ports import Index
from citewell.text.terms import STOPWORDS, TermStatistics, stem, terms
from citewell.text.vocabulary import Vocabulary, is_english

COMMON_TERM_SHARE = 0.02
"""A word in this share of the passages belongs to the book's language."""
LEAST_WORDS = 2
"""How many small words of a language a question in Latin letters must have."""
_LETTERS = re.compile(r"[^\W\d_]+")
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
    table = tomllib.loads(files("citewell.questions").joinpath("languages.toml").read_text("utf-8"))
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
    """Return the language of a question that is not in the book's; nothing where in doubt."""
    words = [word.lower() for word in _LETTERS.findall(question)]
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
    common = COMMON_TERM_SHARE * statistics.documents
    used = sum(statistics.frequency.get(stem(word), 0) > common for word in words)
    return 2 * used > len(words)


def translate_definition_question(
    question: str, language: Language, statistics: TermStatistics
) -> str | None:
    """Return “What is X?” for a question that asks just that about something the book names.

    Anything else would have to be translated, and a guess might answer what was not asked.
    """
    found = language.defines.fullmatch(question.strip())
    named = terms(found["topic"]) if found else ()
    if found and named and all(term in statistics.frequency for term in named):
        return f"What is {found['topic'].strip()}?"
    return None


def language_notice(language: Language) -> str:
    """Return a notice in both languages that the book is in English."""
    if not language.notice:
        return "The book is in English, and I can only read questions in English."
    english = "The book is in English; please ask your question in English."
    return f"{language.notice} {english}"


SHORT, LONG = 6, 9
"""Below the first length only swapped, doubled and missing letters are slips, for many short words
are one letter apart; from the second length on, two slips may be in one word."""
_SPELLED_WORD = re.compile(r"(?<![\w/.`@#-])[^\W\d_]{4,}(?![\w/`@(-]|\.\w)")
_CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
_SPELLINGS = (("iz", "is"), ("yz", "ys"), ("or", "our"), ("er", "re"), ("l", "ll"), ("og", "ogue"))
"""American and British."""


def correct_spelling(question: str, vocabulary: Vocabulary, statistics: TermStatistics) -> str:
    """Return the question with words the book does not know as the book spells them.

    Only words that are no English ones either, and are not written as names and identifiers are.
    """
    if not vocabulary.words:
        return question
    kept = [found.span() for found in _CODE.finditer(question)]

    def put_right(found: re.Match[str]) -> str:
        word = found[0]
        quoted = any(start <= found.start() < end for start, end in kept)
        if quoted or not _may_be_typo(word, first=not question[: found.start()].strip()):
            return word
        right = _find_spelling(word.lower(), vocabulary, statistics)
        return right if word.islower() else right[:1].upper() + right[1:]

    return _SPELLED_WORD.sub(put_right, question)


def _may_be_typo(word: str, *, first: bool) -> bool:
    return word.islower() or (first and word[1:].islower())


def _find_spelling(word: str, vocabulary: Vocabulary, statistics: TermStatistics) -> str:
    if word in STOPWORDS or word in vocabulary.words:
        return word
    for variant in _variants(word):
        if variant in vocabulary.words:
            return variant
    if _is_known(word, statistics) or is_english(word):
        return word
    return _closest_word(word, vocabulary.words) or word


def _is_known(word: str, statistics: TermStatistics) -> bool:
    return any(term in statistics.frequency for term in terms(word))


def _variants(word: str) -> Iterator[str]:
    """Yield the word as it is written on the other side of the Atlantic."""
    for one, other in _SPELLINGS:
        for found in re.finditer(f"(?<=..){one}", word):
            yield word[: found.start()] + other + word[found.end() :]
        for found in re.finditer(f"(?<=..){other}", word):
            yield word[: found.start()] + one + word[found.end() :]


def _closest_word(word: str, known: Mapping[str, int]) -> str | None:
    """Return the word of the book that it is a slip of: the nearest, then the commonest."""
    reach = 2 if len(word) >= LONG else 1
    best: tuple[int, int, str] | None = None
    for other, count in (*known.items(), *((stopword, 0) for stopword in STOPWORDS)):
        # The first letter is seldom wrong, and holding to it keeps names apart.
        if other[0] != word[0] or abs(len(other) - len(word)) > reach or len(other) < len("what"):
            continue
        far = edit_distance(word, other, reach)
        if far > reach or (len(word) < SHORT and _is_substitution(word, other)):
            continue
        if best is None or (far, -count, other) < best:
            best = (far, -count, other)
    return best[2] if best else None


def _is_substitution(word: str, other: str) -> bool:
    return len(word) == len(other) and sorted(word) != sorted(other)


def edit_distance(one: str, other: str, most: int) -> int:
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


SmallTalkKind = Literal[
    "abilities",
    "identity",
    "insult",
    "parting",
    "thanks",
    "praise",
    "greeting",
    "assent",
    "nothing",
]

_BREAK = re.compile(r"[^\w\s']+|\s+(?:and|but)\s+|\n")
_CONTRACTIONS = (("’", "'"), ("'s", " is"), ("'re", " are"), ("'m", " am"), ("'", ""))
_MOST_WORDS = 12
"""No small talk is longer than so many words between two breaks."""


def small_talk(text: str) -> SmallTalkKind | None:
    """Return what kind of small talk a message is; nothing if any of it may be a question."""
    said = text.lower()
    for short, long in _CONTRACTIONS:
        said = said.replace(short, long)
    parts = [words for part in _BREAK.split(said) if (words := part.split())]
    if not parts:
        return "nothing"
    kinds: set[SmallTalkKind] = set()
    for words in parts:
        found = _kinds(words)
        if not found:
            return None
        kinds |= found
    return next(kind for kind in _phrases() if kind in kinds)


def _kinds(words: list[str]) -> set[SmallTalkKind]:
    """Return the kinds of the phrases that the words are made of.

    None if they are not, all of them.

    Phrases may follow each other without a comma: “ok thanks bye”.
    """
    if len(words) > _MOST_WORDS:
        return set()
    reached: list[set[SmallTalkKind] | None] = [set(), *([None] * len(words))]
    for end in range(1, len(words) + 1):
        for start in range(end):
            before = reached[start]
            kind = _phrase_kind(" ".join(words[start:end])) if before is not None else None
            if before is not None and kind:
                reached[end] = before | {kind}
                break  # the longest phrase that ends here
    return reached[-1] or set()


def _phrase_kind(phrase: str) -> SmallTalkKind | None:
    return next((kind for kind, known in _phrases().items() if known.fullmatch(phrase)), None)


@cache
def _phrases() -> dict[SmallTalkKind, re.Pattern[str]]:
    """Read the phrases, kinds in the order of the file."""
    lines: dict[str, list[str]] = {}
    heading = ""
    for line in (
        files("citewell.questions").joinpath("smalltalk.txt").read_text("utf-8").splitlines()
    ):
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#"):
            lines.setdefault(heading, []).append(line)
    words: dict[str, str] = {}
    for line in lines.pop("words"):
        name, _, pattern = line.partition(" = ")
        words[name] = f"{words[name]}|{pattern}" if name in words else pattern
    words = {name: f"(?:{pattern})" for name, pattern in words.items()}
    words["very"] = f"(?:{words['very']} )*"
    return {
        kind: re.compile("|".join(_fill_placeholders(line, words) for line in lines[kind]))
        for kind in sorted(set(get_args(SmallTalkKind)) & lines.keys(), key=list(lines).index)
    }


def _fill_placeholders(line: str, words: dict[str, str]) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda found: words[found[1]], line)


@dataclass(frozen=True, slots=True)
class AnalyzedQuestion:
    """A message and what it is."""

    text: str
    """In English and as the book spells, as far as could be told."""
    talk: SmallTalkKind | None = None
    foreign: Language | None = None
    """The language it is in, if that is not the book's and it could not be put into English."""


def analyze_question(text: str, index: Index) -> AnalyzedQuestion:
    """Return what a message is."""
    if talk := small_talk(text):
        return AnalyzedQuestion(text, talk=talk)
    if language := foreign_language(text, index.statistics):
        english = translate_definition_question(text, language, index.statistics)
        return AnalyzedQuestion(english) if english else AnalyzedQuestion(text, foreign=language)
    return AnalyzedQuestion(correct_spelling(text, index.vocabulary, index.statistics))
