"""How likely a reader's selection answers the question; nothing else is looked at."""

import asyncio
from dataclasses import replace

from quire.domain import Chunk, Filters, Hit
from quire.ports import Index
from quire.prose.plain import plain
from quire.prose.sentences import split_spans
from quire.retrieve.calibrate import Signals, answerability_features
from quire.retrieve.search import Searcher, SearchResult, floor_of, passages_of

QUOTA = 24
"""How many sentences of a selection are read closely."""
WINDOW = 8
"""How many sentences are embedded together: about as much as a passage of a book has."""


async def weigh_selection(
    searcher: Searcher, index: Index, selected: Chunk, question: str
) -> SearchResult:
    """Give the selection as the one hit for a question, scored as a passage of the book would be.

    Of the book it takes figures only, never text: how rare words are in it, and how near to the
    question a passage is that is merely in the same book.
    """
    return await asyncio.to_thread(_weigh, searcher, index, selected, question)


def _weigh(searcher: Searcher, index: Index, selected: Chunk, question: str) -> SearchResult:
    vector = searcher.embedder.embed_query(question)
    windows = searcher.embedder.embed_passages(_windows(selected.text))
    cosines = [max(0.0, min(1.0, float(vector @ window))) for window in windows]
    hit = Hit(chunk=selected, rank=1, similarity=0.0, cosine=max(cosines))
    rankings = index.rank(question, vector, filters=Filters(), depth=searcher.options.depth)
    signals = Signals(
        question=question,
        texts=[plain(selected.text)],
        cosines=cosines,
        floor=floor_of(rankings, searcher.calibration.floor),
        evidence=searcher.evidence.rank(
            question, passages_of([hit]), index.statistics, quotas=(QUOTA,), glance=()
        ),
        statistics=index.statistics,
    )
    answerability = selection_answerability(searcher, signals)
    return SearchResult((replace(hit, similarity=answerability),), answerability)


def selection_answerability(searcher: Searcher, signals: Signals) -> float:
    """Give the probability that the selection holds the answer: the calibration of the search."""
    return searcher.calibration.answerability(answerability_features(signals))


def _windows(text: str) -> list[str]:
    spans = split_spans(text)
    groups = [spans[first : first + WINDOW] for first in range(0, len(spans), WINDOW)]
    return [text[group[0].start : group[-1].end] for group in groups] or [text]
