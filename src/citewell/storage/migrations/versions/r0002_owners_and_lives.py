"""The owner, contract and state of a thread, and the process that produces an answer."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

WIDENED_COLUMNS = (("threads", "id"), ("messages", "thread_id"), ("answers", "thread_id"))


def upgrade() -> None:
    """Add the columns; existing threads have no owner and the contract `chat`."""
    op.add_column("threads", sa.Column("owner", sa.String(200)))
    op.add_column(
        "threads", sa.Column("contract", sa.String(32), nullable=False, server_default="chat")
    )
    op.add_column(
        "threads", sa.Column("state", sa.String(10), nullable=False, server_default="active")
    )
    op.add_column(
        "threads",
        sa.Column("titled", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_index("threads_by_owner", "threads", ["owner", "updated_at"])
    op.create_index("threads_by_state", "threads", ["state", "updated_at"])
    op.add_column("answers", sa.Column("owner", sa.String(200)))
    op.add_column("answers", sa.Column("worker", sa.String(36)))
    op.create_index("answers_by_time", "answers", ["created_at"])
    if op.get_bind().dialect.name != "sqlite":  # which does not enforce lengths
        for table, column in WIDENED_COLUMNS:
            op.alter_column(table, column, type_=sa.String(200), existing_nullable=False)
