"""Threads in a database: SQLite by default, PostgreSQL by URL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import ColumnElement, Insert, Row, and_, delete, insert, not_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from quire.conversation import (
    DEFAULT_RULES,
    AnswerEntry,
    Caller,
    Message,
    Thread,
    ThreadState,
    rules_of,
)
from quire.domain import Answer, AnswerState
from quire.errors import BadRequest, StoreUnavailable, UnknownThread
from quire.threads.alive import Alive
from quire.threads.database import Database
from quire.threads.migrate import upgrade
from quire.threads.rows import (
    THREAD_COLUMNS,
    entry_of,
    entry_row,
    message_of,
    message_row,
    owned,
    select_entries,
    select_messages,
    thread_of,
)
from quire.threads.tables import ANSWERS, MESSAGES, THREADS
from quire.threads.topics import LONGEST, Exchange, summarise
from quire.threads.upkeep import is_gone, mark_unfinished

SUMMARISED = 10
"""A thread gets a summary, and then a newer one, each time so many messages were added."""
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Give the time."""
    return datetime.now(UTC)


class SqlThreadStore:
    """One row a thread, one row a message; appending costs the same however long the thread."""

    def __init__(self, url: str, *, pool_size: int = 10, clock: Clock = utc_now) -> None:
        """Use the database at `url`; nothing is opened yet.

        Raises:
            BadSettings: the URL cannot be read, or names a database that Quire cannot use.
        """
        self.database = Database(url, pool_size=pool_size)
        self.clock = clock
        self.alive = Alive(self.database)
        self._delivered: set[str] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self) -> None:
        """Bring the tables up to date, and mark answers that dead processes left.

        Raises:
            StoreMismatch: a newer version of Quire wrote the database.
        """
        await upgrade(self.database)
        await mark_unfinished(self.database, self.alive)

    async def close(self) -> None:
        """Close every connection."""
        with suppress(StoreUnavailable):
            await self.note_delivered()
        await self.alive.release()
        await self.database.close()

    async def ping(self) -> None:
        """Ask the database for next to nothing, to see that it answers."""
        async with self.database.reading() as connection:
            await connection.execute(select(THREADS.c.id).limit(1))

    @asynccontextmanager
    async def turn(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread for one question and its answer, so that turns never interleave."""
        # Here a lock of this process, which is fair and costs nothing; then one for all of them.
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        async with lock, self.alive.hold(thread_id):
            yield

    async def resume(
        self, thread_id: str, *, owner: str | None = None, contract: str = "chat"
    ) -> str:
        """Give the thread in which a conversation goes on: another one, if it is over.

        Raises:
            UnknownThread: it is someone else's, or another contract's.
        """
        wanted = select(THREADS).where(THREADS.c.id == thread_id)
        async with self.database.reading() as connection:
            found = (await connection.execute(wanted)).first()
        if found is None:
            return thread_id
        if found.owner != owner or found.contract != contract:
            raise UnknownThread(f"There is no conversation {thread_id}.")
        idle, rules = self.clock() - found.updated_at, rules_of(contract)
        if _is_over(rules.gone_after, idle):
            await self.delete(thread_id, owner=owner)
        elif rules.ends and _is_over(rules.rests_after, idle):
            await self._set(thread_id, owner, state=rules.rests_as)
            return str(uuid4())
        return thread_id

    async def load(
        self, thread_id: str, *, last: int | None = None, owner: Caller = None
    ) -> Thread | None:
        """Read a thread, with its last messages only if `last` is given."""
        wanted = select_messages().where(THREADS.c.id == thread_id, *self._visible(owner))
        newest = wanted.order_by(MESSAGES.c.position.desc())
        async with self.database.reading() as connection:
            rows = (await connection.execute(newest.limit(last) if last else newest)).all()
        if not rows:
            return None
        said = [self._message(row) for row in reversed(rows) if row.said_id]
        return thread_of(rows[0], tuple(said))

    async def messages(
        self, thread_id: str, *, limit: int, offset: int, owner: Caller = None
    ) -> Sequence[Message] | None:
        """Read messages from the first one on, also archived ones; `None` if there is no thread."""
        last = MESSAGES.c.position.between(offset, offset + limit - 1)
        wanted = select_messages().where(THREADS.c.id == thread_id, *self._visible(owner))
        async with self.database.reading() as connection:
            page = wanted.where(last).order_by(MESSAGES.c.position)
            rows = (await connection.execute(page)).all()
            if not rows and (await connection.execute(wanted.limit(1))).first() is None:
                return None
        return [self._message(row) for row in rows]

    async def answer(self, answer_id: str, *, owner: Caller = None) -> Message | None:
        """Read one finished answer with its record, whichever thread it stands in."""
        wanted = select_messages().where(
            MESSAGES.c.id == answer_id, MESSAGES.c.role == "assistant", *self._visible(owner)
        )
        async with self.database.reading() as connection:
            row = (await connection.execute(wanted)).first()
        return self._message(row) if row else None

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Read the log's line of an answer that is being made, or was never finished."""
        wanted = select_entries(owner).where(
            ANSWERS.c.id == answer_id, ANSWERS.c.state.in_(("processing", "unfinished"))
        )
        async with self.database.reading() as connection:
            row = (await connection.execute(wanted)).first()
        return entry_of(row) if row else None

    @asynccontextmanager
    async def answering(self, entry: AnswerEntry) -> AsyncIterator[None]:
        """Log an answer while it is made; one that is given up leaves nothing behind."""
        await self.alive.claim()
        row = entry_row(entry, owner=entry.owner, worker=self.alive.name)
        async with self.database.writing() as connection:
            await connection.execute(insert(ANSWERS).values(**row))
        try:
            yield
        except BaseException:
            with suppress(StoreUnavailable):
                async with self.database.writing() as connection:
                    await connection.execute(delete(ANSWERS).where(ANSWERS.c.id == entry.id))
            raise

    async def append(
        self,
        answer: Answer,
        messages: Sequence[Message],
        *,
        owner: str | None = None,
        contract: str = "chat",
    ) -> None:
        """Add a question and its answer, creating the thread if it is new.

        Raises:
            UnknownThread: there is one of that id, and it is someone else's.
        """
        async with self.database.writing() as connection:
            # The row stays locked until the end, so places are given one after the other.
            grown = (
                await connection.execute(self._grow(answer, len(messages), owner, contract))
            ).first()
            if grown is None:
                raise UnknownThread(f"There is no conversation {answer.thread_id}.")
            first = grown.message_count - len(messages)
            rows = [
                message_row(message, answer.thread_id, first + place)
                for place, message in enumerate(messages)
            ]
            await connection.execute(insert(MESSAGES), rows)
            logged = self.database.insert(ANSWERS).values(**entry_row(answer, owner=owner))
            await connection.execute(
                logged.on_conflict_do_update(
                    index_elements=["id"], set_={"state": logged.excluded.state}
                )
            )
            if first // SUMMARISED < grown.message_count // SUMMARISED and not grown.titled:
                await _summarise(connection, answer.thread_id, grown.message_count)
            noted = await self._note_delivered(connection)
        self._delivered -= noted

    async def deliver(self, answer_id: str) -> None:
        """Note that the reader has got all of an answer; one that is flagged stays so."""
        # Written with the next answer, or by `note_delivered`: no transaction of its own.
        self._delivered.add(answer_id)

    async def note_delivered(self) -> None:
        """Write down which answers readers have got since this was last done."""
        if self._delivered:
            async with self.database.writing() as connection:
                noted = await self._note_delivered(connection)
            self._delivered -= noted

    async def answers(
        self, *, state: AnswerState | None, limit: int, offset: int, owner: Caller = None
    ) -> Sequence[AnswerEntry]:
        """Give logged answers, in one state if it is named, the newest first."""
        await self.note_delivered()
        wanted = select_entries(owner)
        if state:
            wanted = wanted.where(ANSWERS.c.state == state)
        newest = wanted.order_by(ANSWERS.c.created_at.desc(), ANSWERS.c.id)
        async with self.database.reading() as connection:
            rows = (await connection.execute(newest.limit(limit).offset(offset))).all()
        return [entry_of(row) for row in rows]

    async def list(
        self,
        *,
        limit: int,
        offset: int,
        owner: Caller = None,
        state: ThreadState | None = None,
    ) -> Sequence[Thread]:
        """Give threads without their messages, the newest activity first."""
        wanted = select(*THREAD_COLUMNS).where(*self._visible(owner))
        if state:
            wanted = wanted.where(THREADS.c.state == state)
        newest = wanted.order_by(THREADS.c.updated_at.desc(), THREADS.c.id)
        async with self.database.reading() as connection:
            rows = (await connection.execute(newest.limit(limit).offset(offset))).all()
        return [thread_of(row) for row in rows]

    async def describe(
        self, thread_id: str, summary: str, *, owner: Caller = None, by_hand: bool = True
    ) -> bool:
        """Give a thread the summary that someone wrote for it; `False` if there is none.

        One that was written by hand stays; no other replaces it.

        Raises:
            BadRequest: the summary is empty or too long.
        """
        said = " ".join(summary.replace("\0", " ").split())
        if not 0 < len(said) <= LONGEST:
            raise BadRequest(f"A summary has 1 to {LONGEST} characters, not {len(said)}.")
        if by_hand:
            return await self._set(thread_id, owner, topic_summary=said, titled=True)
        wanted = and_(THREADS.c.id == thread_id, not_(THREADS.c.titled), *self._visible(owner))
        async with self.database.writing() as connection:
            named = update(THREADS).where(wanted).values(topic_summary=said)
            done = await connection.execute(named)
        return done.rowcount > 0

    async def delete(self, thread_id: str, *, owner: Caller = None) -> bool:
        """Delete a thread and all that belongs to it; `False` if there was none."""
        thread = and_(THREADS.c.id == thread_id, *owned(THREADS.c.owner, owner))
        logged = and_(ANSWERS.c.thread_id == thread_id, *owned(ANSWERS.c.owner, owner))
        async with self.database.writing(durable=True) as connection:
            # Messages, with their records and claims, go with their thread.
            gone = await connection.execute(delete(THREADS).where(thread))
            more = await connection.execute(delete(ANSWERS).where(logged))
        return gone.rowcount + more.rowcount > 0

    async def _set(self, thread_id: str, owner: Caller, **values: Any) -> bool:
        wanted = and_(THREADS.c.id == thread_id, *self._visible(owner))
        async with self.database.writing() as connection:
            done = await connection.execute(update(THREADS).where(wanted).values(**values))
        return done.rowcount > 0

    def _visible(self, caller: Caller) -> Sequence[ColumnElement[bool]]:
        """What a caller may see: what is theirs, and not gone by the rules of its contract."""
        return [*owned(THREADS.c.owner, caller), not_(is_gone(self.clock()))]

    def _grow(self, answer: Answer, by: int, owner: str | None, contract: str) -> Insert:
        """Make room for messages, in a new thread if there is none; nothing if it is another's."""
        new = self.database.insert(THREADS).values(
            id=answer.thread_id,
            book=answer.book,
            created_at=answer.created_at,
            updated_at=answer.created_at,
            message_count=by,
            owner=owner,
            contract=contract,
        )
        grown: Insert = new.on_conflict_do_update(
            index_elements=["id"],
            set_={
                "updated_at": new.excluded.updated_at,
                "message_count": THREADS.c.message_count + by,
                "state": "active",
            },
            where=THREADS.c.owner.is_not_distinct_from(new.excluded.owner),
        ).returning(THREADS.c.message_count, THREADS.c.titled)
        return grown

    def _message(self, row: Row[Any]) -> Message:
        message = message_of(row)
        late = message.id in self._delivered and message.state == "validated"
        return replace(message, state="delivered") if late else message

    async def _note_delivered(self, connection: AsyncConnection) -> set[str]:
        noted = set(self._delivered)
        if noted:
            checked = and_(ANSWERS.c.id.in_(noted), ANSWERS.c.state == "validated")
            await connection.execute(update(ANSWERS).where(checked).values(state="delivered"))
        return noted


async def _summarise(connection: AsyncConnection, thread_id: str, count: int) -> None:
    """Say again what a thread is about, from as many of its last messages as are live."""
    record = MESSAGES.c.record
    recent = MESSAGES.c.position >= count - DEFAULT_RULES.live_messages
    wanted = select(record["standalone_question"], record["headings"], record["status"]).where(
        MESSAGES.c.thread_id == thread_id, MESSAGES.c.role == "assistant", recent
    )
    rows = (await connection.execute(wanted.order_by(MESSAGES.c.position))).all()
    said = [
        Exchange(question, tuple(headings or ()))
        for question, headings, status in rows
        if question and status != "small_talk"
    ]
    summary = summarise(said)
    await connection.execute(
        update(THREADS).where(THREADS.c.id == thread_id).values(topic_summary=summary)
    )


def _is_over(limit: timedelta | None, idle: timedelta) -> bool:
    return limit is not None and idle > limit
