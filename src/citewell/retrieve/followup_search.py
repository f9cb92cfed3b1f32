"""Search for a question as part of its conversation."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from citewell.errors import ModelError
from citewell.questions.abbreviations import expand_abbreviations
from citewell.questions.followup import (
    STANDALONE,
    ConversationContext,
    Exchange,
    answers_as_plain_text,
    append_topic,
    standalone_question,
)
from citewell.retrieve.search import SearchResult
from citewell.text.terms import terms
from citewell.text.vocabulary import Vocabulary

CITED_ANSWERS = 2
"""So many of the last answers a follow-up leans on: what they cite is read again for it."""
CONFIDENT_ANSWERABILITY = 0.85
"""A follow-up that is answered this surely by itself is not read as leaning on what came before."""

MAX_REWRITE_CHARS = 500
"""Characters of a question that a language model wrote."""

AskModel = Callable[[str], Awaitable[str]]
"""Has a language model rewrite a conversation into its last question, standing alone."""
Search = Callable[[str, ConversationContext], Awaitable[SearchResult]]
"""Searches for a standalone question, with what it takes from its conversation."""


@dataclass(frozen=True, slots=True)
class ConversationSearch:
    """What was searched for, standing alone, and what was found."""

    standalone: str
    conversation_context: ConversationContext
    result: SearchResult


async def search_with_history(
    search: Search,
    question: str,
    history: Sequence[Exchange],
    *,
    vocabulary: Vocabulary,
    least: float,
    ask: AskModel | None = None,
) -> ConversationSearch:
    """Search for a question, as a follow-up where it is one; `ask` may say what it means.

    `least` is the answerability from which a question is answered.
    """
    alone = await _rewrite_with_llm(question, history, ask) or standalone_question(
        question, history
    )
    conversation_context = _build_context(question, history[-CITED_ANSWERS:])
    standalone = expand_abbreviations(alone, vocabulary) or alone
    at_first = conversation_context if alone != question else STANDALONE
    found = await search(standalone, at_first)
    beside = append_topic(alone, history)
    if beside and found.answerability < CONFIDENT_ANSWERABILITY:
        # It may lean on the conversation in a way its words do not show.
        beside = expand_abbreviations(beside, vocabulary) or beside
        again = await search(beside, conversation_context)
        if again.answerability > max(found.answerability, least):
            return ConversationSearch(beside, conversation_context, again)
    return ConversationSearch(standalone, at_first, found)


def _build_context(question: str, last: Sequence[Exchange]) -> ConversationContext:
    cited = tuple(identity for one in last for identity in one.cited)
    return ConversationContext(
        cited, answers_as_plain_text([one.told or one.answer for one in last]), question
    )


async def _rewrite_with_llm(
    question: str, history: Sequence[Exchange], ask: AskModel | None
) -> str:
    """Return the follow-up as a language model puts it; nothing if it puts in words of its own."""
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
    return alone if of_theirs and len(alone) <= MAX_REWRITE_CHARS else ""
