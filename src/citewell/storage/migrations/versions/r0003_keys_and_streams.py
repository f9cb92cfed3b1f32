"""Access keys, and the events of running streams.

Earlier versions created these tables without a migration and without the index.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the missing tables and indexes."""
    op.create_table(
        "access_keys",
        sa.Column("id", sa.String(20), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("origins", sa.JSON, nullable=False),
        sa.Column("created_at", AT, nullable=False),
        sa.Column("expires_at", AT),
        sa.Column("revoked_at", AT),
        if_not_exists=True,
    )
    op.create_table(
        "streams",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner", sa.String(100), nullable=False),
        sa.Column("ended", sa.String(5), nullable=False),
        sa.Column("beats", sa.Integer, nullable=False),
        sa.Column("reads", sa.Integer, nullable=False),
        sa.Column("begun_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        if_not_exists=True,
    )
    op.create_index("ix_streams_ended_at", "streams", ["ended_at"], if_not_exists=True)
    op.create_table(
        "stream_frames",
        sa.Column("stream_id", sa.String(36), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        if_not_exists=True,
    )
