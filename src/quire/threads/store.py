"""Threads in a database: SQLite by default, any that SQLAlchemy reaches by URL."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import Row, delete, event, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from quire.conversation import AnswerEntry, Message, Thread
from quire.domain import Answer, AnswerState
from quire.errors import StoreUnavailable
from quire.threads.tables import ANSWERS, MESSAGES, METADATA, THREADS

STATED = select(MESSAGES, ANSWERS.c.state).outerjoin(ANSWERS, ANSWERS.c.id == MESSAGES.c.id)
"""Messages, the answers among them with their state."""


class SqlThreadStore:
    """One row a thread, one row a message; appending costs the same however long the thread."""

    def __init__(self, url: str) -> None:
        """Use the database at `url`; nothing is opened yet."""
        self._engine: AsyncEngine = create_async_engine(url)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine.sync_engine, "connect", _tune_sqlite)

    async def open(self) -> None:
        """Create the tables that are missing."""
        async with self._connection() as connection:
            await connection.run_sync(METADATA.create_all)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()

    async def ping(self) -> None:
        """Ask the database for nothing, to see that it answers."""
        async with self._connection() as connection:
            await connection.execute(select(func.count()).select_from(THREADS))

    @asynccontextmanager
    async def turn(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread for one question and its answer, so that turns never interleave."""
        lock = self._locks.setdefault(thread_id, asyncio.Lock())
        async with lock:
            yield

    async def load(self, thread_id: str, *, last: int | None = None) -> Thread | None:
        """Read a thread, with its last messages only if `last` is given."""
        async with self._connection() as connection:
            found = (
                await connection.execute(select(THREADS).where(THREADS.c.id == thread_id))
            ).first()
            if found is None:
                return None
            wanted = STATED.where(MESSAGES.c.thread_id == thread_id)
            newest = wanted.order_by(MESSAGES.c.position.desc())
            rows = (await connection.execute(newest.limit(last) if last else newest)).all()
        return _thread(found, tuple(_message(row) for row in reversed(rows)))

    async def answer(self, answer_id: str) -> Message | None:
        """Read one finished answer with its record, whichever thread it stands in."""
        wanted = STATED.where(MESSAGES.c.id == answer_id, MESSAGES.c.role == "assistant")
        async with self._connection() as connection:
            row = (await connection.execute(wanted)).first()
        return _message(row) if row else None

    @asynccontextmanager
    async def answering(self, entry: AnswerEntry) -> AsyncIterator[None]:
        """Log an answer while it is made; one that is given up leaves nothing behind."""
        async with self._connection() as connection:
            await connection.execute(insert(ANSWERS).values(**_logged(entry)))
        try:
            yield
        except BaseException:
            with suppress(StoreUnavailable):
                async with self._connection() as connection:
                    await connection.execute(delete(ANSWERS).where(ANSWERS.c.id == entry.id))
            raise

    async def append(self, answer: Answer, messages: Sequence[Message]) -> None:
        """Add a question and its answer, creating the thread if it is new."""
        async with self._connection() as connection:
            grown = await connection.execute(
                update(THREADS)
                .where(THREADS.c.id == answer.thread_id)
                .values(
                    updated_at=answer.created_at,
                    message_count=THREADS.c.message_count + len(messages),
                )
                .returning(THREADS.c.message_count)
            )
            count = grown.scalar()
            if count is None:
                count = len(messages)
                await connection.execute(
                    insert(THREADS).values(
                        id=answer.thread_id,
                        book=answer.book,
                        created_at=answer.created_at,
                        updated_at=answer.created_at,
                        message_count=count,
                    )
                )
            first = count - len(messages)
            rows = [
                _row(message, answer.thread_id, first + place)
                for place, message in enumerate(messages)
            ]
            await connection.execute(insert(MESSAGES), rows)
            known = ANSWERS.c.id == answer.id
            logged = await connection.execute(
                update(ANSWERS).where(known).values(state=answer.state)
            )
            if not logged.rowcount:
                await connection.execute(insert(ANSWERS).values(**_logged(answer)))

    async def deliver(self, answer_id: str) -> None:
        """Note that the reader has got all of an answer; one that is flagged stays so."""
        checked = (ANSWERS.c.id == answer_id) & (ANSWERS.c.state == "validated")
        async with self._connection() as connection:
            await connection.execute(update(ANSWERS).where(checked).values(state="delivered"))

    async def answers(
        self, *, state: AnswerState | None, limit: int, offset: int
    ) -> Sequence[AnswerEntry]:
        """Give logged answers, in one state if it is named, the newest first."""
        wanted = select(ANSWERS, MESSAGES.c.content, MESSAGES.c.record).outerjoin(
            MESSAGES, MESSAGES.c.id == ANSWERS.c.id
        )
        if state:
            wanted = wanted.where(ANSWERS.c.state == state)
        newest = wanted.order_by(ANSWERS.c.created_at.desc(), ANSWERS.c.id)
        async with self._connection() as connection:
            rows = (await connection.execute(newest.limit(limit).offset(offset))).all()
        return [_entry(row) for row in rows]

    async def list(self, *, limit: int, offset: int) -> Sequence[Thread]:
        """Give threads without their messages, the newest activity first."""
        wanted = select(THREADS).order_by(THREADS.c.updated_at.desc(), THREADS.c.id)
        async with self._connection() as connection:
            rows = (await connection.execute(wanted.limit(limit).offset(offset))).all()
        return [_thread(row, ()) for row in rows]

    async def delete(self, thread_id: str) -> bool:
        """Delete a thread and all that belongs to it; `False` if there was none."""
        async with self._connection() as connection:
            await connection.execute(delete(MESSAGES).where(MESSAGES.c.thread_id == thread_id))
            await connection.execute(delete(ANSWERS).where(ANSWERS.c.thread_id == thread_id))
            gone = await connection.execute(delete(THREADS).where(THREADS.c.id == thread_id))
        return gone.rowcount > 0

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError) as error:
            raise StoreUnavailable("Conversations cannot be stored or read right now.") from error


def _tune_sqlite(connection: Any, _: Any) -> None:
    # Readers do not wait for a writer, and a writer waits for its turn instead of failing.
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "busy_timeout=5000",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _thread(row: Row[Any], messages: tuple[Message, ...]) -> Thread:
    fields = row._mapping
    return Thread(messages=messages, **fields)


def _message(row: Row[Any]) -> Message:
    fields = {k: v for k, v in row._mapping.items() if k not in ("thread_id", "position")}
    return Message(**fields)


def _logged(answer: Answer | AnswerEntry) -> dict[str, Any]:
    return {
        "id": answer.id,
        "thread_id": answer.thread_id,
        "book": answer.book,
        "question": answer.question,
        "state": answer.state,
        "created_at": answer.created_at,
    }


def _entry(row: Row[Any]) -> AnswerEntry:
    fields = dict(row._mapping)
    text, record = fields.pop("content"), fields.pop("record") or {}
    return AnswerEntry(text=text, unsupported=tuple(record.get("unsupported", ())), **fields)


def _row(message: Message, thread_id: str, position: int) -> dict[str, Any]:
    return {
        "thread_id": thread_id,
        "position": position,
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at,
        "confidence": message.confidence,
        "record": dict(message.record),
    }
