"""What readers think of answers, kept beside the conversations that it goes with."""

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
"""What a later verdict on the same answer replaces."""


class SqlFeedbackStore:
    """One row an answer."""

    def __init__(self, threads: SqlThreadStore) -> None:
        """Use the database of the conversations."""
        self._threads = threads

    async def save(self, feedback: Feedback, *, owner: Caller = None) -> None:
        """Keep what a reader thinks, in place of what they thought of that answer before.

        Raises:
            UnknownAnswer: there is none of that id that the caller may see.
        """
        database = self._threads.database
        given = asdict(feedback)
        # One statement: an answer that is deleted meanwhile gets no verdict.
        seen = (
            select(
                MESSAGES.c.id,
                *(literal(given[name], FEEDBACK.c[name].type) for name in FEEDBACK_COLUMNS),
            )
            .join(THREADS, THREADS.c.id == MESSAGES.c.thread_id)
            .where(
                MESSAGES.c.id == feedback.answer_id,
                MESSAGES.c.role == "assistant",
                *openable_by(owner),
                not_(is_expired(self._threads.clock(), self._threads.rules)),
            )
        )
        new = database.insert(FEEDBACK).from_select(["answer_id", *FEEDBACK_COLUMNS], seen)
        kept = new.on_conflict_do_update(
            index_elements=["answer_id"],
            set_={name: new.excluded[name] for name in FEEDBACK_COLUMNS},
        )
        async with database.writing() as connection:
            done = await connection.execute(kept.returning(FEEDBACK.c.answer_id))
            if done.first() is None:
                raise UnknownAnswer(f"There is no answer {feedback.answer_id}.")

    async def list(
        self, *, verdict: ReaderVerdict | None, limit: int, offset: int
    ) -> Sequence[FeedbackEntry]:
        """Return what readers think, of one verdict if it is named, the newest first."""
        wanted = (
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
            wanted = wanted.where(FEEDBACK.c.verdict == verdict)
        newest = wanted.order_by(FEEDBACK.c.created_at.desc(), FEEDBACK.c.answer_id)
        async with self._threads.database.reading() as connection:
            rows = (await connection.execute(newest.limit(limit).offset(offset))).all()
        return [_entry(row) for row in rows]


def _entry(row: Row[Any]) -> FeedbackEntry:
    return FeedbackEntry(
        feedback=Feedback(**{field.name: row._mapping[field.name] for field in fields(Feedback)}),
        thread_id=row.thread_id,
        book=row.book,
        question=row.question,
        text=row.content,
    )
