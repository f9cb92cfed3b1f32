"""The full record of any answer, by its id, and what would differ if it were given today."""

import asyncio

from quire.answer.records import Receipt, receipt_of
from quire.answer.replay import Replay, replay
from quire.conversation import AnswerEntry, Caller
from quire.errors import UnknownAnswer
from quire.ports import Judge, Library, ThreadStore
from quire.retrieve.search import Searcher


class Receipts:
    """Reads records of answers, and replays them."""

    def __init__(
        self, library: Library, searcher: Searcher, judge: Judge, threads: ThreadStore
    ) -> None:
        """Read from `threads`; replay with the stages that answer questions."""
        self._library = library
        self._searcher = searcher
        self._judge = judge
        self._threads = threads

    async def read(self, answer_id: str, *, owner: Caller = None) -> Receipt:
        """Give the record of an answer.

        Raises:
            UnknownAnswer: there is none of that id, or its conversation was deleted.
        """
        message = await self._threads.answer(answer_id, owner=owner)
        if message is None:
            raise UnknownAnswer(f"There is no answer {answer_id}.")
        return receipt_of(message)

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Give what is known of an answer that has no record yet, or never will."""
        return await self._threads.unfinished(answer_id, owner=owner)

    async def replay(self, answer_id: str, *, owner: Caller = None) -> Replay:
        """Search and check again for an answer, against the book as it is now.

        Raises:
            UnknownAnswer: there is none of that id, or its conversation was deleted.
            UnknownBook: its book is gone.
        """
        receipt = await self.read(answer_id, owner=owner)
        index = await asyncio.to_thread(self._library.open, receipt.book)
        return await replay(receipt, index, self._searcher, self._judge)
