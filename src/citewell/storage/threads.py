"""The store of threads, that is, conversations: in SQLite by default, or PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import (
    ColumnElement,
    Insert,
    Row,
    and_,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
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
from citewell.storage.summary import MAX_LENGTH, AnsweredQuestion, summarise
from citewell.storage.tables import (
    ANSWERS,
    MESSAGES,
    THREAD_COLUMNS,
    THREADS,
    belongs_to_contract,
    entry_row,
    message_rows,
    openable_by,
    openable_by_id,
    owned_by,
    row_to_entry,
    row_to_message,
    row_to_thread,
    select_entries,
    select_messages,
)

SUMMARY_INTERVAL = 10
"""A thread's summary is rewritten every time this many messages have been added."""
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class SqlThreadStore:
    """One row per thread and per message; the cost of appending does not grow with the thread."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        clock: Clock = utc_now,
        policies: Mapping[str, RetentionPolicy] = RETENTION_POLICIES,
    ) -> None:
        """Configure the store for the database at `url` without connecting.

        Raises:
            BadSettings: the URL is invalid or names an unsupported database.
        """
        self.database = Database(url, pool_size=pool_size)
        self.clock = clock
        self.policies = policies
        self.lease = WorkerLease(self.database)
        self._delivered: set[str] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self) -> None:
        """Migrate the tables, and mark answers that dead processes left unfinished.

        Raises:
            StoreMismatch: a newer version of Citewell migrated the database.
        """
        await upgrade(self.database)
        await mark_unfinished(self.database, self.lease)

    async def close(self) -> None:
        """Close every connection."""
        with suppress(StoreUnavailable):
            await self.flush_delivered()
        await self.lease.release()
        await self.database.close()

    async def ping(self) -> None:
        """Run a trivial query to check that the database responds."""
        async with self.database.read_transaction() as connection:
            await connection.execute(select(THREADS.c.id).limit(1))

    @asynccontextmanager
    async def turn(self, thread_id: str) -> AsyncIterator[None]:
        """Lock the thread for one question and its answer, so that turns never interleave."""
        # The in-process lock is fair and cheap; only its holder polls the cross-process lock.
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        async with lock, self.lease.exclusive_lock(thread_id):
            yield

    async def resume(
        self, thread_id: str, *, owner: str | SharedKeyUser | None = None, contract: str = "chat"
    ) -> ThreadRef:
        """Return the thread in which to continue: a new one if the given one has ended.

        Raises:
            UnknownThread: the thread belongs to another owner or another contract.
        """
        accessible = and_(THREADS.c.contract == contract, *openable_by(owner)).label("accessible")
        query = select(THREADS.c.updated_at, THREADS.c.owner, accessible)
        async with self.database.read_transaction() as connection:
            row = (await connection.execute(query.where(THREADS.c.id == thread_id))).first()
        owner_id = owner.owner if isinstance(owner, SharedKeyUser) else owner
        if row is None:
            other = await self.find_by_alias(thread_id, owner=owner, contract=contract)
            if other and other != thread_id:
                return await self.resume(other, owner=owner, contract=contract)
            return ThreadRef(thread_id, owner_id)
        if not row.accessible:
            raise UnknownThread(f"There is no conversation {thread_id}.")
        idle, policy = self.clock() - row.updated_at, retention_policy_for(contract, self.policies)
        if policy.ends and _is_over(policy.idle_after, idle):
            await self._set(thread_id, row.owner, state=policy.idle_state)
            return ThreadRef(str(uuid4()), owner_id)
        if _is_over(policy.delete_after, idle):
            await self.delete(thread_id, owner=row.owner)
            return ThreadRef(thread_id, owner_id)
        return ThreadRef(thread_id, row.owner)

    async def find_by_alias(self, alias: str, *, owner: Caller, contract: str) -> str | None:
        """Return the id of the latest thread with that other id, if the caller may open it."""
        # The id is the secret that opens it to other readers of the key; so must the alias be.
        visible = openable_by(owner) if is_unguessable(alias) else owned_by(THREADS.c.owner, owner)
        query = select(THREADS.c.id).where(
            THREADS.c.alias == alias, THREADS.c.contract == contract, *visible
        )
        async with self.database.read_transaction() as connection:
            found: str | None = await connection.scalar(query.order_by(THREADS.c.updated_at.desc()))
        return found

    async def load(
        self,
        thread_id: str,
        *,
        last: int | None = None,
        owner: Caller = None,
        contract: str | None = None,
    ) -> Thread | None:
        """Return a thread with all of its messages, or only the `last` ones.

        If `contract` is given, the thread must be visible to it.
        """
        query = select_messages().where(*self._thread_conditions(thread_id, owner, contract))
        query = query.order_by(MESSAGES.c.position.desc())
        async with self.database.read_transaction() as connection:
            rows = (await connection.execute(query.limit(last) if last else query)).all()
        if not rows:
            return None
        messages = [self._message(row) for row in reversed(rows) if row.msg_id]
        return row_to_thread(rows[0], tuple(messages))

    async def pending(self, thread_id: str, *, owner: Caller, contract: str) -> Thread | None:
        """Return a thread that has no messages yet because its first answer is in progress."""
        query = select_entries(owner).where(
            ANSWERS.c.thread_id == thread_id,
            ANSWERS.c.contract == contract,
            ANSWERS.c.state == "processing",
        )
        async with self.database.read_transaction() as connection:
            row = (await connection.execute(query.order_by(ANSWERS.c.created_at))).first()
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
        """Return a page of messages, archived ones included; `None` if there is no thread."""
        in_page = MESSAGES.c.position.between(offset, offset + limit - 1)
        query = select_messages().where(*self._thread_conditions(thread_id, owner, contract))
        async with self.database.read_transaction() as connection:
            page = query.where(in_page).order_by(MESSAGES.c.position)
            rows = (await connection.execute(page)).all()
            if not rows and (await connection.execute(query.limit(1))).first() is None:
                return None
        return [self._message(row) for row in rows]

    async def answer(self, answer_id: str, *, owner: Caller = None) -> Message | None:
        """Return one finished answer with its record, from any thread."""
        query = select_messages().where(
            MESSAGES.c.id == answer_id,
            MESSAGES.c.role == "assistant",
            *self._access_conditions(owner),
        )
        async with self.database.read_transaction() as connection:
            row = (await connection.execute(query)).first()
        return self._message(row) if row else None

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Return the log entry of an answer that is in progress or was never finished."""
        query = select_entries(owner).where(
            ANSWERS.c.id == answer_id, ANSWERS.c.state.in_(("processing", "unfinished"))
        )
        async with self.database.read_transaction() as connection:
            row = (await connection.execute(query)).first()
        return row_to_entry(row) if row else None

    @asynccontextmanager
    async def track_answer(self, entry: AnswerEntry) -> AsyncIterator[None]:
        """Log an answer while it is in progress; remove the entry if it is aborted."""
        await self.lease.acquire()
        row = entry_row(entry, owner=entry.owner, contract=entry.contract, worker=self.lease.name)
        async with self.database.write_transaction() as connection:
            await connection.execute(insert(ANSWERS).values(**row))
        try:
            yield
        except BaseException:
            with suppress(StoreUnavailable):
                async with self.database.write_transaction() as connection:
                    await connection.execute(delete(ANSWERS).where(ANSWERS.c.id == entry.id))
            raise

    async def append(
        self,
        answer: Answer,
        messages: Sequence[Message],
        *,
        owner: str | None = None,
        contract: str = "chat",
        start: ThreadStart = ThreadStart(),  # noqa: B008 - frozen
    ) -> None:
        """Append a question and its answer, creating the thread if it is new.

        Raises:
            UnknownThread: a thread with that id belongs to another owner.
        """
        async with self.database.write_transaction() as connection:
            # The upsert locks the row until the commit, so positions are assigned in order.
            started = replace(start, at=start.at or messages[0].created_at)
            upsert = self._upsert_thread(answer, len(messages), owner, contract, started)
            thread = (await connection.execute(upsert)).first()
            if thread is None:
                raise UnknownThread(f"There is no conversation {answer.thread_id}.")
            first = thread.message_count - len(messages)
            previous = select(MESSAGES.c.created_at).where(
                MESSAGES.c.thread_id == answer.thread_id, MESSAGES.c.position == first - 1
            )
            at = await connection.scalar(previous)
            rows = message_rows(messages, answer.thread_id, first, at)
            await connection.execute(insert(MESSAGES), list(rows))
            if start.metadata and first:
                metadata = {**thread.metadata, **start.metadata}
                query = update(THREADS).where(THREADS.c.id == answer.thread_id)
                await connection.execute(query.values(metadata=metadata))
            entry = entry_row(answer, owner=owner, contract=contract)
            new = self.database.insert(ANSWERS).values(**entry)
            await connection.execute(
                new.on_conflict_do_update(index_elements=["id"], set_={"state": new.excluded.state})
            )
            if (
                first // SUMMARY_INTERVAL < thread.message_count // SUMMARY_INTERVAL
                and not thread.titled
            ):
                await _summarise(connection, answer.thread_id, thread.message_count)
            written = await self._write_delivered(connection)
        self._delivered -= written

    async def mark_delivered(self, answer_id: str) -> None:
        """Record that the reader has received all of an answer; a flagged one stays flagged."""
        # Written with the next answer or by `flush_delivered`, to save a transaction.
        self._delivered.add(answer_id)

    async def flush_delivered(self) -> None:
        """Store the deliveries recorded since the last flush."""
        if self._delivered:
            async with self.database.write_transaction() as connection:
                written = await self._write_delivered(connection)
            self._delivered -= written

    async def answers(
        self, *, state: AnswerState | None, limit: int, offset: int, owner: Caller = None
    ) -> Sequence[AnswerEntry]:
        """Return logged answers, optionally in one state, newest first."""
        await self.flush_delivered()
        query = select_entries(owner)
        if state:
            query = query.where(ANSWERS.c.state == state)
        query = query.order_by(ANSWERS.c.created_at.desc(), ANSWERS.c.id)
        async with self.database.read_transaction() as connection:
            rows = (await connection.execute(query.limit(limit).offset(offset))).all()
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
        """Return threads without their messages, most recently updated first.

        If `contract` is given, only the threads visible to it.
        """
        # Threads that others can open by their id are still listed for their owner only.
        query = select(*THREAD_COLUMNS).where(
            *owned_by(THREADS.c.owner, owner), self._not_expired()
        )
        if contract:
            query = query.where(belongs_to_contract(contract))
        if state:
            query = query.where(THREADS.c.state == state)
        query = query.order_by(THREADS.c.updated_at.desc(), THREADS.c.id)
        async with self.database.read_transaction() as connection:
            rows = (await connection.execute(query.limit(limit).offset(offset))).all()
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
        """Set a thread's summary; return `False` if there is no such thread.

        A summary written by hand is never replaced by a generated one.

        Raises:
            BadRequest: the summary is empty or too long.
        """
        text = " ".join(summary.replace("\0", " ").split())
        if not 0 < len(text) <= MAX_LENGTH:
            raise BadRequest(f"A summary has 1 to {MAX_LENGTH} characters, not {len(text)}.")
        if by_hand:
            return await self._set(thread_id, owner, contract, topic_summary=text, titled=True)
        where = and_(~THREADS.c.titled, *self._thread_conditions(thread_id, owner, contract))
        async with self.database.write_transaction() as connection:
            query = update(THREADS).where(where).values(topic_summary=text)
            return (await connection.execute(query)).rowcount > 0

    async def set_metadata(
        self,
        thread_id: str,
        metadata: Mapping[str, Any],
        *,
        owner: Caller = None,
        contract: str | None = None,
    ) -> bool:
        """Replace a thread's client metadata; return `False` if there is no such thread."""
        return await self._set(thread_id, owner, contract, metadata=dict(metadata))

    async def delete(
        self, thread_id: str, *, owner: Caller = None, contract: str | None = None
    ) -> bool:
        """Delete a thread and everything in it; return `False` if there was none."""
        visible = [belongs_to_contract(contract)] if contract else []
        thread = and_(THREADS.c.id == thread_id, *openable_by(owner), *visible)
        unfinished = and_(ANSWERS.c.thread_id == thread_id, *owned_by(ANSWERS.c.owner, owner))
        if contract:
            unfinished = and_(unfinished, ANSWERS.c.contract == contract)
        async with self.database.write_transaction(durable=True) as connection:
            # The foreign key deletes the messages with their thread.
            rows = await connection.execute(delete(THREADS).where(thread).returning(THREADS.c.id))
            existed = rows.first() is not None
            entries = ANSWERS.c.thread_id == thread_id if existed else unfinished
            deleted = await connection.execute(delete(ANSWERS).where(entries))
        return existed or deleted.rowcount > 0

    async def _set(
        self, thread_id: str, owner: Caller, contract: str | None = None, **values: Any
    ) -> bool:
        where = and_(*self._thread_conditions(thread_id, owner, contract))
        async with self.database.write_transaction() as connection:
            query = update(THREADS).where(where).values(**values)
            return (await connection.execute(query)).rowcount > 0

    def _thread_conditions(
        self, thread_id: str, caller: Caller, contract: str | None
    ) -> Sequence[ColumnElement[bool]]:
        visible = [belongs_to_contract(contract)] if contract else []
        return [THREADS.c.id == thread_id, *self._access_conditions(caller), *visible]

    def _access_conditions(self, caller: Caller) -> Sequence[ColumnElement[bool]]:
        return [*openable_by(caller), self._not_expired()]

    def _not_expired(self) -> ColumnElement[bool]:
        return ~is_expired(self.clock(), self.policies)

    def _upsert_thread(
        self, answer: Answer, added: int, owner: str | None, contract: str, start: ThreadStart
    ) -> Insert:
        """Build the upsert that makes room for messages, except in another owner's thread."""
        opens_by_id = start.opens_by_id and is_unguessable(answer.thread_id)
        new = self.database.insert(THREADS).values(
            id=answer.thread_id,
            book=answer.book,
            created_at=start.at,
            updated_at=answer.created_at,
            message_count=added,
            metadata=dict(start.metadata),
            owner=owner,
            contract=contract,
            opens_by_id=opens_by_id,
            alias=start.alias,
        )
        accessible = THREADS.c.owner.is_not_distinct_from(new.excluded.owner)
        if opens_by_id and owner:  # a concurrent request may have created the thread
            accessible = or_(accessible, openable_by_id(owner.rpartition(":")[0]))
        upsert: Insert = new.on_conflict_do_update(
            index_elements=["id"],
            set_={
                "updated_at": case(
                    (THREADS.c.updated_at > new.excluded.updated_at, THREADS.c.updated_at),
                    else_=new.excluded.updated_at,
                ),
                "alias": func.coalesce(new.excluded.alias, THREADS.c.alias),
                "message_count": THREADS.c.message_count + added,
                "state": "active",
            },
            where=accessible,
        ).returning(THREADS.c.message_count, THREADS.c.titled, THREADS.c.metadata)
        return upsert

    def _message(self, row: Row[Any]) -> Message:
        message = row_to_message(row)
        unwritten = message.id in self._delivered and message.state == "validated"
        return replace(message, state="delivered") if unwritten else message

    async def _write_delivered(self, connection: AsyncConnection) -> set[str]:
        delivered = set(self._delivered)
        if delivered:
            where = and_(ANSWERS.c.id.in_(delivered), ANSWERS.c.state == "validated")
            await connection.execute(update(ANSWERS).where(where).values(state="delivered"))
        return delivered


async def _summarise(connection: AsyncConnection, thread_id: str, count: int) -> None:
    """Rewrite a thread's summary from its live messages."""
    record = MESSAGES.c.record
    recent = MESSAGES.c.position >= count - DEFAULT_RETENTION_POLICY.max_live_messages
    query = select(record["standalone_question"], record["headings"], record["status"]).where(
        MESSAGES.c.thread_id == thread_id, MESSAGES.c.role == "assistant", recent
    )
    rows = (await connection.execute(query.order_by(MESSAGES.c.position))).all()
    questions = [
        AnsweredQuestion(question, tuple(headings or ()))
        for question, headings, status in rows
        if question and status != "small_talk"
    ]
    update_summary = update(THREADS).where(THREADS.c.id == thread_id)
    await connection.execute(update_summary.values(topic_summary=summarise(questions)))


def _is_over(limit: timedelta | None, idle: timedelta) -> bool:
    return limit is not None and idle > limit
