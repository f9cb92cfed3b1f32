"""Evaluation of rewriting follow-ups as standalone questions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from citewell.errors import BadRequest
from citewell.questions.analyze import small_talk
from citewell.questions.followup import Exchange, standalone_question
from citewell.text.terms import terms

Rewrite = Callable[[str, Sequence[Exchange]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation, and the words that its rewritten last question must and must not contain."""

    id: str
    turns: tuple[str, ...]
    must: tuple[str, ...]
    must_not: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """The answers, if they matter."""
    headings: tuple[tuple[str, ...], ...] = ()
    """The cited passages, if they matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one conversation."""

    conversation: Conversation
    standalone: str
    wrong: tuple[str, ...]
    """`+word` for a missing word, `-word` for an unwanted one."""

    @property
    def right(self) -> bool:
        """Whether the rewrite is correct."""
        return not self.wrong


_CONVERSATION = TypeAdapter(Conversation)


def read_conversations(path: Path) -> list[Conversation]:
    """Read a set, one JSON object a line.

    Raises:
        BadRequest: the file cannot be read as one.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
        return [_CONVERSATION.validate_python(json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise BadRequest(f"{path} is not a set of conversations: {error}.") from error


def follow(conversation: Conversation, rewrite: Rewrite = standalone_question) -> Outcome:
    """Rewrite every question of a conversation with the ones before it."""
    history: list[Exchange] = []
    standalone = ""
    for place, turn in enumerate(conversation.turns):
        if small_talk(turn) and place + 1 < len(conversation.turns):
            continue
        standalone = rewrite(turn, history)
        history.append(
            Exchange(
                standalone,
                headings=next(iter(conversation.headings[place : place + 1]), ()),
                answer=next(iter(conversation.answers[place : place + 1]), ""),
            )
        )
    said = set(terms(standalone))
    lacking = [f"+{word}" for word in conversation.must if not set(terms(word)) <= said]
    surplus = [f"-{word}" for word in conversation.must_not if set(terms(word)) & said]
    return Outcome(conversation=conversation, standalone=standalone, wrong=(*lacking, *surplus))
