"""Question analysis before the search: small talk, language, and spelling."""

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
"""Words in this share of the passages belong to the language of the book."""
MIN_FUNCTION_WORDS = 2
"""Function words that identify a language in Latin script."""
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
    """How to recognize a language, and its notice that the book is in English."""

    name: str
    notice: str
    words: frozenset[str]
    """Function words in Latin script."""
    letters: re.Pattern[str]
    """Letters that English does not use."""
    definition_question: re.Pattern[str]
    """“What is X?” in this language."""


@cache
def _languages() -> tuple[Language, ...]:
    table = tomllib.loads(files("citewell.questions").joinpath("languages.toml").read_text("utf-8"))
    return tuple(_language(one) for one in table["language"])


def _language(one: dict[str, str]) -> Language:
    letters = one.get("letters")
    definition_question = one.get("defines", _NEVER)
    for placeholder, topic in _TOPICS.items():
        definition_question = definition_question.replace(placeholder, topic)
    return Language(
        name=one["name"],
        notice=one.get("notice", ""),
        words=frozenset(one.get("words", "").split()),
        # A single letter may be a symbol.
        letters=re.compile(rf"[{letters}]\w*[{_NOT_LATIN}]" if letters else _NEVER),
        definition_question=re.compile(f"{definition_question}{_END}", re.I),
    )


def foreign_language(question: str, statistics: TermStatistics) -> Language | None:
    """Return the language of a question that is not in English; `None` if in doubt."""
    words = [word.lower() for word in _LETTERS.findall(question)]
    english = sum(word in STOPWORDS for word in words)
    for language in _languages():
        # English questions can contain foreign words.
        if language.letters.search(question) and not english:
            foreign = [word for word in words if not word.isascii()]
            return None if _are_book_words(foreign, statistics) else language
    best = max(_languages(), key=lambda one: sum(word in one.words for word in words))
    function_words = [word for word in words if word in best.words]
    required = 1 if best.definition_question.fullmatch(question.strip()) else MIN_FUNCTION_WORDS
    unambiguous = [word for word in function_words if word not in STOPWORDS]
    if (
        len(function_words) < max(required, english + 1)
        or not unambiguous
        or _are_book_words(unambiguous, statistics)
    ):
        return None
    return best


def _are_book_words(words: list[str], statistics: TermStatistics) -> bool:
    """Return whether the book uses these words, so that it is not only in English."""
    common = COMMON_TERM_SHARE * statistics.documents
    used = sum(statistics.frequency.get(stem(word), 0) > common for word in words)
    return 2 * used > len(words)


def translate_definition_question(
    question: str, language: Language, statistics: TermStatistics
) -> str | None:
    """Return “What is X?” for a definition question about a term of the book.

    Other questions are not translated, since a wrong guess could answer another question.
    """
    match = language.definition_question.fullmatch(question.strip())
    topic_terms = terms(match["topic"]) if match else ()
    if match and topic_terms and all(term in statistics.frequency for term in topic_terms):
        return f"What is {match['topic'].strip()}?"
    return None


def language_notice(language: Language) -> str:
    """Return the notice that the book is in English, in both languages."""
    if not language.notice:
        return "The book is in English, and I can only read questions in English."
    english = "The book is in English; please ask your question in English."
    return f"{language.notice} {english}"


SHORT, LONG = 6, 9
"""Below the first length, a substituted letter is no typo, since many short words differ by one
letter; from the second length on, a word may have two typos."""
_SPELLED_WORD = re.compile(r"(?<![\w/.`@#-])[^\W\d_]{4,}(?![\w/`@(-]|\.\w)")
_CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
_SPELLINGS = (("iz", "is"), ("yz", "ys"), ("or", "our"), ("er", "re"), ("l", "ll"), ("og", "ogue"))
"""American and British variants."""


