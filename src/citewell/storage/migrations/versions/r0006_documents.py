"""JSONB and defaults on PostgreSQL, an index by creation, and conversations that their id opens.

Answers know their contract, so that a session can be shown from the arrival of its first question.
"""

import json

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from citewell.storage.tables import replace_unstorable

revision = "0006"
down_revision = "0005"

DOCUMENTS = (("threads", "metadata", ("id",)), ("messages", "record", ("thread_id", "position")))
ESCAPED = r"\\u(0000|[dD][89a-fA-F])"
"""What JSON may say and JSONB may not: a NUL, or half of a character. Whole pairs match, too."""


def upgrade() -> None:
    """Change the tables; what is in them stays."""
    op.add_column(
        "threads", sa.Column("opens_by_id", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column(
        "answers", sa.Column("contract", sa.String(32), nullable=False, server_default="chat")
    )
    op.drop_index("threads_by_update", "threads")
    op.create_index("threads_by_update", "threads", [sa.text("updated_at DESC")])
    op.create_index("threads_by_creation", "threads", [sa.text("created_at DESC")])
    if op.get_bind().dialect.name == "sqlite":  # has neither the type nor a way to add a default
        return
    for table, column, key in DOCUMENTS:
        _clean(table, column, key)
        op.alter_column(
            table,
            column,
            type_=JSONB,
            existing_nullable=False,
            postgresql_using=f"{column}::jsonb",
            server_default=sa.text("'{}'"),
        )
    for column in ("created_at", "updated_at"):
        op.alter_column("threads", column, existing_nullable=False, server_default=sa.func.now())


def _clean(table: str, column: str, key: tuple[str, ...]) -> None:
    """Replace what `JSONB` cannot hold."""
    connection = op.get_bind()
    where = sa.table(table, sa.column(column, sa.JSON), *map(sa.column, key))
    said = sa.cast(where.c[column], sa.Text).label("said")
    names = [where.c[name] for name in key]
    unfit = said.regexp_match(ESCAPED)
    for row in connection.execute(sa.select(*names, said).where(unfit)).mappings().all():
        same = (where.c[name] == row[name] for name in key)
        clean = replace_unstorable(json.loads(row["said"]))
        connection.execute(sa.update(where).where(*same).values({column: clean}))
