"""Summaries of conversations by a language model, beside the answers."""

import asyncio
import logging
import re
from contextlib import suppress

from quire.answer.asking import Ask
from quire.errors import BadRequest, ModelError, StoreUnavailable
from quire.ports import ThreadStore

LOG = logging.getLogger("quire.answer")
EVERY = 10
"""A summary is written each time so many messages were added, as the store does by its rules."""
LONGEST = 200
_MARKS = re.compile(r"\s*\[\d+\]")


class Topics:
    """Says what conversations are about; what the store's own rules say stays where it fails."""

    def __init__(self, threads: ThreadStore, ask: Ask) -> None:
        """Keep the summaries that `ask` gives in `threads`."""
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
                summary = " ".join((await self._ask(said)).split()).strip('"“”. ')
                await self._threads.describe(
                    thread_id, summary[:LONGEST], owner=owner, by_hand=False
                )
            except (ModelError, BadRequest) as error:
                LOG.info("the summary of %s stays as it is: %s", thread_id, error)
