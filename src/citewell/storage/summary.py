"""Extractive summaries: the phrases of a conversation's questions and the headings it cited."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.text.terms import STOPWORDS, stem, words

MAX_LENGTH = 200
MAX_PHRASES = 3
MAX_HEADINGS = 3
MAX_PHRASE_WORDS = 3
VAGUE_WORDS = STOPWORDS | frozenset(
    re.findall(
        r"\S+",
        """
        actually another apply best better call called cause change common compare compared
        comparison depend difference different differ differs exactly fail far find good happen
        happens help important instead job kind know long main mainly need normally often part
        point possible problem problems purpose reason role rule said show simple sort sorts take
        tell type types typically versus vs work wrong
        """,
    )
)
"""Words of questions that do not name a topic."""
GENERIC_HEADINGS = frozenset(
    {"summary", "introduction", "overview", "exercises", "conclusion", "references"}
)
"""Headings that any chapter can have."""
ARTICLES = frozenset({"a", "an", "the", "its", "their", "my", "your", "this", "these"})
_CLAUSE_BREAK = re.compile(r"[,;:.?!()\[\]\"“”„]+(?:\s|$)|\s[–—-]+\s|\n")


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A standalone question and the headings of the passages that answered it."""

    question: str
    headings: Sequence[str] = ()


@dataclass(slots=True)
class _Phrase:
    text: str
    stems: frozenset[str]
    frequency: int = 0

    @property
    def weight(self) -> float:
        # Longer phrases are more specific; repeated ones are more important.
        return self.frequency * (1 + 0.6 * (len(self.stems) - 1))


def summarise(questions: Sequence[AnsweredQuestion]) -> str | None:
    """Return the repeated phrases of the questions and the most cited headings.

    At most 200 characters; `None` if no question names a topic.
    """
    phrases = _top_phrases(questions, min_frequency=2)
    headings = _most_cited(questions, exclude=phrases)
    if not phrases and not headings:
        phrases = _top_phrases(questions, min_frequency=1)
    return _truncate(phrases, headings)


def find_mentioned(text: str, questions: Sequence[AnsweredQuestion]) -> str | None:
    """Return the phrases of the questions and the cited headings that `text` mentions.

    The result, in the words of the questions, has at most 200 characters; `None` if there is none.
    """
    text_stems = _stem_list(text)
    texts = (phrase for answered in questions for phrase in _phrases(answered.question))
    candidates = {phrase: _stem_list(phrase) for phrase in texts}
    positions = {
        phrase: position
        for phrase, stems in candidates.items()
        if (position := _find(stems, text_stems)) is not None
    }
    phrases: dict[str, int] = {}
    # Longer phrases first, so that shorter ones that overlap them are left out.
    for phrase in sorted(positions, key=lambda text: (-len(candidates[text]), positions[text])):
        if not any({*candidates[phrase]} & {*candidates[longer]} for longer in phrases):
            phrases[phrase] = positions[phrase]
    headings = [
        heading
        for heading in _most_cited(questions, exclude=list(phrases))
        if _find(_stem_list(heading), text_stems) is not None
    ]
    return _truncate(sorted(phrases, key=phrases.__getitem__)[:MAX_PHRASES], headings)


def _stem_list(text: str) -> list[str]:
    return [stem(word.lower()) for word in words(text)]


def _find(stems: Sequence[str], text: Sequence[str]) -> int | None:
    """Return the first position of the sequence `stems` in `text`, or `None`."""
    starts = range(len(text) - len(stems) + 1)
    matches = (n for n in starts if stems and text[n : n + len(stems)] == stems)
    return next(matches, None)


def _truncate(phrases: list[str], headings: list[str]) -> str | None:
    while phrases or headings:
        text = _sentence(phrases, headings)
        if len(text) <= MAX_LENGTH:
            return text
        (headings or phrases).pop()
    return None


def _top_phrases(questions: Sequence[AnsweredQuestion], *, min_frequency: int) -> list[str]:
    phrases: dict[frozenset[str], _Phrase] = {}
    for answered in questions:
        for text in _phrases(answered.question):
            stems = frozenset(_stem_list(text))
            phrases.setdefault(stems, _Phrase(text, stems))
    stems_by_question = [frozenset(_stem_list(answered.question)) for answered in questions]
    for phrase in phrases.values():
        phrase.frequency = sum(phrase.stems <= stems for stems in stems_by_question)
    chosen_phrases: list[_Phrase] = []
    for phrase in sorted(phrases.values(), key=lambda phrase: -phrase.weight):
        is_distinct = not any(phrase.stems & chosen.stems for chosen in chosen_phrases)
        if is_distinct and phrase.frequency >= min_frequency:
            chosen_phrases.append(phrase)
    return [phrase.text for phrase in chosen_phrases[:MAX_PHRASES]]


def _phrases(question: str) -> Iterator[str]:
    """Yield candidate topics: “Fresnel”, “Fresnel lens”, … of “What is a Fresnel lens?”."""
    for clause in _CLAUSE_BREAK.split(question):
        run: list[str] = []
        for word in [*words(clause), ""]:
            if word and word.lower() not in VAGUE_WORDS and not word.isdigit():
                run.append(word)
                continue
            if word.lower() in ARTICLES:
                del run[-1:]  # the word before an article is a verb: “winds the clockwork”
            yield from _ngrams(run)
            run = []


def _ngrams(run: Sequence[str]) -> Iterator[str]:
    for length in range(1, MAX_PHRASE_WORDS + 1):
        for start in range(len(run) - length + 1):
            yield " ".join(run[start : start + length])


def _most_cited(questions: Sequence[AnsweredQuestion], *, exclude: Sequence[str]) -> list[str]:
    excluded = {text.casefold() for text in exclude} | GENERIC_HEADINGS
    counts: dict[str, int] = {}
    for question in questions:
        for heading in dict.fromkeys(" ".join(text.split()) for text in question.headings):
            if heading and heading.casefold() not in excluded:
                counts[heading] = counts.get(heading, 0) + 1
    return sorted(counts, key=lambda heading: -counts[heading])[:MAX_HEADINGS]


def _sentence(phrases: Sequence[str], headings: Sequence[str]) -> str:
    topics = _join(phrases)
    # Names such as `cmd_vel` and `iPhone` keep their case.
    first = topics.split()[0] if topics else ""
    if topics[:1].islower() and first.strip(",").isalpha() and first.islower():
        topics = topics[0].upper() + topics[1:]
    sources = _join([f"“{heading}”" for heading in headings])
    return f"{topics}, in {sources}" if topics and sources else topics or sources


def _join(items: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
