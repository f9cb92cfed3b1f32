"""The table of keys, beside the conversations in the same database."""

from sqlalchemy import JSON, Column, String, Table

from quire.threads.tables import METADATA, UtcDateTime

KEYS = Table(
    "access_keys",
    METADATA,
    Column("id", String(20), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    Column("origins", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
)

KEY_BOOKS = Table(
    "access_key_books",
    METADATA,
    Column("key_id", String(20), primary_key=True),
    Column("book", String(64), primary_key=True),
)
