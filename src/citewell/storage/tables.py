"""The tables of threads, messages, answers, feedback and keys, and how rows map to objects.

A change to any table in `METADATA` needs a new migration in `migrations/versions`.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    Select,
    String,
    Table,
    Text,
    TypeDecorator,
    and_,
    desc,
    false,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.operators import OperatorType

from citewell.conversation import (
    NATIVE_CONTRACT,
    NON_NATIVE_CONTRACTS,
    AnswerEntry,
    Caller,
    Message,
    OwnerScope,
    SharedKeyUser,
    Thread,
    retention_policy_for,
)
from citewell.domain import Answer
from citewell.text.plain_text import replace_lone_surrogates

VERSION_TABLE = "citewell_schema"
"""Alembic's version table, named so that other programs can share the database."""


class UtcDateTime(TypeDecorator[datetime]):
    """A timezone-aware UTC time, also on databases that drop the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: Dialect) -> datetime | None:
        """Convert to UTC."""
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, _: Dialect) -> datetime | None:
        """Attach or convert to UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class SafeText(TypeDecorator[str]):
    """Text from clients; characters that PostgreSQL or UTF-8 cannot store become `�`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _: Dialect) -> str | None:
        """Replace characters that cannot be stored."""
        return None if value is None else replace_lone_surrogates(value.replace("\0", "�"))


class SafeJson(TypeDecorator[Any]):
    """JSON that may contain text from clients; `JSONB` on PostgreSQL.

    `JSONB` cannot store a NUL or a lone surrogate, so neither is written to any database.
    """

    impl = JSON().with_variant(JSONB(), "postgresql")
    cache_ok = True

    def process_bind_param(self, value: Any, _: Dialect) -> Any:
        """Replace characters that cannot be stored."""
        return replace_unstorable(value)

    def coerce_compared_value(self, op: OperatorType | None, value: Any) -> Any:
        """Compare like the underlying JSON type."""
        return self.impl_instance.coerce_compared_value(op, value)


def replace_unstorable(value: Any) -> Any:
    """Return a JSON value with each character that a database cannot store replaced by `�`."""
    match value:
        case str():
            return replace_lone_surrogates(value.replace("\0", "�"))
        case dict():
            return {
                replace_unstorable(name): replace_unstorable(item) for name, item in value.items()
            }
        case list() | tuple():
            return [replace_unstorable(item) for item in value]
    return value


EMPTY_JSON = text("'{}'")
METADATA = MetaData()
"""All tables; those of streams are defined in `stream_log`."""
ThreadId = String(200)

THREADS = Table(
    "threads",
    METADATA,
    Column("id", ThreadId, primary_key=True),
    Column("book", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False, server_default=func.now()),
    Column("updated_at", UtcDateTime, nullable=False, server_default=func.now()),
    Column("message_count", Integer, nullable=False, default=0),
    Column("topic_summary", String(200)),
    Column("metadata", SafeJson, nullable=False, default=dict, server_default=EMPTY_JSON),
    Column("owner", String(200)),
    Column("contract", String(32), nullable=False, server_default="chat"),
    Column("state", String(10), nullable=False, server_default="active"),
    # Whether a client set the summary, so that it is never generated again.
    Column("titled", Boolean, nullable=False, server_default=false()),
    # Whether every reader who uses the key in `owner` can open the thread by its id alone.
    Column("opens_by_id", Boolean, nullable=False, server_default=false()),
    # Another id that the client has given the thread, by which it is found, too.
    Column("alias", ThreadId),
    Index("threads_by_alias", "alias"),
    Index("threads_by_update", desc("updated_at")),
    Index("threads_by_creation", desc("created_at")),
    Index("threads_by_owner", "owner", "updated_at"),
    Index("threads_by_state", "state", "updated_at"),
)

ANSWERS = Table(
    "answers",
    METADATA,
    Column("id", String(36), primary_key=True),
    # No foreign key: an answer is logged before its thread exists.
    Column("thread_id", ThreadId, nullable=False, index=True),
    Column("book", String(64), nullable=False),
    Column("question", SafeText, nullable=False),
    Column("state", String(10), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("owner", String(200)),
    Column("contract", String(32), nullable=False, server_default="chat"),
    # The process that produces it; see `lease.py`.
    Column("worker", String(36)),
    Index("answers_by_state", "state", "created_at"),
    Index("answers_by_time", "created_at"),
)

MESSAGES = Table(
    "messages",
    METADATA,
    Column("thread_id", ThreadId, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
    Column("content", SafeText, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("confidence", Float),
    Column("record", SafeJson, nullable=False, default=dict, server_default=EMPTY_JSON),
)

FEEDBACK = Table(
    "feedback",
    METADATA,
    # Deleted with its message, which is deleted with its thread.
    Column(
        "answer_id", String(36), ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("verdict", String(4), nullable=False),
    Column("reason", String(20)),
    Column("comment", SafeText),
    Column("created_at", UtcDateTime, nullable=False),
    Index("feedback_by_verdict", "verdict", "created_at"),
    Index("feedback_by_time", "created_at"),
)


THREAD_COLUMNS = [c for c in THREADS.c if c.name not in ("titled", "opens_by_id", "alias")]
MESSAGE_COLUMNS = [
    column.label(f"msg_{column.name}") for column in MESSAGES.c if column.name != "thread_id"
] + [ANSWERS.c.state.label("msg_state")]
"""The columns of a message, prefixed to tell them from those of its thread."""


def select_messages() -> Select[Any]:
    """Select threads with their messages, and the state of each answer."""
    return (
        select(*THREAD_COLUMNS, *MESSAGE_COLUMNS)
        .select_from(THREADS)
        .outerjoin(MESSAGES, MESSAGES.c.thread_id == THREADS.c.id)
        .outerjoin(ANSWERS, ANSWERS.c.id == MESSAGES.c.id)
    )


def select_entries(caller: Caller) -> Select[Any]:
    """Select the entries of the answer log that a caller may see, with the answer's text."""
    return (
        select(ANSWERS, MESSAGES.c.content, MESSAGES.c.record)
        .outerjoin(MESSAGES, MESSAGES.c.id == ANSWERS.c.id)
        .where(*owned_by(ANSWERS.c.owner, caller))
    )


