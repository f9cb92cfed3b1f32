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
        self._changed = asyncio.Event()

    def publish(self, item: T) -> None:
        """Add an item, and wake those who wait for it."""
        self.items.append(item)
        self.notify()

    def end(self) -> None:
        """Say that nothing more will come."""
        self.ended = True
        self.notify()

    def notify(self) -> None:
        """Let everyone who waits look again."""
        news, self._changed = self._changed, asyncio.Event()
        news.set()

    async def wait_for_change(self) -> None:
        """Wait until something changes."""
        await self._changed.wait()

    async def wait_beyond(self, position: int) -> bool:
        """Wait for an item beyond those heard; `False` if there will be none."""
        while len(self.items) <= position:
            if self.ended:
                return False
            await self.wait_for_change()
        return True
