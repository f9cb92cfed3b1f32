"""Threads, messages and the answer log.

Databases from before the first migration already have these tables.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.String(36)
AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the missing tables and indexes."""
    op.create_table(
        "threads",
        sa.Column("id", ID, primary_key=True),
        sa.Column("book", sa.String(64), nullable=False),
        sa.Column("created_at", AT, nullable=False),
        sa.Column("updated_at", AT, nullable=False),
        sa.Column("message_count", sa.Integer, nullable=False),
        sa.Column("topic_summary", sa.String(200)),
        sa.Column("metadata", sa.JSON, nullable=False),
        if_not_exists=True,
    )
    op.create_index("threads_by_update", "threads", ["updated_at"], if_not_exists=True)
    op.create_table(
        "answers",
        sa.Column("id", ID, primary_key=True),
        sa.Column("thread_id", ID, nullable=False),
        sa.Column("book", sa.String(64), nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("created_at", AT, nullable=False),
        if_not_exists=True,
    )
    op.create_index("ix_answers_thread_id", "answers", ["thread_id"], if_not_exists=True)
    op.create_index("answers_by_state", "answers", ["state", "created_at"], if_not_exists=True)
    op.create_table(
        "messages",
        sa.Column(
            "thread_id", ID, sa.ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("id", ID, nullable=False, unique=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", AT, nullable=False),
        sa.Column("confidence", sa.Float),
        sa.Column("record", sa.JSON, nullable=False),
        if_not_exists=True,
    )
