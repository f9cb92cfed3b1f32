"""Which sentences of the passages answer the question."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

from citewell.domain import Hit
from citewell.ports import Reranker
from citewell.questions.abbreviations import without_expansions
from citewell.text.blocks import is_anaphoric
from citewell.text.memo import memoize_text
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import Span, split_spans
from citewell.text.terms import TermStatistics, terms, words

HEADING_WEIGHT = 0.6
"""A question word found in the heading above a sentence counts this much of one found in it."""
COREFERENCE_WEIGHT = 0.8
"""The same, for one found in the sentence that it refers back to."""
SENTENCE_QUOTAS = (4, 3, 2, 2, 1, 1, 1, 1)
"""How many sentences of the first, second, … passage are read closely."""
FIRST_PASS_QUOTAS = (4, 1, 1)
"""How many of them are read first."""
CONFIDENT_SCORE = 6.0
"""A sentence of that score in the best passage answers: no more is read. Chosen on the questions of
two textbooks and SciFact's training claims, where one in six ends here and no page is lost."""
MAX_TEXT = 320
MEMORY = 4096
"""How many sentence scores are remembered."""
UNREAD_SCORE = -12.0
"""The score of a sentence that was not read closely: lower than any reader gives."""
ALREADY_ANSWERED_PENALTY = 1.5
"""How much less a sentence counts for a follow-up if an earlier answer has said it."""

COMMON_TERM_SHARE = 0.2
"""What so large a share of a book's passages say is what the book is about."""

