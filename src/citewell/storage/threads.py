"""Threads in a database: SQLite by default, PostgreSQL by URL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import ColumnElement, Insert, Row, and_, delete, insert, not_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from citewell.conversation import (
    DEFAULT_RETENTION_POLICY,
    RETENTION_POLICIES,
    AnswerEntry,
    Caller,
    Message,
    RetentionPolicy,
    SharedKeyUser,
    Thread,
    ThreadRef,
    ThreadStart,
    ThreadState,
    is_unguessable,
    retention_policy_for,
)
from citewell.domain import Answer, AnswerState
from citewell.errors import BadRequest, StoreUnavailable, UnknownThread
from citewell.storage.database import Database
from citewell.storage.lease import WorkerLease
from citewell.storage.maintenance import is_expired, mark_unfinished
from citewell.storage.migrate import upgrade
from citewell.storage.summary import MAX_LENGTH, Exchange, summarise
from citewell.storage.tables import (
    ANSWERS,
    MESSAGES,
    THREAD_COLUMNS,
    THREADS,
    belongs_to_contract,
    entry_row,
    message_row,
    openable_by,
    openable_by_id,
    owned_by,
    row_to_entry,
    row_to_message,
    row_to_thread,
    select_entries,
    select_messages,
)

SUMMARY_MESSAGES = 10
"""A thread gets a summary, and then a newer one, each time so many messages were added."""
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class SqlThreadStore:
    """One row a thread, one row a message; appending costs the same however long the thread."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        clock: Clock = utc_now,
        rules: Mapping[str, RetentionPolicy] = RETENTION_POLICIES,
    ) -> None:
        """Use the database at `url`; nothing is opened yet.

        Raises:
            BadSettings: the URL cannot be read, or names a database that Citewell cannot use.
        """
        self.database = Database(url, pool_size=pool_size)
        self.clock = clock
        self.rules = rules
        self.alive = WorkerLease(self.database)
        self._delivered: set[str] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self) -> None:
        """Bring the tables up to date, and mark answers that dead processes left.

        Raises:
            StoreMismatch: a newer version of Citewell wrote the database.
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
        async with lock, self.alive.exclusive_lock(thread_id):
            yield

    async def resume(
        self, thread_id: str, *, owner: str | SharedKeyUser | None = None, contract: str = "chat"
    ) -> ThreadRef:
        """Return where a conversation goes on: in another one, if it is over.

        Raises:
            UnknownThread: it is someone else's, or another contract's.
        """
        mine = and_(THREADS.c.contract == contract, *openable_by(owner)).label("mine")
        wanted = select(THREADS.c.updated_at, THREADS.c.owner, mine)
        async with self.database.reading() as connection:
            found = (await connection.execute(wanted.where(THREADS.c.id == thread_id))).first()
        own = owner.owner if isinstance(owner, SharedKeyUser) else owner
        if found is None:
            return ThreadRef(thread_id, own)
        if not found.mine:
            raise UnknownThread(f"There is no conversation {thread_id}.")
        idle, rules = self.clock() - found.updated_at, retention_policy_for(contract, self.rules)
        if rules.ends and _is_over(rules.idle_after, idle):
            await self._set(thread_id, found.owner, state=rules.idle_state)
            return ThreadRef(str(uuid4()), own)
        if _is_over(rules.delete_after, idle):
            await self.delete(thread_id, owner=found.owner)
            return ThreadRef(thread_id, own)
        return ThreadRef(thread_id, found.owner)

    async def load(
        self,
        thread_id: str,
        *,
        last: int | None = None,
        owner: Caller = None,
        contract: str | None = None,
    ) -> Thread | None:
        """Read a thread, with its last messages only if `last` is given.

        With a `contract`, only one that it shows.
        """
        wanted = select_messages().where(*self._thread_conditions(thread_id, owner, contract))
        newest = wanted.order_by(MESSAGES.c.position.desc())
        async with self.database.reading() as connection:
            rows = (await connection.execute(newest.limit(last) if last else newest)).all()
        if not rows:
            return None
        said = [self._message(row) for row in reversed(rows) if row.said_id]
        return row_to_thread(rows[0], tuple(said))

    async def begun(self, thread_id: str, *, owner: Caller, contract: str) -> Thread | None:
        """Return a thread whose first answer is being made, and which has no message yet."""
        wanted = select_entries(owner).where(
            ANSWERS.c.thread_id == thread_id,
            ANSWERS.c.contract == contract,
            ANSWERS.c.state == "processing",
        )
        async with self.database.reading() as connection:
            row = (await connection.execute(wanted.order_by(ANSWERS.c.created_at))).first()
        if row is None:
            return None
        return Thread(
            id=thread_id,
            book=row.book,
            created_at=row.created_at,
            updated_at=row.created_at,
            owner=row.owner,
            contract=contract,
        )

    async def messages(
        self,
        thread_id: str,
        *,
        limit: int,
        offset: int,
        owner: Caller = None,
        contract: str | None = None,
    ) -> Sequence[Message] | None:
        """Read messages from the first one on, also archived ones; `None` if there is no thread."""
        last = MESSAGES.c.position.between(offset, offset + limit - 1)
        wanted = select_messages().where(*self._thread_conditions(thread_id, owner, contract))
        async with self.database.reading() as connection:
            page = wanted.where(last).order_by(MESSAGES.c.position)
            rows = (await connection.execute(page)).all()
            if not rows and (await connection.execute(wanted.limit(1))).first() is None:
                return None
        return [self._message(row) for row in rows]

    async def answer(self, answer_id: str, *, owner: Caller = None) -> Message | None:
        """Read one finished answer with its record, whichever thread it stands in."""
        wanted = select_messages().where(
            MESSAGES.c.id == answer_id,
            MESSAGES.c.role == "assistant",
            *self._open_conditions(owner),
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
        return row_to_entry(row) if row else None

    @asynccontextmanager
    async def answering(self, entry: AnswerEntry) -> AsyncIterator[None]:
        """Log an answer while it is made; one that is given up leaves nothing behind."""
        await self.alive.claim()
        row = entry_row(entry, owner=entry.owner, contract=entry.contract, worker=self.alive.name)
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
        beginning: ThreadStart = ThreadStart(),  # noqa: B008 - frozen
    ) -> None:
        """Add a question and its answer, creating the thread if it is new.

        Raises:
            UnknownThread: there is one of that id, and it is someone else's.
        """
        async with self.database.writing() as connection:
            # The row stays locked until the end, so places are given one after the other.
            began = beginning.at or messages[0].created_at
            new = self._upsert_thread(
                answer, len(messages), owner, contract, replace(beginning, at=began)
            )
            grown = (await connection.execute(new)).first()
            if grown is None:
                raise UnknownThread(f"There is no conversation {answer.thread_id}.")
            first = grown.message_count - len(messages)
            rows = [
                message_row(message, answer.thread_id, first + place)
                for place, message in enumerate(messages)
            ]
            await connection.execute(insert(MESSAGES), rows)
            if beginning.metadata and first:
                known = {**grown.metadata, **beginning.metadata}
                kept = update(THREADS).where(THREADS.c.id == answer.thread_id)
                await connection.execute(kept.values(metadata=known))
            line = entry_row(answer, owner=owner, contract=contract)
            logged = self.database.insert(ANSWERS).values(**line)
            await connection.execute(
                logged.on_conflict_do_update(
                    index_elements=["id"], set_={"state": logged.excluded.state}
                )
            )
            if (
                first // SUMMARY_MESSAGES < grown.message_count // SUMMARY_MESSAGES
                and not grown.titled
            ):
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
        """Return logged answers, in one state if it is named, the newest first."""
        await self.note_delivered()
        wanted = select_entries(owner)
        if state:
            wanted = wanted.where(ANSWERS.c.state == state)
        newest = wanted.order_by(ANSWERS.c.created_at.desc(), ANSWERS.c.id)
        async with self.database.reading() as connection:
            rows = (await connection.execute(newest.limit(limit).offset(offset))).all()
        return [row_to_entry(row) for row in rows]

    async def list(
        self,
        *,
        limit: int,
        offset: int,
        owner: Caller = None,
        state: ThreadState | None = None,
        contract: str | None = None,
    ) -> Sequence[Thread]:
        """Return threads without their messages, the newest activity first.

        With a `contract`, only those that it shows.
        """
        # By no id: whatever ids open, only their owner's are listed.
        wanted = select(*THREAD_COLUMNS).where(
            *owned_by(THREADS.c.owner, owner), self._not_expired()
        )
        if contract:
            wanted = wanted.where(belongs_to_contract(contract))
        if state:
            wanted = wanted.where(THREADS.c.state == state)
        newest = wanted.order_by(THREADS.c.updated_at.desc(), THREADS.c.id)
        async with self.database.reading() as connection:
            rows = (await connection.execute(newest.limit(limit).offset(offset))).all()
        return [row_to_thread(row) for row in rows]

    async def describe(
        self,
        thread_id: str,
        summary: str,
        *,
        owner: Caller = None,
        by_hand: bool = True,
        contract: str | None = None,
    ) -> bool:
        """Return a thread the summary that someone wrote for it; `False` if there is none.

        One that was written by hand stays; no other replaces it.

        Raises:
            BadRequest: the summary is empty or too long.
        """
        said = " ".join(summary.replace("\0", " ").split())
        if not 0 < len(said) <= MAX_LENGTH:
            raise BadRequest(f"A summary has 1 to {MAX_LENGTH} characters, not {len(said)}.")
        if by_hand:
            return await self._set(thread_id, owner, contract, topic_summary=said, titled=True)
        wanted = and_(not_(THREADS.c.titled), *self._thread_conditions(thread_id, owner, contract))
        async with self.database.writing() as connection:
            named = update(THREADS).where(wanted).values(topic_summary=said)
            done = await connection.execute(named)
        return done.rowcount > 0

    async def set_metadata(
        self,
        thread_id: str,
        metadata: Mapping[str, Any],
        *,
        owner: Caller = None,
        contract: str | None = None,
    ) -> bool:
        """Keep what a client says about a thread, in place of what it said; `False` if none is."""
        return await self._set(thread_id, owner, contract, metadata=dict(metadata))

    async def delete(
        self, thread_id: str, *, owner: Caller = None, contract: str | None = None
    ) -> bool:
        """Delete a thread and all that belongs to it; `False` if there was none."""
        shown = [belongs_to_contract(contract)] if contract else []
        thread = and_(THREADS.c.id == thread_id, *openable_by(owner), *shown)
        unfinished = and_(ANSWERS.c.thread_id == thread_id, *owned_by(ANSWERS.c.owner, owner))
        if contract:
            unfinished = and_(unfinished, ANSWERS.c.contract == contract)
        async with self.database.writing(durable=True) as connection:
            # Messages, with their records and claims, go with their thread.
            gone = await connection.execute(delete(THREADS).where(thread).returning(THREADS.c.id))
            found = gone.first() is not None
            logged = ANSWERS.c.thread_id == thread_id if found else unfinished
            more = await connection.execute(delete(ANSWERS).where(logged))
        return found or more.rowcount > 0

    async def _set(
        self, thread_id: str, owner: Caller, contract: str | None = None, **values: Any
    ) -> bool:
        wanted = and_(*self._thread_conditions(thread_id, owner, contract))
        async with self.database.writing() as connection:
            done = await connection.execute(update(THREADS).where(wanted).values(**values))
        return done.rowcount > 0

    def _thread_conditions(
        self, thread_id: str, caller: Caller, contract: str | None
    ) -> Sequence[ColumnElement[bool]]:
        """Return the conditions for one thread that a caller names by its id."""
        shown = [belongs_to_contract(contract)] if contract else []
        return [THREADS.c.id == thread_id, *self._open_conditions(caller), *shown]

    def _open_conditions(self, caller: Caller) -> Sequence[ColumnElement[bool]]:
        return [*openable_by(caller), self._not_expired()]

    def _not_expired(self) -> ColumnElement[bool]:
        """Return the condition that a thread is not gone by the rules of its contract."""
        return not_(is_expired(self.clock(), self.rules))

    def _upsert_thread(
        self, answer: Answer, by: int, owner: str | None, contract: str, beginning: ThreadStart
    ) -> Insert:
        """Make room for messages, in a new thread if there is none; nothing if it is another's."""
        by_id = beginning.opens_by_id and is_unguessable(answer.thread_id)
        new = self.database.insert(THREADS).values(
            id=answer.thread_id,
            book=answer.book,
            created_at=beginning.at,
            updated_at=answer.created_at,
            message_count=by,
            metadata=dict(beginning.metadata),
            owner=owner,
            contract=contract,
            opens_by_id=by_id,
        )
        theirs = THREADS.c.owner.is_not_distinct_from(new.excluded.owner)
        if by_id and owner:  # another request with the same id was faster
            theirs = or_(theirs, openable_by_id(owner.rpartition(":")[0]))
        grown: Insert = new.on_conflict_do_update(
            index_elements=["id"],
            set_={
                "updated_at": new.excluded.updated_at,
                "message_count": THREADS.c.message_count + by,
                "state": "active",
            },
            where=theirs,
        ).returning(THREADS.c.message_count, THREADS.c.titled, THREADS.c.metadata)
        return grown

    def _message(self, row: Row[Any]) -> Message:
        message = row_to_message(row)
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
    recent = MESSAGES.c.position >= count - DEFAULT_RETENTION_POLICY.max_live_messages
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
