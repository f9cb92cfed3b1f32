"""Rows of the tables, and what they mean outside."""

from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select

from quire.conversation import (
    FOREIGN,
    NATIVE,
    AnswerEntry,
    Caller,
    KeyReader,
    Message,
    Thread,
    Whose,
    rules_of,
)
from quire.domain import Answer
from quire.threads.tables import ANSWERS, MESSAGES, THREADS

THREAD_COLUMNS = [c for c in THREADS.c if c.name not in ("titled", "opens_by_id")]
SAID = [
    column.label(f"said_{column.name}") for column in MESSAGES.c if column.name != "thread_id"
] + [ANSWERS.c.state.label("said_state")]
"""The columns of a message, beside those of its thread."""


def select_messages() -> Select[Any]:
    """Select threads with their messages, the answers among them with their state."""
    return (
        select(*THREAD_COLUMNS, *SAID)
        .select_from(THREADS)
        .outerjoin(MESSAGES, MESSAGES.c.thread_id == THREADS.c.id)
        .outerjoin(ANSWERS, ANSWERS.c.id == MESSAGES.c.id)
    )


def select_entries(caller: Caller) -> Select[Any]:
    """Select the lines of the log of answers that a caller may see, beside what was said."""
    return (
        select(ANSWERS, MESSAGES.c.content, MESSAGES.c.record)
        .outerjoin(MESSAGES, MESSAGES.c.id == ANSWERS.c.id)
        .where(*owned(ANSWERS.c.owner, caller))
    )


def owned(owner: ColumnElement[Any], caller: Caller) -> list[ColumnElement[bool]]:
    """Return the conditions under which a row is a caller's own."""
    if isinstance(caller, Whose):
        return []
    name = caller.owner if isinstance(caller, KeyReader) else caller
    return [owner.is_not_distinct_from(name)]


def opened(caller: Caller) -> list[ColumnElement[bool]]:
    """Return the conditions under which a caller who names a thread's id may open it."""
    if not isinstance(caller, KeyReader):
        return owned(THREADS.c.owner, caller)
    return [or_(*owned(THREADS.c.owner, caller), opened_by_id(caller.key))]


def opened_by_id(key: str) -> ColumnElement[bool]:
    """Return the condition under which all readers of a key open a thread by its id."""
    shared = THREADS.c.owner.startswith(f"{key}:", autoescape=True)
    return and_(THREADS.c.opens_by_id, shared)


def of_contract(contract: str) -> ColumnElement[bool]:
    """Return the condition under which a thread is one that a contract shows."""
    if contract == NATIVE:
        return THREADS.c.contract.not_in(FOREIGN)
    return THREADS.c.contract == contract


def thread_of(row: Row[Any], messages: tuple[Message, ...] = ()) -> Thread:
    """Read a thread."""
    fields = {column.name: row._mapping[column.name] for column in THREAD_COLUMNS}
    return Thread(messages=messages, **fields)


def message_of(row: Row[Any]) -> Message:
    """Read a message beside its thread."""
    fields = {
        name.removeprefix("said_"): value
        for name, value in row._mapping.items()
        if name.startswith("said_")
    }
    live = rules_of(row._mapping["contract"]).live_messages
    archived = fields.pop("position") < row._mapping["message_count"] - live
    return Message(archived=archived, **fields)


def entry_of(row: Row[Any]) -> AnswerEntry:
    """Read a line of the log of answers, beside what was said."""
    fields = dict(row._mapping)
    text, record = fields.pop("content"), fields.pop("record") or {}
    del fields["worker"]
    return AnswerEntry(text=text, unsupported=tuple(record.get("unsupported", ())), **fields)


def entry_row(
    answer: Answer | AnswerEntry, *, owner: str | None, contract: str, worker: str | None = None
) -> dict[str, Any]:
    """Write a line of the log of answers."""
    return {
        "id": answer.id,
        "thread_id": answer.thread_id,
        "book": answer.book,
        "question": answer.question,
        "state": answer.state,
        "created_at": answer.created_at,
        "owner": owner,
        "contract": contract,
        "worker": worker,
    }


def message_row(message: Message, thread_id: str, position: int) -> dict[str, Any]:
    """Write a message in its place."""
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
