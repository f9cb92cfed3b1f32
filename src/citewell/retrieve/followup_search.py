"""Search for a question in the context of its conversation."""

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

RECENT_ANSWERS = 2
"""Recent answers whose cited passages are candidates for a follow-up."""
CONFIDENT_ANSWERABILITY = 0.85
"""Above it, a question is not searched again together with the topic of the conversation."""
MAX_REWRITE_CHARS = 500

AskModel = Callable[[str], Awaitable[str]]
"""Has a language model rewrite the last question of a conversation to stand alone."""
Search = Callable[[str, ConversationContext], Awaitable[SearchResult]]
"""Searches for a standalone question in its conversation context."""


@dataclass(frozen=True, slots=True)
class ConversationSearch:
    """The standalone question, and the result of its search."""

    standalone_question: str
    conversation_context: ConversationContext
    result: SearchResult


async def search_with_history(
    search: Search,
    question: str,
    history: Sequence[Exchange],
    *,
    vocabulary: Vocabulary,
    min_answerability: float,
    ask_model: AskModel | None = None,
) -> ConversationSearch:
    """Make a question standalone and search for it; `ask_model` replaces the rewrite rules."""
    rewritten = await _rewrite_with_llm(question, history, ask_model) or standalone_question(
        question, history
    )
    history_context = _build_context(question, history[-RECENT_ANSWERS:])
    context = history_context if rewritten != question else STANDALONE
    standalone = expand_abbreviations(rewritten, vocabulary) or rewritten
    result = await search(standalone, context)
    with_topic = append_topic(rewritten, history)
    if with_topic and result.answerability < CONFIDENT_ANSWERABILITY:
        # The question may depend on the conversation without any word that shows it.
        with_topic = expand_abbreviations(with_topic, vocabulary) or with_topic
        topic_result = await search(with_topic, history_context)
        if topic_result.answerability > max(result.answerability, min_answerability):
            return ConversationSearch(with_topic, history_context, topic_result)
    return ConversationSearch(standalone, context, result)


def _build_context(question: str, exchanges: Sequence[Exchange]) -> ConversationContext:
    cited = tuple(chunk_id for one in exchanges for chunk_id in one.cited_chunk_ids)
    answers = [one.answering_sentences or one.answer for one in exchanges]
    return ConversationContext(cited, answers_as_plain_text(answers), question)


async def _rewrite_with_llm(
    question: str, history: Sequence[Exchange], ask_model: AskModel | None
) -> str:
    """Return the rewritten question; an empty string if it adds words of the model's own."""
    if ask_model is None or not history:
        return ""
    conversation = "\n".join(f"Reader: {one.question}\nBook: {one.answer}" for one in history)
    try:
        reply = await ask_model(f"{conversation}\nReader: {question}")
    except ModelError:
        return ""
    rewritten = re.sub(r"^(?:reader|question)\s*:\s*", "", " ".join(reply.split()), flags=re.I)
    known = set(terms(f"{conversation} {question}"))
    only_known_terms = terms(rewritten) and set(terms(rewritten)) <= known
    return rewritten if only_known_terms and len(rewritten) <= MAX_REWRITE_CHARS else ""
