"""Answers about a book, from the book alone, with every sentence proven.

>>> from quire import Quire
>>> async with await Quire.open("examples/physical-ai") as book:  # doctest: +SKIP
...     answer = await book.ask("What is a ROS 2 node?")
"""

from typing import TYPE_CHECKING

from quire.version import __version__

if TYPE_CHECKING:
    from quire.client import Quire


__all__ = ["Quire", "__version__"]


def __getattr__(name: str) -> object:
    # Loading `Quire` loads the agent stack (seconds); `import quire` alone stays instant.
    if name == "Quire":
        from quire.client import Quire

        return Quire
    raise AttributeError(f"module 'quire' has no attribute {name!r}")
