"""Settings to what is stored in a database: conversations, verdicts, keys and running streams."""

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quire.errors import DiskFull
from quire.folders import make_private, touch_private
from quire.ports import FeedbackStore
from quire.settings import Settings

if TYPE_CHECKING:
    from quire.access.limits import Limiter
    from quire.access.ring import Keyring
    from quire.access.store import SqlKeyStore
    from quire.streams.journal import Journal
    from quire.threads.database import Database
    from quire.threads.store import SqlThreadStore

THREADS, STREAMS = "threads.db", "streams.db"
LEAST_SPACE = 5_000_000
"""Bytes that have to be free for conversations to be stored."""


def build_threads(settings: Settings) -> "SqlThreadStore":
    """Make the store of conversations; nothing is opened yet."""
    from quire.threads.store import SqlThreadStore

    threads = settings.threads
    return SqlThreadStore(_database(settings), pool_size=threads.pool_size, rules=threads.rules)


def build_feedback(threads: "SqlThreadStore") -> FeedbackStore:
    """Make the store of what readers think, in the database of the conversations."""
    from quire.threads.feedback import SqlFeedbackStore

    return SqlFeedbackStore(threads)


def build_keys(settings: Settings) -> "SqlKeyStore":
    """Make the store of keys; nothing is opened yet."""
    from quire.access.store import SqlKeyStore

    return SqlKeyStore(_database(settings))


@dataclass(frozen=True, slots=True)
class Access:
    """What decides who may come in, and how often."""

    ring: "Keyring"
    limiter: "Limiter"


def build_access(settings: Settings) -> Access:
    """Make the keys and limits of a service; nothing is opened yet.

    Raises:
        BadSettings: `QUIRE_REDIS_URL` cannot be used.
    """
    from quire.access.limits import Limiter
    from quire.access.ring import Keyring

    redis = settings.redis_url.get_secret_value() if settings.redis_url else None
    ring = Keyring(build_keys(settings), settings.access.refresh_seconds)
    return Access(ring, Limiter(settings.limits, redis))


def build_journal(settings: Settings) -> "Journal":
    """Make the place where running streams are kept; nothing is opened yet."""
    from quire.streams.journal import Journal

    # A file of its own: what lives for minutes should not wait for what is kept for good.
    return Journal(_database(settings, STREAMS))


def build_databases(settings: Settings) -> "tuple[Database, ...]":
    """Make every database that has tables of Quire; nothing is opened yet."""
    from quire.threads.database import Database

    urls = dict.fromkeys(_database(settings, name) for name in (THREADS, STREAMS))
    return tuple(Database(url, pool_size=0) for url in urls)


def check_space(settings: Settings) -> None:
    """See that conversations can be stored in the data folder, if they are stored there.

    Raises:
        DiskFull: the disk is full, or nothing there can be written.
    """
    if settings.database_url:
        return
    folder = settings.data_dir.expanduser()
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise DiskFull(f"{folder} cannot be read: {error.strerror}.") from error
    if free < LEAST_SPACE:
        raise DiskFull(f"{folder} has {free} bytes left.")
    if not os.access(folder / THREADS, os.W_OK):
        raise DiskFull(f"{folder / THREADS} cannot be written.")


def _database(settings: Settings, name: str = THREADS) -> str:
    if settings.database_url:
        return settings.database_url.get_secret_value()
    folder = settings.data_dir.expanduser()
    try:
        make_private(folder)
    except OSError as error:
        raise DiskFull(f"{folder} cannot be made: {error.strerror}.") from error
    touch_private(folder / name)
    return f"sqlite+aiosqlite:///{folder / name}"
