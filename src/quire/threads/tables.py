"""The tables behind conversations: a row a thread, a message, an answer, a reader's verdict.

A change here, or of any other table in `METADATA`, needs a migration: the next number in
`migrations/versions`.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    desc,
    false,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.operators import OperatorType

from quire.prose.plain import well_formed

VERSION_TABLE = "quire_schema"
"""Says how far a database has been migrated; other programs may keep tables in the same one."""


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time on every database, also on those that drop the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _: Dialect) -> datetime | None:
        """Store in UTC."""
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, _: Dialect) -> datetime | None:
        """Read as UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Prose(TypeDecorator[str]):
    """Any text that a reader may send; what PostgreSQL or UTF-8 cannot hold becomes `�`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _: Dialect) -> str | None:
        """Store what can be stored everywhere."""
        return None if value is None else well_formed(value.replace("\0", "�"))


class Document(TypeDecorator[Any]):
    """JSON that a reader may have had a part in; `JSONB` where the database has that.

    `JSONB` cannot hold a NUL or half of a character, so neither is written anywhere.
    """

    impl = JSON().with_variant(JSONB(), "postgresql")
    cache_ok = True

    def process_bind_param(self, value: Any, _: Dialect) -> Any:
        """Store what can be stored everywhere."""
        return storable(value)

    def coerce_compared_value(self, op: OperatorType | None, value: Any) -> Any:
        """Compare with what stands in the document, as plain JSON does."""
        return self.impl_instance.coerce_compared_value(op, value)


def storable(value: Any) -> Any:
    """Return JSON that every database can hold; what it cannot hold becomes `�`."""
    match value:
        case str():
            return well_formed(value.replace("\0", "�"))
        case dict():
            return {storable(name): storable(one) for name, one in value.items()}
        case list() | tuple():
            return [storable(one) for one in value]
    return value


EMPTY = text("'{}'")
METADATA = MetaData()
"""Every table there is; those of keys and streams stand beside the code that uses them."""
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
    Column("metadata", Document, nullable=False, default=dict, server_default=EMPTY),
    Column("owner", String(200)),
    Column("contract", String(32), nullable=False, server_default="chat"),
    Column("state", String(10), nullable=False, server_default="active"),
    # Whether someone gave it its summary, which then stays.
    Column("titled", Boolean, nullable=False, server_default=false()),
    # Whether its id alone opens it, for all readers of the key that its owner begins with.
    Column("opens_by_id", Boolean, nullable=False, server_default=false()),
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
    Column("question", Prose, nullable=False),
    Column("state", String(10), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("owner", String(200)),
    Column("contract", String(32), nullable=False, server_default="chat"),
    # The process that makes it; see `alive.py`.
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
    Column("content", Prose, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("confidence", Float),
    Column("record", Document, nullable=False, default=dict, server_default=EMPTY),
)

FEEDBACK = Table(
    "feedback",
    METADATA,
    # It goes with its answer's message, and that with its thread.
    Column(
        "answer_id", String(36), ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("verdict", String(4), nullable=False),
    Column("reason", String(20)),
    Column("comment", Prose),
    Column("created_at", UtcDateTime, nullable=False),
    Index("feedback_by_verdict", "verdict", "created_at"),
    Index("feedback_by_time", "created_at"),
)
