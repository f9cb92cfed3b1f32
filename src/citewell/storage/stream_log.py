"""A database log of the events of streamed answers, so that any process can resume any stream.

Entries matter for minutes only. They are written asynchronously, in batches over many streams; a
process that is killed loses the last few events.
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
UNAVAILABLE = "Streamed answers cannot be stored or read right now."

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
    """One server-sent event of a stream."""

    number: int
    """Position in its stream, from 1."""
    event: str
    data: str


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """The state of a stream, without its events."""

    owner: str
    """The only caller who may read the stream."""
    ended: str
    """Empty while the stream runs, then `done` or `error`."""
    heartbeats: int
    """Incremented while the process that produces the answer is alive."""
    reads: int
    """Incremented while a client reads the stream through another process."""


@dataclass(slots=True)
class Batch:
    """The changes since the last write."""

    started: list[tuple[str, str]] = field(default_factory=list)
    """Stream ids and their owners."""
    frames: list[tuple[str, Frame]] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)
    """Stream ids with `done` or `error`."""
    alive: list[str] = field(default_factory=list)
    """Ids of running streams, whose heartbeats are incremented."""

    def without(self, streams: Set[str]) -> "Batch":
        """Return the batch without the changes to `streams`."""
        return Batch(
            started=[entry for entry in self.started if entry[0] not in streams],
            frames=[entry for entry in self.frames if entry[0] not in streams],
            ended=[entry for entry in self.ended if entry[0] not in streams],
            alive=[stream_id for stream_id in self.alive if stream_id not in streams],
        )

    @property
    def streams(self) -> set[str]:
        """The ids of the streams that changed."""
        changed = (stream_id for stream_id, _ in (*self.started, *self.frames, *self.ended))
        return {*changed, *self.alive}

    def __bool__(self) -> bool:
        return bool(self.started or self.frames or self.ended or self.alive)


class StreamLog:
    """Streams and their events, shared by the processes that use the same database."""

    def __init__(self, url: str) -> None:
        """Configure the log for the database at `url` without connecting."""
        self._database = Database(url, pool_size=POOL_SIZE, unavailable=UNAVAILABLE)
        if self._database.dialect == "sqlite":
            event.listen(self._database.engine.sync_engine, "connect", _tune_sqlite)

    async def open(self) -> None:
        """Migrate the tables.

        Raises:
            StoreMismatch: a newer version of Citewell migrated the database.
        """
        await upgrade(self._database)

    async def close(self) -> None:
        """Close every connection."""
        await self._database.close()

    async def write(self, batch: Batch) -> None:
        """Write a batch in one transaction."""
        now = time()
        async with self._database.write_transaction() as connection:
            if batch.started:
                defaults = {"ended": "", "beats": 0, "reads": 0, "begun_at": now}
                rows = [{"id": name, "owner": owner, **defaults} for name, owner in batch.started]
                await connection.execute(insert(STREAMS), rows)
            if batch.frames:
                rows = [
                    {"stream_id": stream_id, "number": f.number, "event": f.event, "data": f.data}
                    for stream_id, f in batch.frames
                ]
                await connection.execute(insert(FRAMES), rows)
            for stream_id, outcome in batch.ended:
                query = update(STREAMS).where(STREAMS.c.id == stream_id)
                await connection.execute(query.values(ended=outcome, ended_at=now))
            if batch.alive:
                query = update(STREAMS).where(STREAMS.c.id.in_(batch.alive))
                await connection.execute(query.values(beats=STREAMS.c.beats + 1))

    async def find(self, stream_id: str) -> StreamInfo | None:
        """Return the state of a stream; `None` if there is no such stream."""
        query = select(STREAMS.c.owner, STREAMS.c.ended, STREAMS.c.beats, STREAMS.c.reads)
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(query.where(STREAMS.c.id == stream_id))).first()
        return StreamInfo(*row) if row else None

    async def read(self, stream_id: str, after: int) -> Sequence[Frame]:
        """Return the events of a stream that follow event number `after`."""
        query = select(FRAMES.c.number, FRAMES.c.event, FRAMES.c.data).where(
            FRAMES.c.stream_id == stream_id, FRAMES.c.number > after
        )
        async with self._database.read_transaction() as connection:
            rows = (await connection.execute(query.order_by(FRAMES.c.number))).all()
        return [Frame(*row) for row in rows]

    async def record_read(self, stream_id: str) -> None:
        """Tell the process that produces the answer that a client is reading it."""
        query = update(STREAMS).where(STREAMS.c.id == stream_id)
        async with self._database.write_transaction() as connection:
            await connection.execute(query.values(reads=STREAMS.c.reads + 1))

    async def purge(self, *, after_end: float, after_start: float) -> None:
        """Delete streams whose end or start was more seconds ago than the arguments allow."""
        now = time()
        old = select(STREAMS.c.id).where(
            or_(STREAMS.c.ended_at < now - after_end, STREAMS.c.begun_at < now - after_start)
        )
        async with self._database.write_transaction() as connection:
            # A subquery, because databases limit the number of bound parameters.
            await connection.execute(delete(FRAMES).where(FRAMES.c.stream_id.in_(old)))
            await connection.execute(delete(STREAMS).where(STREAMS.c.id.in_(old)))


def _tune_sqlite(connection: Any, _: Any) -> None:
    # Streams do not outlive a crash of the machine, so they need no durability.
    connection.execute("PRAGMA synchronous=OFF")
