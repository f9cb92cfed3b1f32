"""Readers' feedback on answers."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "feedback",
        sa.Column(
            "answer_id",
            sa.String(36),
            sa.ForeignKey("messages.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("verdict", sa.String(4), nullable=False),
        sa.Column("reason", sa.String(20)),
        sa.Column("comment", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("feedback_by_verdict", "feedback", ["verdict", "created_at"])
    op.create_index("feedback_by_time", "feedback", ["created_at"])