_NAME = r"(?:[A-Z][\w+-]*|\d[\d.]*)"
_WITHIN = re.compile(rf"\b(?:in|within|inside|with|under|on|using) (?:the )?({_NAME}(?: {_NAME})*)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as a model sees it."""

    number: int
    text: str
    heading: str
    similarity: float
    here: bool = False
    """Whether it stands in the chapter that the reader has open."""
    part: str = ""
    """Which piece of a block too long for one passage, as `2 of 3`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence of a passage, and how well it answers the question."""

    passage: Passage
    place: int
    """Position among the sentences of its passage."""
    span: Span
    coverage: float
    """Share of the question's weight found in the sentence and its heading, 0 to 1."""
    score: float = UNREAD_SCORE
    """The reader's opinion; around 0 undecided."""
    told: bool = False
    """Whether an earlier answer has said it."""

    @property
    def text(self) -> str:
        """The sentence, byte for byte."""
        return self.span.of(self.passage.text)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is known of a sentence before anything is asked."""

    span: Span
    said: frozenset[str]
    """Its terms."""
    meant: frozenset[str]
    """Those of the sentences that it refers back to."""
    read_as: str | None
    """The words that a reader gets, under no heading yet; `None` for what answers nothing."""


class SentenceReranker:
    """Finds the sentences that answer: words choose which to read, the reader decides."""

    def __init__(self, reader: Reranker) -> None:
        """Read with `reader`."""
        self._reader = reader
        # The search and the embedded answerer ask about the same sentences.
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = Lock()

    def rank(
        self,
        question: str,
        passages: Sequence[Passage],
        statistics: TermStatistics,
        quotas: Sequence[int] = SENTENCE_QUOTAS,
        glance: Sequence[int] = FIRST_PASS_QUOTAS,
        told: str = "",
    ) -> list[Evidence]:
        """Score the sentences of the passages, best first; without `glance` all are read.

        Sentences that stand in `told` are known to who asks, and count for less.
        """
        subject = _book_subject_names(question, statistics)
        found: list[Evidence] = []
        first: list[tuple[Evidence, str]] = []
        later: list[tuple[Evidence, str]] = []
        for place, passage in enumerate(passages):
            own = _score_by_terms(question, passage, statistics)
            found += own
            quota = quotas[min(place, len(quotas) - 1)]
            chosen = self._worth_reading(question, own, quota, subject)
            at_once = (glance[place] if place < len(glance) else 0) if glance else len(chosen)
            first += chosen[:at_once]
            later += chosen[at_once:]
        groups = [[text for _, text in group] for group in (first, later)]
        best = {text for e, text in (*first, *later) if e.passage is passages[0]}
        scores = self._read(question, groups, best)
        read = [
            replace(
                e,
                score=scores[text]
                - ALREADY_ANSWERED_PENALTY * (known := _is_already_answered(e, told)),
                told=known,
            )
            for e, text in (*first, *later)
            if text in scores
        ]
        places = {(e.passage.number, e.place) for e in read}
        rest = [e for e in found if (e.passage.number, e.place) not in places]
        return sorted(
            [*read, *rest], key=lambda e: (-e.score, -e.coverage, e.passage.number, e.place)
        )

    def _worth_reading(
        self, question: str, own: Sequence[Evidence], quota: int, subject: Sequence[str]
    ) -> list[tuple[Evidence, str]]:
        """Choose a passage's sentences by their words; one that was read before is not read on."""
        fitting = [(e, text) for e in own if (text := _reranker_text(e, subject)) is not None]
        known = [(e, text) for e, text in fitting if (question, text) in self._known]
        return known or sorted(fitting, key=lambda pair: (-pair[0].coverage, pair[0].place))[:quota]

    def _read(
        self, question: str, groups: Sequence[Sequence[str]], best: Set[str]
    ) -> dict[str, float]:
        """Score the texts, group by group, until one of the best passage answers for sure."""
        texts = dict.fromkeys(text for group in groups for text in group)
        # Asked once for each: what others read at the same time may push it out.
        known = {text: self._known.get((question, text)) for text in texts}
        scores = {text: score for text, score in known.items() if score is not None}
        for group in groups:
            if any(score >= CONFIDENT_SCORE for text, score in scores.items() if text in best):
                break
            new = [text for text in dict.fromkeys(group) if text not in scores]
            for asked, texts_of in _query_variants(question, new):
                scores |= zip(texts_of, self._reader.score(asked, texts_of), strict=True)
        with self._lock:
            self._known |= {(question, text): score for text, score in scores.items()}
            while len(self._known) > MEMORY:
                self._known.popitem(last=False)
        return scores


def _query_variants(question: str, texts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each way of asking with the texts to ask: those that say “ICP” are asked for “ICP”.

    By a question that says it in full as well, whatever says both would answer all about it.
    """
    asked, forms = without_expansions(question)
    same = [bool(forms) and all(_says(text, form) for form in forms) for text in texts]
    for way, alike in ((asked, True), (question, False)):
        if chosen := [text for text, one in zip(texts, same, strict=True) if one is alike]:
            yield way, chosen


def _says(text: str, form: str) -> bool:
    return form in words(text) if " " not in form else form.lower() in text.lower()


def _is_already_answered(evidence: Evidence, told: str) -> bool:
    return bool(told) and " ".join(strip_inline_markup(evidence.text).split()) in told


@memoize_text(1024)
def _sentences(passage: str) -> tuple[_Sentence, ...]:
    """Take a passage apart; the next question is often about the same ones."""
    found: list[_Sentence] = []
    before: frozenset[str] = frozenset()
    spans = split_spans(passage)
    for place, span in enumerate(spans):
        text = span.of(passage)
        said = frozenset(terms(strip_inline_markup(text)))
        # "They cost friction" is about what the sentence before names.
        meant = before if is_anaphoric(text) else frozenset()
        read_as = _with_context(passage, spans, place) if _answers_in_form(span, text) else None
        found.append(_Sentence(span, said, meant, read_as))
        before = said | meant
    return tuple(found)


def _book_subject_names(question: str, statistics: TermStatistics) -> list[str]:
    """Return the names of the book's subject in questions such as “… in ROS 2”."""
    least = COMMON_TERM_SHARE * statistics.documents
    found = _WITHIN.search(question)
    names = words(found[1]) if found else []
    said = [term for name in names for term in terms(name)]
    return names if said and all(statistics.frequency.get(s, 0) >= least for s in said) else []


def _reranker_text(evidence: Evidence, subject: Sequence[str]) -> str | None:
    """Return a sentence with what it is read under; `None` if it answers nothing.

    In a book about ROS 2 few sentences name it, and those that do are not the better answers to
    what asks for something “in ROS 2”.
    """
    passage = evidence.passage
    sentence = _sentences(passage.text)[evidence.place]
    if sentence.read_as is None:
        return None
    heading = passage.heading
    known = sentence.said | sentence.meant | set(terms(heading))
    unsaid = " ".join(word for word in subject if not known.issuperset(terms(word)))
    where = f"{unsaid} › {heading}" if unsaid and heading else unsaid or heading
    return f"{where}: {sentence.read_as}"


def _with_context(passage: str, spans: Sequence[Span], place: int) -> str:
    """Return the words of a sentence with what it refers back to."""
    text = spans[place].of(passage)
    if place > 0 and is_anaphoric(text):
        text = f"{spans[place - 1].of(passage)} {text}"
    if spans[place].kind == "row":
        first = table_start(spans, place)
        text = f"{spans[first].of(passage)} {text}" if first < place else text
        text = text.replace("|", " ")
    return strip_inline_markup(text)[:MAX_TEXT]


def table_start(spans: Sequence[Span], place: int) -> int:
    """Return the place of the first row of the table that the row at `place` stands in."""
    while place > 0 and spans[place - 1].kind == "row":
        place -= 1
    return place


def _score_by_terms(question: str, passage: Passage, statistics: TermStatistics) -> list[Evidence]:
    wanted = {term: statistics.weight(term) for term in terms(question)}
    total = sum(wanted.values()) or 1.0
    heading = set(terms(passage.heading))

    def credit(term: str, sentence: _Sentence) -> float:
        if term in sentence.said:
            return 1.0
        return COREFERENCE_WEIGHT if term in sentence.meant else HEADING_WEIGHT * (term in heading)

    return [
        Evidence(
            passage,
            place,
            sentence.span,
            sum(weight * credit(term, sentence) for term, weight in wanted.items()) / total,
        )
        for place, sentence in enumerate(_sentences(passage.text))
    ]


def _answers_in_form(span: Span, text: str) -> bool:
    """Leave out questions, such as exercises, headings and pictures: they answer nothing."""
    text = text.strip("*_ ")
    return span.kind != "heading" and not text.endswith("?") and text[:2] != "!["


CURRENT_CHAPTER_MARGIN = 1.0
"""By so much of the reader's score what stands elsewhere must be better to stay ahead: a third of
what parts the sentences of one answer."""
T = TypeVar("T")


def boost_current_chapter(
    found: Sequence[T], is_here: Callable[[T], bool], score: Callable[[T], float]
) -> list[T]:
    """Let what is here pass those before it that are elsewhere and not clearly better.

    What was not read closely stays where it is: nobody knows how good it is.
    """
    order: list[T] = []
    for one in found:
        place = len(order)
        if is_here(one) and score(one) > UNREAD_SCORE:
            while place and _should_swap(order[place - 1], one, is_here, score):
                place -= 1
        order.insert(place, one)
    return order


def _should_swap(
    before: T, one: T, is_here: Callable[[T], bool], score: Callable[[T], float]
) -> bool:
    return not is_here(before) and score(before) - score(one) <= CURRENT_CHAPTER_MARGIN


def prefer_chapter(
    hits: Sequence[Hit], evidence: Sequence[Evidence], chapter: str
) -> tuple[Hit, ...]:
    """Mark the hits of the chapter, and order those that are close; all of them stay.

    The evidence numbers its passages as the hits are ranked.
    """
    if not chapter:
        return tuple(hits)
    best: dict[int, float] = {}
    for one in evidence:
        best[one.passage.number] = max(one.score, best.get(one.passage.number, UNREAD_SCORE))
    marked = [replace(hit, here=hit.chunk.chapter == chapter) for hit in hits]
    ordered = boost_current_chapter(
        marked, lambda hit: hit.here, lambda hit: best.get(hit.rank, UNREAD_SCORE)
    )
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1))
