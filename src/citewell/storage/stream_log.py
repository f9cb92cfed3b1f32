"""The events of streamed answers in a database, so that any process can go on with any stream.

What is kept here is of use for minutes. It is written behind the readers' backs, many streams at a
time; a process that is killed loses the last few events, and says nothing about them afterwards.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from time import time
from typing import Any

from sqlalchemy import (
    Column,
    Float,
    Integer,
    String,
    Table,
    Text,
    delete,
    event,
    insert,
    or_,
    select,
    update,
)

from citewell.storage.database import Database
from citewell.storage.migrate import upgrade
from citewell.storage.tables import METADATA

POOL_SIZE = 5
UNAVAILABLE = "Running answers cannot be kept or read right now."

STREAMS = Table(
    "streams",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("owner", String(100), nullable=False),
    Column("ended", String(5), nullable=False),
    Column("beats", Integer, nullable=False),
    Column("reads", Integer, nullable=False),
    Column("begun_at", Float, nullable=False),
    Column("ended_at", Float, index=True),
)

FRAMES = Table(
    "stream_frames",
    METADATA,
    Column("stream_id", String(36), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("event", String(40), nullable=False),
    Column("data", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream, as it goes over the wire."""

    number: int
    """Position in its stream, from 1."""
    event: str
    data: str


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What is known of a stream beside its events."""

    owner: str
    """Whose it is; nobody else may read it."""
    ended: str
    """Empty while it runs, then `done` or `error`."""
    beats: int
    """Grows while the process that makes the answer lives."""
    reads: int
    """Grows while somebody reads it by way of another process."""


@dataclass(slots=True)
class Batch:
    """What has happened since the last time something was written."""

    begun: list[tuple[str, str]] = field(default_factory=list)
    """Streams and their owners."""
    frames: list[tuple[str, Frame]] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)
    """Streams and how they ended."""
    alive: list[str] = field(default_factory=list)

    def without(self, streams: Set[str]) -> "Batch":
        """Return what has happened to the other streams."""
        return Batch(
            begun=[one for one in self.begun if one[0] not in streams],
            frames=[one for one in self.frames if one[0] not in streams],
            ended=[one for one in self.ended if one[0] not in streams],
            alive=[one for one in self.alive if one not in streams],
        )

    @property
    def streams(self) -> set[str]:
        """The streams to which something has happened."""
        told = (one for one, _ in (*self.begun, *self.frames, *self.ended))
        return {*told, *self.alive}

    def __bool__(self) -> bool:
        return bool(self.begun or self.frames or self.ended or self.alive)


class StreamLog:
    """Streams and their events, for the processes that serve the same database."""

    def __init__(self, url: str) -> None:
        """Use the database at `url`; nothing is opened yet."""
        self._database = Database(url, pool_size=POOL_SIZE, down=UNAVAILABLE)
        if self._database.dialect == "sqlite":
            event.listen(self._database.engine.sync_engine, "connect", _tune_sqlite)

    async def open(self) -> None:
        """Bring the tables up to date.

        Raises:
            StoreMismatch: a newer version of Citewell has migrated them further.
        """
        await upgrade(self._database)

    async def close(self) -> None:
        """Close every connection."""
        await self._database.close()

    async def write(self, batch: Batch) -> None:
        """Write what has happened, all of it or nothing."""
        now = time()
        async with self._database.writing() as connection:
            if batch.begun:
                new = {"ended": "", "beats": 0, "reads": 0, "begun_at": now}
                rows = [{"id": one, "owner": owner, **new} for one, owner in batch.begun]
                await connection.execute(insert(STREAMS), rows)
            if batch.frames:
                rows = [
                    {"stream_id": one, "number": f.number, "event": f.event, "data": f.data}
                    for one, f in batch.frames
                ]
                await connection.execute(insert(FRAMES), rows)
            for one, how in batch.ended:
                ended = update(STREAMS).where(STREAMS.c.id == one)
                await connection.execute(ended.values(ended=how, ended_at=now))
            if batch.alive:
                beating = update(STREAMS).where(STREAMS.c.id.in_(batch.alive))
                await connection.execute(beating.values(beats=STREAMS.c.beats + 1))

    async def find(self, stream_id: str) -> StreamInfo | None:
        """Return what is known of a stream."""
        wanted = select(STREAMS.c.owner, STREAMS.c.ended, STREAMS.c.beats, STREAMS.c.reads)
        async with self._database.reading() as connection:
            row = (await connection.execute(wanted.where(STREAMS.c.id == stream_id))).first()
        return StreamInfo(*row) if row else None

    async def read(self, stream_id: str, after: int) -> Sequence[Frame]:
        """Return the events of a stream beyond the first `after`."""
        wanted = select(FRAMES.c.number, FRAMES.c.event, FRAMES.c.data).where(
            FRAMES.c.stream_id == stream_id, FRAMES.c.number > after
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(wanted.order_by(FRAMES.c.number))).all()
        return [Frame(*row) for row in rows]

    async def record_read(self, stream_id: str) -> None:
        """Tell the process that makes the answer that somebody reads it."""
        noted = update(STREAMS).where(STREAMS.c.id == stream_id)
        async with self._database.writing() as connection:
            await connection.execute(noted.values(reads=STREAMS.c.reads + 1))

    async def purge(self, *, ended: float, begun: float) -> None:
        """Forget streams that ended, or at least began, so many seconds ago."""
        now = time()
        old = select(STREAMS.c.id).where(
            or_(STREAMS.c.ended_at < now - ended, STREAMS.c.begun_at < now - begun)
        )
        async with self._database.writing() as connection:
            # Not by a list of ids: databases take some ten thousand at most, and what could not be
            # deleted once could never be deleted again.
            await connection.execute(delete(FRAMES).where(FRAMES.c.stream_id.in_(old)))
            await connection.execute(delete(STREAMS).where(STREAMS.c.id.in_(old)))


def _tune_sqlite(connection: Any, _: Any) -> None:
    # What a crash of the machine could lose is of no use after it.
    connection.execute("PRAGMA synchronous=OFF")
