"""What is kept of a conversation: its messages, and how far each answer has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from quire.domain import AnswerState

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEntry:
    """One answer in the log of answers, finished or not."""

    id: str
    thread_id: str
    book: str
    question: str
    state: AnswerState
    created_at: datetime
    text: str | None = None
    """What the reader was shown; nothing while the answer is being made."""
    unsupported: tuple[str, ...] = ()
    """What the model claimed and the book does not support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation, as it was shown."""

    id: str
    role: Role
    content: str
    created_at: datetime
    confidence: float | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    """For an answer: its citations, verdicts and sources, exactly as the reader saw them."""
    state: AnswerState | None = None
    """For an answer: how far it has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation about one book."""

    id: str
    book: str
    created_at: datetime
    updated_at: datetime
    messages: tuple[Message, ...] = ()
    message_count: int = 0
    topic_summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
