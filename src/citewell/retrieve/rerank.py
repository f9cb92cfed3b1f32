"""Sentence-level reranking: which sentences of the passages answer the question."""

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
"""Weight of a question term in the heading, relative to one in the sentence."""
COREFERENCE_WEIGHT = 0.8
"""Weight of a question term in the sentence that this one refers to."""
SENTENCE_QUOTAS = (4, 3, 2, 2, 1, 1, 1, 1)
"""Sentences to score with the reranker, for the first, second, … passage."""
FIRST_PASS_QUOTAS = (4, 1, 1)
"""Those of them to score in the first pass."""
CONFIDENT_SCORE = 6.0
"""A sentence of the best passage with this score ends the reranking after the first pass. Tuned on
questions about two textbooks and SciFact: one in six ends early, without losing a page."""
MAX_SENTENCE_CHARS = 320
CACHE_SIZE = 4096
UNRANKED_SCORE = -12.0
"""The score of sentences that were not reranked; below any reranker score."""
ALREADY_ANSWERED_PENALTY = 1.5
"""Penalty for sentences that an earlier answer in the conversation contains."""
COMMON_TERM_SHARE = 0.2
"""Terms in this share of the passages name the subject of the book."""

_NAME = r"(?:[A-Z][\w+-]*|\d[\d.]*)"
_WITHIN = re.compile(rf"\b(?:in|within|inside|with|under|on|using) (?:the )?({_NAME}(?: {_NAME})*)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered passage, as models get it."""

    number: int
    text: str
    heading: str
    similarity: float
    in_current_chapter: bool = False
    """Whether the reader has its chapter open."""
    part: str = ""
    """Part of a block that was split, such as `2 of 3`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of a passage, and how well it answers the question."""

    passage: Passage
    position: int
    """Index among the sentences of the passage."""
    span: Span
    coverage: float
    """Weighted share of the question's terms in the sentence and its heading, 0 to 1."""
    score: float = UNRANKED_SCORE
    """The reranker's logit."""
    already_answered: bool = False
    """Whether an earlier answer in the conversation contains it."""

    @property
    def text(self) -> str:
        """The sentence, verbatim."""
        return self.span.of(self.passage.text)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A parsed sentence, independent of any question."""

    span: Span
    terms: frozenset[str]
    antecedent_terms: frozenset[str]
    """Terms of the sentences that it refers to."""
    reranker_text: str | None
    """Input for the reranker, without headings; `None` for sentences that answer nothing."""


class SentenceReranker:
    """Ranks sentences: lexical coverage selects which ones the reranker scores."""

    def __init__(self, reranker: Reranker) -> None:
        """Score with `reranker`."""
        self._reranker = reranker
        # Both the search and the embedded model score the same sentences.
        self._cache: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = Lock()

    def rank(
        self,
        question: str,
        passages: Sequence[Passage],
        statistics: TermStatistics,
        quotas: Sequence[int] = SENTENCE_QUOTAS,
        first_pass_quotas: Sequence[int] = FIRST_PASS_QUOTAS,
        previous_answers: str = "",
    ) -> list[Evidence]:
        """Return the sentences of the passages, best first.

        Without `first_pass_quotas`, there is a single pass. Sentences that `previous_answers`
        contain are penalized.
        """
        subject = _book_subject_names(question, statistics)
        sentences: list[Evidence] = []
        first_pass: list[tuple[Evidence, str]] = []
        second_pass: list[tuple[Evidence, str]] = []
        for index, passage in enumerate(passages):
            by_terms = _score_by_terms(question, passage, statistics)
            sentences += by_terms
            quota = quotas[min(index, len(quotas) - 1)]
            selected = self._select(question, by_terms, quota, subject)
            first = len(selected)
            if first_pass_quotas:
                first = first_pass_quotas[index] if index < len(first_pass_quotas) else 0
            first_pass += selected[:first]
            second_pass += selected[first:]
        passes = [[text for _, text in one] for one in (first_pass, second_pass)]
        of_best_passage = {
            text for e, text in (*first_pass, *second_pass) if e.passage is passages[0]
        }
        scores = self._score(question, passes, of_best_passage)
        reranked = [
            replace(
                e,
                score=scores[text]
                - ALREADY_ANSWERED_PENALTY * (known := _is_already_answered(e, previous_answers)),
                already_answered=known,
            )
            for e, text in (*first_pass, *second_pass)
            if text in scores
        ]
        done = {(e.passage.number, e.position) for e in reranked}
        rest = [e for e in sentences if (e.passage.number, e.position) not in done]
        return sorted(
            [*reranked, *rest],
            key=lambda e: (-e.score, -e.coverage, e.passage.number, e.position),
        )

    def _select(
        self, question: str, sentences: Sequence[Evidence], quota: int, subject: Sequence[str]
    ) -> list[tuple[Evidence, str]]:
        """Return the sentences to rerank: the cached ones, or else those of highest coverage."""
        pairs = [(e, text) for e in sentences if (text := _reranker_text(e, subject)) is not None]
        cached = [(e, text) for e, text in pairs if (question, text) in self._cache]
        return (
            cached or sorted(pairs, key=lambda pair: (-pair[0].coverage, pair[0].position))[:quota]
        )

    def _score(
        self, question: str, passes: Sequence[Sequence[str]], of_best_passage: Set[str]
    ) -> dict[str, float]:
        """Score the texts, pass by pass, until a text of the best passage is a confident answer."""
        texts = dict.fromkeys(text for one in passes for text in one)
        # One lookup each: other threads can evict entries at any time.
        cached = {text: self._cache.get((question, text)) for text in texts}
        scores = {text: score for text, score in cached.items() if score is not None}
        for one in passes:
            if any(scores.get(text, UNRANKED_SCORE) >= CONFIDENT_SCORE for text in of_best_passage):
                break
            new = [text for text in dict.fromkeys(one) if text not in scores]
            for query, query_texts in _query_variants(question, new):
                scores |= zip(query_texts, self._reranker.score(query, query_texts), strict=True)
        with self._lock:
            self._cache |= {(question, text): score for text, score in scores.items()}
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return scores


def _query_variants(question: str, texts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the query without abbreviation expansions for texts that use the same form.

    With both forms in the query, texts that merely contain both forms would score too high.
    """
    unexpanded, forms = without_expansions(question)
    same = [text for text in texts if forms and all(_contains(text, form) for form in forms)]
    other = [text for text in texts if text not in same]
    yield from ((query, group) for query, group in ((unexpanded, same), (question, other)) if group)


def _contains(text: str, form: str) -> bool:
    return form in words(text) if " " not in form else form.lower() in text.lower()


def _is_already_answered(evidence: Evidence, previous_answers: str) -> bool:
    sentence = " ".join(strip_inline_markup(evidence.text).split())
    return bool(previous_answers) and sentence in previous_answers


@memoize_text(1024)
def _sentences(passage: str) -> tuple[_Sentence, ...]:
    """Parse a passage, memoized since questions often share passages."""
    sentences: list[_Sentence] = []
    previous: frozenset[str] = frozenset()
    spans = split_spans(passage)
    for position, span in enumerate(spans):
        text = span.of(passage)
        own_terms = frozenset(terms(strip_inline_markup(text)))
        # "They cost friction" is about what the previous sentence names.
        antecedent_terms = previous if is_anaphoric(text) else frozenset()
        reranker_text = _with_context(passage, spans, position) if _can_answer(span, text) else None
        sentences.append(_Sentence(span, own_terms, antecedent_terms, reranker_text))
        previous = own_terms | antecedent_terms
    return tuple(sentences)


def _book_subject_names(question: str, statistics: TermStatistics) -> list[str]:
    """Return the name of the book's subject in questions such as “… in ROS 2”."""
    min_count = COMMON_TERM_SHARE * statistics.documents
    match = _WITHIN.search(question)
    names = words(match[1]) if match else []
    name_terms = [term for name in names for term in terms(name)]
    common = all(statistics.frequency.get(term, 0) >= min_count for term in name_terms)
    return names if name_terms and common else []


def _reranker_text(evidence: Evidence, subject: Sequence[str]) -> str | None:
    """Return a sentence with its heading; `None` if it answers nothing.

    The subject of the book is added unless the sentence names it: in a book about ROS 2, sentences
    that say “ROS 2” are not better answers to “… in ROS 2”.
    """
    passage = evidence.passage
    sentence = _sentences(passage.text)[evidence.position]
    if sentence.reranker_text is None:
        return None
    heading = passage.heading
    known = sentence.terms | sentence.antecedent_terms | set(terms(heading))
    missing = " ".join(word for word in subject if not known.issuperset(terms(word)))
    context = f"{missing} › {heading}" if missing and heading else missing or heading
    return f"{context}: {sentence.reranker_text}"


def _with_context(passage: str, spans: Sequence[Span], position: int) -> str:
    """Return a sentence with its antecedent, or a table row with the header."""
    text = spans[position].of(passage)
    if position > 0 and is_anaphoric(text):
        text = f"{spans[position - 1].of(passage)} {text}"
    if spans[position].kind == "row":
        first = table_start(spans, position)
        text = f"{spans[first].of(passage)} {text}" if first < position else text
        text = text.replace("|", " ")
    return strip_inline_markup(text)[:MAX_SENTENCE_CHARS]


def table_start(spans: Sequence[Span], position: int) -> int:
    """Return the position of the first row of a table."""
    while position > 0 and spans[position - 1].kind == "row":
        position -= 1
    return position


def _score_by_terms(question: str, passage: Passage, statistics: TermStatistics) -> list[Evidence]:
    weights = {term: statistics.weight(term) for term in terms(question)}
    total = sum(weights.values()) or 1.0
    heading = set(terms(passage.heading))

    def credit(term: str, sentence: _Sentence) -> float:
        if term in sentence.terms:
            return 1.0
        if term in sentence.antecedent_terms:
            return COREFERENCE_WEIGHT
        return HEADING_WEIGHT * (term in heading)

    return [
        Evidence(
            passage,
            position,
            sentence.span,
            sum(weight * credit(term, sentence) for term, weight in weights.items()) / total,
        )
        for position, sentence in enumerate(_sentences(passage.text))
    ]


def _can_answer(span: Span, text: str) -> bool:
    """Return whether it is a statement, and no heading, question or image."""
    text = text.strip("*_ ")
    return span.kind != "heading" and not text.endswith("?") and text[:2] != "!["


CURRENT_CHAPTER_MARGIN = 1.0
"""Score by which other chapters must be better to rank before the current one: a third of the
spread within one answer."""
T = TypeVar("T")


def boost_current_chapter(
    items: Sequence[T], in_chapter: Callable[[T], bool], score: Callable[[T], float]
) -> list[T]:
    """Move items of the current chapter before others that are not clearly better.

    Items without a reranker score are not moved.
    """

    def should_swap(previous: T, item: T) -> bool:
        close = score(previous) - score(item) <= CURRENT_CHAPTER_MARGIN
        return close and not in_chapter(previous)

    order: list[T] = []
    for item in items:
        index = len(order)
        if in_chapter(item) and score(item) > UNRANKED_SCORE:
            while index and should_swap(order[index - 1], item):
                index -= 1
        order.insert(index, item)
    return order


def prefer_chapter(
    hits: Sequence[Hit], evidence: Sequence[Evidence], chapter: str
) -> tuple[Hit, ...]:
    """Mark the hits of the chapter, and rank them first among near-equals."""
    if not chapter:
        return tuple(hits)
    best: dict[int, float] = {}
    for sentence in evidence:
        number = sentence.passage.number
        best[number] = max(sentence.score, best.get(number, UNRANKED_SCORE))
    marked = [replace(hit, in_current_chapter=hit.chunk.chapter == chapter) for hit in hits]
    ordered = boost_current_chapter(
        marked, lambda hit: hit.in_current_chapter, lambda hit: best.get(hit.rank, UNRANKED_SCORE)
    )
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1))
