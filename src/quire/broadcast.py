"""Something said once and heard by any number of listeners, each from where it left off."""

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Broadcast(Generic[T]):
    """A list that grows to its end, and that can be waited for."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self.items: list[T] = []
        self.ended = False
        self._news = asyncio.Event()

    def say(self, item: T) -> None:
        """Add an item, and wake those who wait for it."""
        self.items.append(item)
        self.wake()

    def end(self) -> None:
        """Say that nothing more will come."""
        self.ended = True
        self.wake()

    def wake(self) -> None:
        """Let everyone who waits look again."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def change(self) -> None:
        """Wait until something changes."""
        await self._news.wait()

    async def more(self, heard: int) -> bool:
        """Wait for an item beyond those heard; `False` if there will be none."""
        while len(self.items) <= heard:
            if self.ended:
                return False
            await self.change()
        return True
