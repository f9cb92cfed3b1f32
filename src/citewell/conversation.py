"""What is kept of a conversation: its messages, how far each answer has come, and for how long."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Literal

from citewell.domain import AnswerState

Role = Literal["user", "assistant"]
ThreadState = Literal["active", "idle", "archived", "ended"]
"""`idle` and `archived` wait to be continued; `ended` is over for the contract it came by."""
ReaderVerdict = Literal["up", "down"]
FeedbackReason = Literal["wrong", "incomplete", "off_topic", "unclear", "other"]


class OwnerScope(Enum):
    """Says whose conversations are meant where no single owner is."""

    ANY_OWNER = "anyone"


ANY_OWNER = OwnerScope.ANY_OWNER
"""All of them: what an operator sees."""


@dataclass(frozen=True, slots=True)
class SharedKeyUser:
    """One of several readers who share a key, or need none.

    A reader sees the conversations that are theirs, and opens by its id one that was begun without
    a reader's token under a random UUID: nobody else knows that id.
    """

    owner: str
    key: str
    """The part of `owner` that all readers of the key have in common."""


_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.I)


def is_unguessable(thread_id: str) -> bool:
    """Whether an id is a UUID of version 4, which has 122 random bits."""
    return bool(_RANDOM.fullmatch(thread_id))


Caller = str | None | OwnerScope | SharedKeyUser
"""Whose conversations are visible: one owner's, those that nobody owns (`None`), or `ANY_OWNER`'s.
"""


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
    owner: str | None = None
    """Who asked, where that is known."""
    contract: str = "chat"
    """The contract that the question came in by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a reader thinks of one answer."""

    answer_id: str
    verdict: ReaderVerdict
    reason: FeedbackReason | None = None
    comment: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackEntry:
    """What a reader thinks of one answer, beside that answer."""

    feedback: Feedback
    thread_id: str
    book: str
    question: str
    text: str
    """The answer that the reader was shown."""


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
    archived: bool = False
    """Whether so many came after it that it is no longer among the live ones."""


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
    owner: str | None = None
    """Who alone may see it; nobody's is seen by everyone whom no owner is known of."""
    contract: str = "chat"
    """The contract that it was begun by, whose rules say how long it lives."""
    state: ThreadState = "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStart:
    """What is known of a conversation from a question, beside who asked it by which contract."""

    at: datetime | None = None
    """When the question arrived; by default when its message is dated."""
    opens_by_id: bool = False
    """Whether its id alone opens it, for all readers of the same key."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the client wants kept with the conversation."""


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """Where a question stands: the conversation, and whose that is."""

    thread_id: str
    owner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """What happens to a thread that nobody writes to, by the contract that it came by."""

    max_live_messages: int
    """Older messages than these are archived; they can still be read."""
    idle_after: timedelta = timedelta(hours=1)
    idle_state: ThreadState = "archived"
    delete_after: timedelta | None = None
    window: int | None = None
    """How many messages a follow-up may refer to; `None` leaves that to the pipeline."""

    @property
    def ends(self) -> bool:
        """Whether a thread that rests is over, so that the next message begins another."""
        return self.idle_state == "ended"


MAX_INTERACTIONS = 99
"""Questions with their answers that `query` shows: fewer than 100."""
ASSISTANT_TURNS = 10
DEFAULT_RETENTION_POLICY = RetentionPolicy(max_live_messages=50)
RETENTION_POLICIES: Mapping[str, RetentionPolicy] = {
    "chat": DEFAULT_RETENTION_POLICY,
    "agent": RetentionPolicy(
        max_live_messages=100, idle_state="idle", delete_after=timedelta(hours=24)
    ),
    "assistant": RetentionPolicy(
        max_live_messages=ASSISTANT_TURNS,
        idle_after=timedelta(minutes=30),
        idle_state="ended",
        delete_after=timedelta(hours=24),
        window=ASSISTANT_TURNS,
    ),
    "workflow": RetentionPolicy(max_live_messages=100),
    "query": RetentionPolicy(
        max_live_messages=2 * MAX_INTERACTIONS, delete_after=timedelta(days=30)
    ),
}
"""What each contract's data model asks for; an operator may set other times."""
NATIVE_CONTRACT = "chat"
NON_NATIVE_CONTRACTS = frozenset(RETENTION_POLICIES) - {NATIVE_CONTRACT}
"""Contracts that show their conversations themselves; all others are seen as the native ones."""


def retention_policy_for(
    contract: str, rules: Mapping[str, RetentionPolicy] = RETENTION_POLICIES
) -> RetentionPolicy:
    """Return a contract's rules; one that has none of its own goes by those of `chat`."""
    return rules.get(contract, rules[NATIVE_CONTRACT])
