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
"""Words in more than this share of the passages belong to the language of the book."""
MIN_FUNCTION_WORDS = 2
"""How many function words identify a language in Latin script."""
_LETTERS = re.compile(r"[^\W\d_]+")
_NOT_LATIN = "\u0370-\u1fff\u3040-\uffff"
_NO_MATCH = "(?!)"
_TOPIC_PATTERNS = {
    "<any>": r"(?P<topic>[^?¿？؟।]+?)",
    "<english>": r"(?P<topic>[A-Za-z0-9][A-Za-z0-9 _./+-]*?)",
}
_QUESTION_END = r"\s*[?？؟।.]*\s*"


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
    return tuple(_language(entry) for entry in table["language"])


def _language(entry: dict[str, str]) -> Language:
    letters = entry.get("letters")
    definition_question = entry.get("defines", _NO_MATCH)
    for placeholder, topic in _TOPIC_PATTERNS.items():
        definition_question = definition_question.replace(placeholder, topic)
    return Language(
        name=entry["name"],
        notice=entry.get("notice", ""),
        words=frozenset(entry.get("words", "").split()),
        # At least two letters, since a single one may be a symbol.
        letters=re.compile(rf"[{letters}]\w*[{_NOT_LATIN}]" if letters else _NO_MATCH),
        definition_question=re.compile(f"{definition_question}{_QUESTION_END}", re.I),
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
    best = max(_languages(), key=lambda language: sum(word in language.words for word in words))
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
    common_words = sum(statistics.frequency.get(stem(word), 0) > common for word in words)
    return 2 * common_words > len(words)


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


MIN_SUBSTITUTION_CHARS = 6
"""In shorter words, a substituted letter is no typo, since many of them differ by one letter."""
MIN_TWO_TYPO_CHARS = 9
"""Words of at least this length may have two typos."""
_SPELLED_WORD = re.compile(r"(?<![\w/.`@#-])[^\W\d_]{4,}(?![\w/`@(-]|\.\w)")
_CODE_OR_QUOTATION = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
_SPELLINGS = {"iz": "is", "yz": "ys", "or": "our", "er": "re", "l": "ll", "og": "ogue"}
"""American spellings with their British variants."""


def correct_spelling(question: str, vocabulary: Vocabulary, statistics: TermStatistics) -> str:
    """Return the question with typos corrected to words of the book.

    Known English words, names and identifiers are left unchanged.
    """
    if not vocabulary.words:
        return question
    quoted_spans = [match.span() for match in _CODE_OR_QUOTATION.finditer(question)]

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
    if _is_book_word(word, statistics) or is_english(word):
        return word
    return _closest_word(word, vocabulary.words) or word


def _is_book_word(word: str, statistics: TermStatistics) -> bool:
    return any(term in statistics.frequency for term in terms(word))


def _variants(word: str) -> Iterator[str]:
    for american, british in _SPELLINGS.items():
        for match in re.finditer(f"(?<=..){american}", word):
            yield word[: match.start()] + british + word[match.end() :]
        for match in re.finditer(f"(?<=..){british}", word):
            yield word[: match.start()] + american + word[match.end() :]


def _closest_word(word: str, book_words: Mapping[str, int]) -> str | None:
    """Return the closest word of the book, of equal ones the most frequent."""
    max_distance = 2 if len(word) >= MIN_TWO_TYPO_CHARS else 1
    best: tuple[int, int, str] | None = None
    for candidate, count in (*book_words.items(), *((stopword, 0) for stopword in STOPWORDS)):
        # Typos in the first letter are rare, and names often differ in it.
        if (
            candidate[0] != word[0]
            or abs(len(candidate) - len(word)) > max_distance
            or len(candidate) < len("what")
        ):
            continue
        distance = edit_distance(word, candidate, max_distance)
        is_short = len(word) < MIN_SUBSTITUTION_CHARS
        if distance > max_distance or (is_short and _is_substitution(word, candidate)):
            continue
        if best is None or (distance, -count, candidate) < best:
            best = (distance, -count, candidate)
    return best[2] if best else None


def _is_substitution(word: str, candidate: str) -> bool:
    return len(word) == len(candidate) and sorted(word) != sorted(candidate)


def edit_distance(first: str, second: str, maximum: int) -> int:
    """Return the optimal string alignment distance; `maximum` + 1 if it is larger."""
    row_before: list[int] = []
    row_above = list(range(len(second) + 1))
    for i, char_1 in enumerate(first, start=1):
        row = [i]
        for j, char_2 in enumerate(second, start=1):
            cost = min(row_above[j] + 1, row[j - 1] + 1, row_above[j - 1] + (char_1 != char_2))
            if i > 1 and j > 1 and char_1 == second[j - 2] and first[i - 2] == char_2:
                cost = min(cost, row_before[j - 2] + 1)
            row.append(cost)
        if min(row) > maximum:
            return maximum + 1
        row_before, row_above = row_above, row
    return min(row_above[-1], maximum + 1)


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

_PHRASE_BREAK = re.compile(r"[^\w\s']+|\s+(?:and|but)\s+|\n")
_CONTRACTIONS = (("’", "'"), ("'s", " is"), ("'re", " are"), ("'m", " am"), ("'", ""))
_MAX_PHRASE_WORDS = 12
"""Longer phrases are no small talk."""


def small_talk(text: str) -> SmallTalkKind | None:
    """Return the kind of small talk; `None` if any part may be a question."""
    lowered = text.lower()
    for contraction, expansion in _CONTRACTIONS:
        lowered = lowered.replace(contraction, expansion)
    parts = [words for part in _PHRASE_BREAK.split(lowered) if (words := part.split())]
    if not parts:
        return "nothing"
    kinds: set[SmallTalkKind] = set()
    for words in parts:
        part_kinds = _phrase_kinds(words)
        if not part_kinds:
            return None
        kinds |= part_kinds
    return next(kind for kind in _small_talk_patterns() if kind in kinds)


def _phrase_kinds(words: list[str]) -> set[SmallTalkKind]:
    """Return the kinds of the phrases in the words; nothing if some words belong to no phrase.

    Phrases can follow each other without a comma: “ok thanks bye”.
    """
    if len(words) > _MAX_PHRASE_WORDS:
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
    patterns = _small_talk_patterns().items()
    return next((kind for kind, pattern in patterns if pattern.fullmatch(phrase)), None)


@cache
def _small_talk_patterns() -> dict[SmallTalkKind, re.Pattern[str]]:
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
    return re.sub(r"\{([a-z]+)\}", lambda match: words[match[1]], line)


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