def correct_spelling(question: str, vocabulary: Vocabulary, statistics: TermStatistics) -> str:
    """Return the question with typos corrected to words of the book.

    Known English words, names and identifiers are left unchanged.
    """
    if not vocabulary.words:
        return question
    quoted_spans = [match.span() for match in _CODE.finditer(question)]

    def correct(match: re.Match[str]) -> str:
        word = match[0]
        quoted = any(start <= match.start() < end for start, end in quoted_spans)
        if quoted or not _may_be_typo(word, first=not question[: match.start()].strip()):
            return word
        spelling = _find_spelling(word.lower(), vocabulary, statistics)
        return spelling if word.islower() else spelling[:1].upper() + spelling[1:]

    return _SPELLED_WORD.sub(correct, question)


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
    for one, other in _SPELLINGS:
        for found in re.finditer(f"(?<=..){one}", word):
            yield word[: found.start()] + other + word[found.end() :]
        for found in re.finditer(f"(?<=..){other}", word):
            yield word[: found.start()] + one + word[found.end() :]


def _closest_word(word: str, known: Mapping[str, int]) -> str | None:
    """Return the closest word of the book, of equal ones the most frequent."""
    max_distance = 2 if len(word) >= LONG else 1
    best: tuple[int, int, str] | None = None
    for other, count in (*known.items(), *((stopword, 0) for stopword in STOPWORDS)):
        # Typos in the first letter are rare, and names often differ in it.
        if (
            other[0] != word[0]
            or abs(len(other) - len(word)) > max_distance
            or len(other) < len("what")
        ):
            continue
        distance = edit_distance(word, other, max_distance)
        if distance > max_distance or (len(word) < SHORT and _is_substitution(word, other)):
            continue
        if best is None or (distance, -count, other) < best:
            best = (distance, -count, other)
    return best[2] if best else None


def _is_substitution(word: str, other: str) -> bool:
    return len(word) == len(other) and sorted(word) != sorted(other)


def edit_distance(one: str, other: str, maximum: int) -> int:
    """Return the optimal string alignment distance; `maximum` + 1 if it is larger."""
    before_last: list[int] = []
    last = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        row = [i]
        for j, right in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        if min(row) > maximum:
            return maximum + 1
        before_last, last = last, row
    return min(last[-1], maximum + 1)


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
_MAX_WORDS = 12
"""Longer phrases are no small talk."""


def small_talk(text: str) -> SmallTalkKind | None:
    """Return the kind of small talk; `None` if any part may be a question."""
    lowered = text.lower()
    for short, long in _CONTRACTIONS:
        lowered = lowered.replace(short, long)
    parts = [words for part in _BREAK.split(lowered) if (words := part.split())]
    if not parts:
        return "nothing"
    kinds: set[SmallTalkKind] = set()
    for words in parts:
        part_kinds = _kinds(words)
        if not part_kinds:
            return None
        kinds |= part_kinds
    return next(kind for kind in _phrases() if kind in kinds)


def _kinds(words: list[str]) -> set[SmallTalkKind]:
    """Return the kinds of the phrases in the words; nothing if some words belong to no phrase.

    Phrases can follow each other without a comma: “ok thanks bye”.
    """
    if len(words) > _MAX_WORDS:
        return set()
    reached: list[set[SmallTalkKind] | None] = [set(), *([None] * len(words))]
    for end in range(1, len(words) + 1):
        for start in range(end):
            previous = reached[start]
            kind = _phrase_kind(" ".join(words[start:end])) if previous is not None else None
            if previous is not None and kind:
                reached[end] = previous | {kind}
                break  # the longest phrase that ends here
    return reached[-1] or set()


def _phrase_kind(phrase: str) -> SmallTalkKind | None:
    return next((kind for kind, known in _phrases().items() if known.fullmatch(phrase)), None)


@cache
def _phrases() -> dict[SmallTalkKind, re.Pattern[str]]:
    """Load the phrases by kind, in the order of the file."""
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
    """The result of the analysis."""

    text: str
    """The question with corrected spelling, translated if possible."""
    small_talk_kind: SmallTalkKind | None = None
    foreign_language: Language | None = None
    """The language of a question that could not be translated."""


def analyze_question(text: str, index: Index) -> AnalyzedQuestion:
    """Detect small talk and foreign languages, and correct the spelling."""
    if kind := small_talk(text):
        return AnalyzedQuestion(text, small_talk_kind=kind)
    if language := foreign_language(text, index.statistics):
        english = translate_definition_question(text, language, index.statistics)
        if english:
            return AnalyzedQuestion(english)
        return AnalyzedQuestion(text, foreign_language=language)
    return AnalyzedQuestion(correct_spelling(text, index.vocabulary, index.statistics))
