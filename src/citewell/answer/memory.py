"""A thread as the Agents SDK sees it: the agent remembers what the reader was shown."""

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
"""Messages before the last ones, of which the questions are told."""
MAX_EARLIER_QUESTION_CHARS = 100
_MARKS = re.compile(r"\s*\[\d+\]")


History = tuple[str, list[tuple[Role, str]]]
"""What a conversation is about, where that is known, and what was said in it."""


class ThreadSession:
    """The SDK's `Session` over the one store of conversations.

    What a run adds is kept for that run only: the model's own words have not been checked yet.
    Those that pass are appended to the thread by the pipeline, and read from there the next time.
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
        """Remember the `last` messages of a thread, and what was asked in those `before` them."""
        self.session_id = thread_id
        self._store = store
        self._owner = owner
        self._last = last
        self._before = before
        self._unchecked: list[TResponseInputItem] = []

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """Return what was said, oldest first; nothing while the store is down.

        Of what lies before the last messages, only what was asked is told.
        """
        topic, messages = await self._load_history()
        before, recent = messages[: -self._last], messages[-self._last :]
        said: list[TResponseInputItem] = [
            # The marks of earlier answers point to passages that are not before the model now.
            {"role": role, "content": _MARKS.sub("", content)}
            for role, content in recent
        ]
        asked = [_truncate(content) for role, content in before if role == "user"]
        if asked:
            told = EARLIER_QUESTION.format(asked="; ".join(filter(None, (topic, *asked))))
            said.insert(0, {"role": "user", "content": told})
        items = said + self._unchecked
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
        """Keep what the run says, until it ends."""
        self._unchecked += items

    async def pop_item(self) -> "TResponseInputItem | None":
        """Take back what the run said last; what readers were shown stays."""
        return self._unchecked.pop() if self._unchecked else None

    async def clear_session(self) -> None:
        """Take back all that the run said."""
        self._unchecked.clear()


class ClientHistorySession(ThreadSession):
    """The same, over what the caller says was said: nobody has kept it, and it proves nothing."""

    def __init__(
        self, store: ThreadStore, thread_id: str, earlier: Sequence[tuple[str, str]], *, last: int
    ) -> None:
        """Remember questions and answers as the caller gives them."""
        super().__init__(store, thread_id, last=last)
        self._earlier = earlier[-(last + EARLIER_MESSAGES) :]

    async def _load_history(self) -> History:
        said: list[tuple[Role, str]] = []
        for question, answer in self._earlier:
            said += [("user", question), ("assistant", answer)]
        return "", [one for one in said if one[1]]


def exchanges_from_history(earlier: Sequence[tuple[str, str]]) -> list[Exchange]:
    """Return questions and answers as a follow-up may refer to them, each made standalone."""
    told: list[Exchange] = []
    for question, answer in earlier:
        if not answer.startswith(REFUSALS):  # a follow-up is about what was answered
            told.append(Exchange(standalone_question(question, told), answer=answer))
    return told


def _truncate(text: str) -> str:
    flat = " ".join(text.split())
    return (
        flat
        if len(flat) <= MAX_EARLIER_QUESTION_CHARS
        else f"{flat[: MAX_EARLIER_QUESTION_CHARS - 1]}…"
    )
