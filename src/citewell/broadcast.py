"""An append-only sequence with any number of asynchronous readers, each at its own position."""

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Broadcast(Generic[T]):
    """A list that grows until it is closed, and whose changes can be awaited."""

    def __init__(self) -> None:
        """Start with no items."""
        self.items: list[T] = []
        self.ended = False
        self._changed = asyncio.Event()

    def publish(self, item: T) -> None:
        """Append an item and wake the waiting readers."""
        self.items.append(item)
        self.notify()

    def end(self) -> None:
        """Mark the sequence as complete."""
        self.ended = True
        self.notify()

    def notify(self) -> None:
        """Wake every waiting reader."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait_for_change(self) -> None:
        """Wait for the next call of `notify`."""
        await self._changed.wait()

    async def wait_for_item(self, position: int) -> bool:
        """Wait for the item at an index; return `False` if the sequence ends before it."""
        while len(self.items) <= position:
            if self.ended:
                return False
            await self.wait_for_change()
        return True
