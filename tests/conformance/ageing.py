"""Letting time pass for a conversation: the one place that knows how.

The lifetimes are hours, so tests move a conversation into the past where it is stored.
"""

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta

from tests.conformance.serving import BOUND, Service

_STORED = "%Y-%m-%d %H:%M:%S.%f"


def age(service: Service, session: str, by: timedelta) -> None:
    """Move all that is stored of a conversation into the past."""
    with closing(sqlite3.connect(service.data / "threads.db", timeout=BOUND)) as base, base:
        for table, key, column in (
            ("threads", "id", "created_at"),
            ("threads", "id", "updated_at"),
            ("messages", "thread_id", "created_at"),
        ):
            _move(base, (table, key, column), session, by)


def _move(
    base: sqlite3.Connection, place: tuple[str, str, str], session: str, by: timedelta
) -> None:
    table, key, column = place
    found = base.execute(f"SELECT rowid, {column} FROM {table} WHERE {key} = ?", [session])
    for row, stored in found.fetchall():
        earlier = (datetime.fromisoformat(stored) - by).strftime(_STORED)
        base.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [earlier, row])
