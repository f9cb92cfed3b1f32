"""Search for a question as part of its conversation."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from quire.errors import ModelError
from quire.prose.terms import terms
from quire.prose.vocabulary import Vocabulary
from quire.retrieve.leaning import ALONE, Leaning, plainly
from quire.retrieve.rewrite import Exchange, question_with_topic, standalone_question
from quire.retrieve.search import SearchResult
from quire.retrieve.shortforms import said_in_full

CITED = 2
"""So many of the last answers a follow-up leans on: what they cite is read again for it."""
SURE = 0.85
"""A follow-up that is answered this surely by itself is not read as leaning on what came before."""

LONGEST = 500
"""Characters of a question that a language model wrote."""

Ask = Callable[[str], Awaitable[str]]
"""Has a language model rewrite a conversation into its last question, standing alone."""
Search = Callable[[str, Leaning], Awaitable[SearchResult]]
"""Searches for a standalone question, with what it takes from its conversation."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What was searched for, standing alone, and what was found."""

    standalone: str
    leaning: Leaning
    result: SearchResult


async def search_in_conversation(
    search: Search,
    question: str,
    history: Sequence[Exchange],
    *,
    vocabulary: Vocabulary,
    least: float,
    ask: Ask | None = None,
) -> Searched:
    """Search for a question, as a follow-up where it is one; `ask` may say what it means.

    `least` is the answerability from which a question is answered.
    """
    alone = await _asked_for(question, history, ask) or standalone_question(question, history)
    leaning = _leaning(question, history[-CITED:])
    standalone = said_in_full(alone, vocabulary) or alone
    at_first = leaning if alone != question else ALONE
    found = await search(standalone, at_first)
    beside = question_with_topic(alone, history)
    if beside and found.answerability < SURE:
        # It may lean on the conversation in a way its words do not show.
        beside = said_in_full(beside, vocabulary) or beside
        again = await search(beside, leaning)
        if again.answerability > max(found.answerability, least):
            return Searched(beside, leaning, again)
    return Searched(standalone, at_first, found)


def _leaning(question: str, last: Sequence[Exchange]) -> Leaning:
    cited = tuple(identity for one in last for identity in one.cited)
    return Leaning(cited, plainly([one.told or one.answer for one in last]), question)


async def _asked_for(question: str, history: Sequence[Exchange], ask: Ask | None) -> str:
    """Give the follow-up as a language model puts it; nothing if it puts in words of its own."""
    if ask is None or not history:
        return ""
    said = "\n".join(f"Reader: {one.question}\nBook: {one.answer}" for one in history)
    try:
        written = await ask(f"{said}\nReader: {question}")
    except ModelError:
        return ""
    alone = re.sub(r"^(?:reader|question)\s*:\s*", "", " ".join(written.split()), flags=re.I)
    known = set(terms(f"{said} {question}"))
    of_theirs = terms(alone) and set(terms(alone)) <= known
    return alone if of_theirs and len(alone) <= LONGEST else ""
