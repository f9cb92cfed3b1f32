"""Conversations, stored as threads: their messages, owners and retention policies."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Literal

from citewell.domain import AnswerState

Role = Literal["user", "assistant"]
ThreadState = Literal["active", "idle", "archived", "ended"]
"""An `idle` or `archived` conversation can be continued; an `ended` one cannot."""
ReaderVerdict = Literal["up", "down"]
FeedbackReason = Literal["wrong", "incomplete", "off_topic", "unclear", "other"]


class OwnerScope(Enum):
    """A scope of conversations beyond those of a single owner."""

    ANY_OWNER = "anyone"


ANY_OWNER = OwnerScope.ANY_OWNER
"""The conversations of all owners, as an operator sees them."""


@dataclass(frozen=True, slots=True)
class SharedKeyUser:
    """One of several readers who share a key or use none.

    They see their own conversations. They may also open by id a conversation that was started
    without a reader token under an unguessable id, since nobody else knows that id.
    """

    owner: str
    key: str
    """The prefix of `owner` that all readers of the key have in common."""


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_RANDOM = re.compile(r"(?:[a-z]+_)?([\w-]{16,})", re.ASCII)
_SWITCH = re.compile(r"(?<=[a-zA-Z])\d|(?<=\d)[a-zA-Z]|(?<=[a-z])[A-Z]")
MIN_SWITCHES, MIN_DISTINCT = 4, 8


def is_unguessable(thread_id: str) -> bool:
    """Return whether an id is random: a UUID of version 4 or 7, or as mixed as random text.

    Such text has at least 16 characters after a prefix such as `thread_`. It changes between
    letters and digits or to capitals more often than words, dates and counters do.
    """
    if uuid := _UUID.fullmatch(thread_id):
        return uuid[1] in "47"
    match = _RANDOM.fullmatch(thread_id)
    return (
        match is not None
        and len(_SWITCH.findall(match[1])) >= MIN_SWITCHES
        and len(set(match[1])) >= MIN_DISTINCT
    )


Caller = str | None | OwnerScope | SharedKeyUser
"""Whose conversations are visible: those of one owner, of nobody (`None`), or of `ANY_OWNER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEntry:
    """An entry in the log of answers, finished or not."""

    id: str
    thread_id: str
    book: str
    question: str
    state: AnswerState
    created_at: datetime
    text: str | None = None
    """The text shown to the reader; `None` while the answer is being generated."""
    unsupported: tuple[str, ...] = ()
    """Claims of the model that the book does not support."""
    owner: str | None = None
    """Who asked, if known."""
    contract: str = "chat"
    """The contract of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A reader's feedback on an answer."""

    answer_id: str
    verdict: ReaderVerdict
    reason: FeedbackReason | None = None
    comment: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackEntry:
    """A reader's feedback together with the question and answer."""

    feedback: Feedback
    thread_id: str
    book: str
    question: str
    text: str
    """The answer shown to the reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a conversation, as shown to the reader."""

    id: str
    role: Role
    content: str
    created_at: datetime
    confidence: float | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    """For an answer: its citations, verdicts and sources, exactly as the reader saw them."""
    state: AnswerState | None = None
    """For an answer: its processing state."""
    archived: bool = False
    """Whether newer messages moved this one beyond the limit of live messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A stored conversation about one book; some contracts call it a session."""

    id: str
    book: str
    created_at: datetime
    updated_at: datetime
    messages: tuple[Message, ...] = ()
    message_count: int = 0
    topic_summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    owner: str | None = None
    """The only caller who may see it; `None` is visible to every caller without an owner."""
    contract: str = "chat"
    """The contract that created it, which determines its retention policy."""
    state: ThreadState = "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStart:
    """Data for a new conversation from its first question."""

    at: datetime | None = None
    """When the question arrived; by default the timestamp of its message."""
    opens_by_id: bool = False
    """Whether all readers of the same key can open it by its id alone."""
    alias: str | None = None
    """Another id that the client has given the conversation, by which it is found, too."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Client data to store with the conversation."""


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """A conversation and its owner."""

    thread_id: str
    owner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """When the conversations of a contract become idle, and when they are deleted."""

    max_live_messages: int
    """Messages beyond this number are archived; they can still be read."""
    idle_after: timedelta = timedelta(hours=1)
    idle_state: ThreadState = "archived"
    delete_after: timedelta | None = None
    window: int | None = None
    """How many messages a follow-up may refer to; `None` uses the pipeline's default."""

    @property
    def ends(self) -> bool:
        """Whether an idle conversation has ended, so that the next message starts a new one."""
        return self.idle_state == "ended"


MAX_INTERACTIONS = 99
"""Question-answer pairs that the `query` contract shows; its data model allows fewer than 100."""
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
"""The defaults that each contract's data model requires; operators may configure other times."""
NATIVE_CONTRACT = "chat"
NON_NATIVE_CONTRACTS = frozenset(RETENTION_POLICIES) - {NATIVE_CONTRACT}
"""Contracts with conversation routes of their own; all others share the native `/threads`."""


def retention_policy_for(
    contract: str, policies: Mapping[str, RetentionPolicy] = RETENTION_POLICIES
) -> RetentionPolicy:
    """Return the policy of a contract, or that of `chat` if it has none."""
    return policies.get(contract, policies[NATIVE_CONTRACT])
