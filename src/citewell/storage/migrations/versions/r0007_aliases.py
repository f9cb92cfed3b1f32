"""The client's other id of a conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column and its index."""
    op.add_column("threads", sa.Column("alias", sa.String(200)))
    op.create_index("threads_by_alias", "threads", ["alias"])
