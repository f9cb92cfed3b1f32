"""The feedback store: readers' verdicts on answers, in the database of the conversations."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Row, literal, not_, select

from citewell.conversation import Caller, Feedback, FeedbackEntry, ReaderVerdict
from citewell.errors import UnknownAnswer
from citewell.storage.maintenance import is_expired
from citewell.storage.tables import ANSWERS, FEEDBACK, MESSAGES, THREADS, openable_by
from citewell.storage.threads import SqlThreadStore

FEEDBACK_COLUMNS = ("verdict", "reason", "comment", "created_at")
"""The columns that later feedback on the same answer replaces."""


class SqlFeedbackStore:
    """One row per answer."""

    def __init__(self, threads: SqlThreadStore) -> None:
        """Use the database of the conversations."""
        self._threads = threads

    async def save(self, feedback: Feedback, *, owner: Caller = None) -> None:
        """Store feedback, replacing any earlier feedback on the same answer.

        Raises:
            UnknownAnswer: there is no answer with that id that the caller may see.
        """
        database = self._threads.database
        values = asdict(feedback)
        # A single statement, in case the answer is deleted concurrently.
        visible = (
            select(
                MESSAGES.c.id,
                *(literal(values[name], FEEDBACK.c[name].type) for name in FEEDBACK_COLUMNS),
            )
            .join(THREADS, THREADS.c.id == MESSAGES.c.thread_id)
            .where(
                MESSAGES.c.id == feedback.answer_id,
                MESSAGES.c.role == "assistant",
                *openable_by(owner),
                not_(is_expired(self._threads.clock(), self._threads.policies)),
            )
        )
        new = database.insert(FEEDBACK).from_select(["answer_id", *FEEDBACK_COLUMNS], visible)
        upsert = new.on_conflict_do_update(
            index_elements=["answer_id"],
            set_={name: new.excluded[name] for name in FEEDBACK_COLUMNS},
        )
        async with database.write_transaction() as connection:
            rows = await connection.execute(upsert.returning(FEEDBACK.c.answer_id))
            if rows.first() is None:
                raise UnknownAnswer(f"There is no answer {feedback.answer_id}.")

    async def list(
        self, *, verdict: ReaderVerdict | None, limit: int, offset: int
    ) -> Sequence[FeedbackEntry]:
        """Return feedback, optionally with one verdict, newest first."""
        query = (
            select(
                FEEDBACK,
                MESSAGES.c.thread_id,
                MESSAGES.c.content,
                ANSWERS.c.book,
                ANSWERS.c.question,
            )
            .join(MESSAGES, MESSAGES.c.id == FEEDBACK.c.answer_id)
            .join(ANSWERS, ANSWERS.c.id == FEEDBACK.c.answer_id)
        )
        if verdict:
            query = query.where(FEEDBACK.c.verdict == verdict)
        query = query.order_by(FEEDBACK.c.created_at.desc(), FEEDBACK.c.answer_id)
        async with self._threads.database.read_transaction() as connection:
            rows = (await connection.execute(query.limit(limit).offset(offset))).all()
        return [_entry(row) for row in rows]


def _entry(row: Row[Any]) -> FeedbackEntry:
    return FeedbackEntry(
        feedback=Feedback(**{field.name: row._mapping[field.name] for field in fields(Feedback)}),
        thread_id=row.thread_id,
        book=row.book,
        question=row.question,
        text=row.content,
    )
