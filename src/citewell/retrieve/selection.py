"""How likely a reader's selection answers the question; nothing else is looked at."""

import asyncio
import re

from citewell.domain import Chunk, Filters, Hit
from citewell.ports import Index
from citewell.retrieve.calibration import DEFAULT_FEATURES, Signals, answerability_features
from citewell.retrieve.search import Searcher, SearchResult, passages_of, similarity_floor
from citewell.text.plain_text import plain
from citewell.text.sentences import split_spans

BEGINNING = 400
"""Characters of a selection that stand for all of it."""
SENTENCE_QUOTA = 24
"""How many sentences of a selection are read closely."""
WINDOW_SENTENCES = 8
"""How many sentences are embedded together: about as much as a passage of a book has."""


_THIS = (
    r"(?:(?:this|that|these|those)(?: \w+)?|it|(?:the|my) (?:selected )?"
    r"(?:selection|passage|paragraph|text|excerpt))"
)
_WHAT_IS_THIS = re.compile(
    rf"what(?: is|'s|’s| are| does| do)? {_THIS}(?: all)?(?: about| mean| say| saying)?", re.I
)
_DO_THIS = re.compile(
    rf"(?!(?:what|who|when|where|which|why|how|is|are|was|were|do|does|did|can|has|have)\b)"
    rf"\w+(?: me| us)?(?: more| something)?(?: about| on)? {_THIS}"
    r"(?: (?:in|for|as|like|down|up)\b.*)?",
    re.I,
)
_COURTESY = re.compile(r"^(?:please|(?:can|could|would|will) you(?: please)?)[, ]+", re.I)


def asks_about_whole(question: str) -> bool:
    """Whether a question asks about a selection as a whole, such as “What is this about?”.

    It is a request, whatever its verb, or a question for what is meant, and what it is about is the
    selection and nothing in it.
    """
    asked = _COURTESY.sub("", " ".join(question.split())).rstrip(" ?!.")
    asked = re.sub(r"(?:,? please| to me| for me| again)+$", "", asked, flags=re.I)
    return bool(_WHAT_IS_THIS.fullmatch(asked) or _DO_THIS.fullmatch(asked))


async def score_selection(
    searcher: Searcher, index: Index, selected: Chunk, question: str
) -> SearchResult:
    """Return the selection as the one hit for a question, scored as a passage of the book would be.

    Of the book it takes figures only, never text: how rare words are in it, and how near to the
    question a passage is that is merely in the same book.
    """
    return await asyncio.to_thread(_score_in_windows, searcher, index, selected, question)


def _score_in_windows(
    searcher: Searcher, index: Index, selected: Chunk, question: str
) -> SearchResult:
    if asks_about_whole(question):
        # “Explain this” is asked in the words of what it points at.
        question = selected.text[:BEGINNING]
    vector = searcher.embedder.embed_query(question)
    windows = searcher.embedder.embed_passages(_windows(selected.text))
    cosines = [max(0.0, min(1.0, float(vector @ window))) for window in windows]
    cosine = max(cosines)
    hit = Hit(chunk=selected, rank=1, similarity=0.0, cosine=cosine)
    rankings = index.rank(question, vector, filters=Filters(), depth=searcher.options.depth)
    signals = Signals(
        question=question,
        texts=[plain(selected.text)],
        cosines=[cosine],
        floor=similarity_floor(rankings, searcher.calibration.floor),
        evidence=searcher.evidence.rank(
            question, passages_of([hit]), index.statistics, quotas=(SENTENCE_QUOTA,), glance=()
        ),
        statistics=index.statistics,
    )
    answerability = selection_answerability(searcher, signals)
    return SearchResult(searcher.score_hits([hit], signals), answerability)


def selection_answerability(searcher: Searcher, signals: Signals) -> float:
    """Return the probability that the selection holds the answer, by the search's calibration.

    That a selection is near the question says nothing: whoever asks has chosen it for that. What
    its sentences say decides.
    """
    return searcher.calibration.answerability(answerability_features(signals) | DEFAULT_FEATURES)


def _windows(text: str) -> list[str]:
    spans = split_spans(text)
    groups = [
        spans[first : first + WINDOW_SENTENCES] for first in range(0, len(spans), WINDOW_SENTENCES)
    ]
    return [text[group[0].start : group[-1].end] for group in groups] or [text]
