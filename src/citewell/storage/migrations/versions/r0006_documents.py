"""JSONB and defaults on PostgreSQL, an index by creation, and threads that open by their id.

The contract of an answer lets a session be shown before its first answer is finished.
"""

import json

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from citewell.storage.tables import replace_unstorable

revision = "0006"
down_revision = "0005"

JSON_COLUMNS = (("threads", "metadata", ("id",)), ("messages", "record", ("thread_id", "position")))
UNSTORABLE_ESCAPES = r"\\u(0000|[dD][89a-fA-F])"
"""Escapes that JSONB may reject: a NUL, or a surrogate. Complete surrogate pairs match, too."""


def upgrade() -> None:
    """Change the tables and keep their rows."""
    op.add_column(
        "threads", sa.Column("opens_by_id", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column(
        "answers", sa.Column("contract", sa.String(32), nullable=False, server_default="chat")
    )
    op.drop_index("threads_by_update", "threads")
    op.create_index("threads_by_update", "threads", [sa.text("updated_at DESC")])
    op.create_index("threads_by_creation", "threads", [sa.text("created_at DESC")])
    if op.get_bind().dialect.name == "sqlite":  # has no JSONB and cannot add a default
        return
    for table, column, key in JSON_COLUMNS:
        _replace_unstorable(table, column, key)
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


def _replace_unstorable(name: str, column: str, key: tuple[str, ...]) -> None:
    connection = op.get_bind()
    table = sa.table(name, sa.column(column, sa.JSON), *map(sa.column, key))
    document = sa.cast(table.c[column], sa.Text).label("document")
    key_columns = [table.c[part] for part in key]
    suspect = document.regexp_match(UNSTORABLE_ESCAPES)
    rows = connection.execute(sa.select(*key_columns, document).where(suspect)).mappings().all()
    for row in rows:
        same_key = (table.c[part] == row[part] for part in key)
        clean = replace_unstorable(json.loads(row["document"]))
        connection.execute(sa.update(table).where(*same_key).values({column: clean}))