def owned_by(owner: ColumnElement[Any], caller: Caller) -> list[ColumnElement[bool]]:
    """Return the conditions for rows that a caller owns."""
    if isinstance(caller, OwnerScope):
        return []
    name = caller.owner if isinstance(caller, SharedKeyUser) else caller
    return [owner.is_not_distinct_from(name)]


def openable_by(caller: Caller) -> list[ColumnElement[bool]]:
    """Return the conditions for threads that a caller may open by id."""
    if not isinstance(caller, SharedKeyUser):
        return owned_by(THREADS.c.owner, caller)
    return [or_(*owned_by(THREADS.c.owner, caller), openable_by_id(caller.key))]


def openable_by_id(key: str) -> ColumnElement[bool]:
    """Return the condition for threads that every user of a key may open by id."""
    shared = THREADS.c.owner.startswith(f"{key}:", autoescape=True)
    return and_(THREADS.c.opens_by_id, shared)


def belongs_to_contract(contract: str) -> ColumnElement[bool]:
    """Return the condition for threads that are visible to a contract."""
    if contract == NATIVE_CONTRACT:
        return THREADS.c.contract.not_in(NON_NATIVE_CONTRACTS)
    return THREADS.c.contract == contract


def row_to_thread(row: Row[Any], messages: tuple[Message, ...] = ()) -> Thread:
    """Build a thread from a row."""
    fields = {column.name: row._mapping[column.name] for column in THREAD_COLUMNS}
    return Thread(messages=messages, **fields)


def row_to_message(row: Row[Any]) -> Message:
    """Build a message from a row of `select_messages`."""
    fields = {
        name.removeprefix("msg_"): value
        for name, value in row._mapping.items()
        if name.startswith("msg_")
    }
    live = retention_policy_for(row._mapping["contract"]).max_live_messages
    archived = fields.pop("position") < row._mapping["message_count"] - live
    return Message(archived=archived, **fields)


def row_to_entry(row: Row[Any]) -> AnswerEntry:
    """Build an entry of the answer log from a row of `select_entries`."""
    fields = dict(row._mapping)
    text, record = fields.pop("content"), fields.pop("record") or {}
    del fields["worker"]
    return AnswerEntry(text=text, unsupported=tuple(record.get("unsupported", ())), **fields)


def entry_row(
    answer: Answer | AnswerEntry, *, owner: str | None, contract: str, worker: str | None = None
) -> dict[str, Any]:
    """Return the row of an entry in the answer log."""
    return {
        "id": answer.id,
        "thread_id": answer.thread_id,
        "book": answer.book,
        "question": answer.question,
        "state": answer.state,
        "created_at": answer.created_at,
        "owner": owner,
        "contract": contract,
        "worker": worker,
    }


def message_rows(
    messages: Sequence[Message], thread_id: str, first: int, at: datetime | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of messages from position `first` on.

    Questions may overlap, but no message is dated before the one above it, the first one's `at`.
    """
    for position, message in enumerate(messages, first):
        at = max(at or message.created_at, message.created_at)
        yield {
            "thread_id": thread_id,
            "position": position,
            "id": message.id,
            "role": message.role,
            "content": message.content,
            "created_at": at,
            "confidence": message.confidence,
            "record": dict(message.record),
        }


KEYS = Table(
    "access_keys",
    METADATA,
    Column("id", String(20), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    Column("origins", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
)

KEY_BOOKS = Table(
    "access_key_books",
    METADATA,
    Column("key_id", String(20), primary_key=True),
    Column("book", String(64), primary_key=True),
)
