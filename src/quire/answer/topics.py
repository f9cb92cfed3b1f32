"""Summaries of conversations for which a language model chooses, beside the answers.

A summary is no claim that a book could prove, so no word of the model's own comes into it: it says
which of the things asked about matter, and Quire names them as the reader did.
"""

import asyncio
import logging
import re
from contextlib import suppress

from quire.answer.asking import Ask
from quire.conversation import Thread
from quire.errors import BadRequest, ModelError, StoreUnavailable
from quire.ports import ThreadStore
from quire.threads.topics import Exchange, named_in

LOG = logging.getLogger("quire.answer")
EVERY = 10
"""A summary is written each time so many messages were added, as the store does by its rules."""
_MARKS = re.compile(r"\s*\[\d+\]")


class Topics:
    """Says what conversations are about; what the store's own rules say stays where it fails."""

    def __init__(self, threads: ThreadStore, ask: Ask) -> None:
        """Keep in `threads` what `ask` chooses."""
        self._threads = threads
        self._ask = ask
        self._running: set[asyncio.Task[None]] = set()

    def follow(self, thread_id: str, owner: str | None) -> None:
        """Write a summary if one is due; nobody waits for it."""
        task = asyncio.create_task(self._write(thread_id, owner))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def settle(self) -> None:
        """Wait until all that is being written is written."""
        await asyncio.gather(*self._running)

    async def _write(self, thread_id: str, owner: str | None) -> None:
        with suppress(StoreUnavailable):
            thread = await self._threads.load(thread_id, last=EVERY, owner=owner)
            if thread is None or not thread.message_count or thread.message_count % EVERY:
                return
            said = "\n".join(
                f"{message.role}: {_MARKS.sub('', message.content)}" for message in thread.messages
            )
            try:
                summary = named_in(await self._ask(said), _exchanges(thread)) or ""
                await self._threads.describe(thread_id, summary, owner=owner, by_hand=False)
            except (ModelError, BadRequest) as error:
                LOG.info("the summary of %s stays as it is: %s", thread_id, error)


def _exchanges(thread: Thread) -> list[Exchange]:
    records = (message.record for message in thread.messages)
    return [
        Exchange(record["standalone_question"], tuple(record.get("headings") or ()))
        for record in records
        if record.get("standalone_question") and record.get("status") != "small_talk"
    ]
