"""Search for a question as part of its conversation."""

from collections.abc import Awaitable, Callable, Sequence

from quire.prose.vocabulary import Vocabulary
from quire.retrieve.rewrite import Exchange, question_with_topic, standalone_question
from quire.retrieve.search import SearchResult
from quire.retrieve.shortforms import said_in_full

CITED = 2
"""Passages cited in so many of the last answers are read again for a follow-up."""
SURE = 0.85
"""A follow-up that is answered this surely by itself is not read as leaning on what came before."""

Search = Callable[[str, Sequence[str]], Awaitable[SearchResult]]
"""Searches for a standalone question; the passages named are read beside those found."""


async def search_in_conversation(
    search: Search,
    question: str,
    history: Sequence[Exchange],
    *,
    vocabulary: Vocabulary,
    threshold: float,
) -> tuple[str, SearchResult]:
    """Give the question as it was searched for, standing alone, and what was found."""
    alone = standalone_question(question, history)
    cited = [identity for one in history[-CITED:] for identity in one.cited]
    standalone = said_in_full(alone, vocabulary) or alone
    found = await search(standalone, cited if alone != question else ())
    beside = question_with_topic(alone, history)
    if beside and found.answerability < SURE:
        # It may lean on the conversation in a way its words do not show.
        beside = said_in_full(beside, vocabulary) or beside
        again = await search(beside, cited)
        if again.answerability > max(found.answerability, threshold):
            return beside, again
    return standalone, found
