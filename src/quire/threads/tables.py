"""The tables behind conversations: a row a thread, a row a message."""

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
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
)


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


METADATA = MetaData()

THREADS = Table(
    "threads",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("book", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("message_count", Integer, nullable=False, default=0),
    Column("topic_summary", String(200)),
    Column("metadata", JSON, nullable=False, default=dict),
    Index("threads_by_update", "updated_at"),
)

ANSWERS = Table(
    "answers",
    METADATA,
    Column("id", String(36), primary_key=True),
    # No foreign key: an answer is logged before its thread exists.
    Column("thread_id", String(36), nullable=False, index=True),
    Column("book", String(64), nullable=False),
    Column("question", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("answers_by_state", "state", "created_at"),
)

MESSAGES = Table(
    "messages",
    METADATA,
    Column("thread_id", String(36), ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
    Column("content", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("confidence", Float),
    Column("record", JSON, nullable=False, default=dict),
)
