"""Access keys that are restricted to some books."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "access_key_books",
        sa.Column("key_id", sa.String(20), primary_key=True),
        sa.Column("book", sa.String(64), primary_key=True),
    )
