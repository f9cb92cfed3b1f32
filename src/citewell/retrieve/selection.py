"""Score the reader's selection as the only passage for a question."""

import asyncio
import re

from citewell.domain import Chunk, Filters, Hit
from citewell.ports import Index
from citewell.retrieve.calibration import DEFAULT_FEATURES, Signals, answerability_features
from citewell.retrieve.search import Searcher, SearchResult, number_passages, similarity_floor
from citewell.text.plain_text import plain
from citewell.text.sentences import split_spans

BEGINNING_CHARS = 400
"""Length of the beginning of a selection that represents the whole."""
SENTENCE_QUOTA = 24
"""Maximum number of sentences to rerank."""
WINDOW_SENTENCES = 8
"""Sentences embedded together, about as many as a chunk has."""

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
    """Return whether a question is about the whole selection, like “What is this about?”."""
    request = _COURTESY.sub("", " ".join(question.split())).rstrip(" ?!.")
    request = re.sub(r"(?:,? please| to me| for me| again)+$", "", request, flags=re.I)
    return bool(_WHAT_IS_THIS.fullmatch(request) or _DO_THIS.fullmatch(request))


async def score_selection(
    searcher: Searcher, index: Index, selection: Chunk, question: str
) -> SearchResult:
    """Return the selection as the only hit, scored like a passage of the book.

    The book contributes only statistics: term frequencies and the similarity floor.
    """
    return await asyncio.to_thread(_score_in_windows, searcher, index, selection, question)


def _score_in_windows(
    searcher: Searcher, index: Index, selection: Chunk, question: str
) -> SearchResult:
    if asks_about_whole(question):
        # “Explain this” has no content words of its own.
        question = selection.text[:BEGINNING_CHARS]
    vector = searcher.embedder.embed_query(question)
    windows = searcher.embedder.embed_passages(_windows(selection.text))
    cosines = [max(0.0, min(1.0, float(vector @ window))) for window in windows]
    cosine = max(cosines)
    hit = Hit(chunk=selection, rank=1, similarity=0.0, cosine=cosine)
    rankings = index.rank(question, vector, filters=Filters(), depth=searcher.options.depth)
    signals = Signals(
        question=question,
        texts=[plain(selection.text)],
        cosines=[cosine],
        floor=similarity_floor(rankings, searcher.calibration.floor),
        evidence=searcher.reranker.rank(
            question,
            number_passages([hit]),
            index.statistics,
            quotas=(SENTENCE_QUOTA,),
            first_pass_quotas=(),
        ),
        statistics=index.statistics,
    )
    # The similarity of a selection is no signal, since the reader chose it for the question.
    features = answerability_features(signals) | DEFAULT_FEATURES
    answerability = searcher.calibration.answerability(features)
    return SearchResult(searcher.score_hits([hit], signals), answerability)


def _windows(text: str) -> list[str]:
    spans = split_spans(text)
    groups = [
        spans[first : first + WINDOW_SENTENCES] for first in range(0, len(spans), WINDOW_SENTENCES)
    ]
    return [text[group[0].start : group[-1].end] for group in groups] or [text]
