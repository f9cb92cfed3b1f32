"""Conversation history as an Agents SDK session: it holds only what readers were shown."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from citewell.answer.prompts import EARLIER_QUESTION
from citewell.answer.replies import REFUSALS
from citewell.conversation import Role
from citewell.errors import StoreUnavailable
from citewell.ports import ThreadStore
from citewell.questions.followup import Exchange, standalone_question

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem

EARLIER_MESSAGES = 14
"""Older messages of which only the questions are given to the model."""
MAX_EARLIER_QUESTION_CHARS = 100
_CITATION_MARK = re.compile(r"\s*\[\d+\]")
History = tuple[str, list[tuple[Role, str]]]
"""Topic of a conversation, empty if unknown, and its messages."""


class ThreadSession:
    """The SDK's `Session` over a stored thread.

    Items that a run adds are dropped after it, since they are not verified. The pipeline stores
    the verified answer in the thread, where the next run reads it.
    """

    session_settings: "SessionSettings | None" = None

    def __init__(
        self,
        store: ThreadStore,
        thread_id: str,
        *,
        owner: str | None = None,
        last: int,
        before: int = EARLIER_MESSAGES,
    ) -> None:
        """Give the `last` messages of a thread, and the questions among those `before` them."""
        self.session_id = thread_id
        self._store = store
        self._owner = owner
        self._last = last
        self._before = before
        self._unverified: list[TResponseInputItem] = []

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """Return the history, oldest first; empty while the store is down."""
        topic, messages = await self._load_history()
        older, recent = messages[: -self._last], messages[-self._last :]
        items: list[TResponseInputItem] = [
            # Without citation marks: they refer to passages that this prompt does not contain.
            {"role": role, "content": _CITATION_MARK.sub("", content)}
            for role, content in recent
        ]
        questions = [_truncate(content) for role, content in older if role == "user"]
        if questions:
            summary = EARLIER_QUESTION.format(asked="; ".join(filter(None, (topic, *questions))))
            items.insert(0, {"role": "user", "content": summary})
        items += self._unverified
        return items if limit is None else items[-limit:] if limit else []

    async def _load_history(self) -> History:
        thread = None
        with suppress(StoreUnavailable):
            thread = await self._store.load(
                self.session_id, last=self._last + self._before, owner=self._owner
            )
        if thread is None:
            return "", []
        messages = [(message.role, message.content) for message in thread.messages]
        return thread.topic_summary or "", messages

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Add items of the current run."""
        self._unverified += items

    async def pop_item(self) -> "TResponseInputItem | None":
        """Remove and return the last item of the current run."""
        return self._unverified.pop() if self._unverified else None

    async def clear_session(self) -> None:
        """Remove all items of the current run."""
        self._unverified.clear()


class ClientHistorySession(ThreadSession):
    """A session over the history that the client sends; it is unverified, and proves nothing."""

    def __init__(
        self, store: ThreadStore, thread_id: str, earlier: Sequence[tuple[str, str]], *, last: int
    ) -> None:
        """Give the client's questions and answers."""
        super().__init__(store, thread_id, last=last)
        self._earlier = earlier[-(last + EARLIER_MESSAGES) :]

    async def _load_history(self) -> History:
        messages: list[tuple[Role, str]] = []
        for question, answer in self._earlier:
            messages += [("user", question), ("assistant", answer)]
        return "", [message for message in messages if message[1]]


def exchanges_from_history(earlier: Sequence[tuple[str, str]]) -> list[Exchange]:
    """Return the answered questions, each rewritten to stand alone."""
    exchanges: list[Exchange] = []
    for question, answer in earlier:
        if not answer.startswith(REFUSALS):  # follow-ups refer to answered questions
            standalone = standalone_question(question, exchanges)
            exchanges.append(Exchange(standalone, answer=answer))
    return exchanges


def _truncate(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) <= MAX_EARLIER_QUESTION_CHARS:
        return flat
    return f"{flat[: MAX_EARLIER_QUESTION_CHARS - 1]}…"
