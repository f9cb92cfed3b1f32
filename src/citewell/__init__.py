"""Citewell answers questions about a book from the book alone, and proves every sentence.

>>> from citewell import Citewell
>>> async with await Citewell.open("examples/physical-ai") as book:  # doctest: +SKIP
...     answer = await book.ask("What is a ROS 2 node?")
"""

from typing import TYPE_CHECKING

from citewell.version import __version__

if TYPE_CHECKING:
    from citewell.client import Citewell


__all__ = ["Citewell", "__version__"]


def __getattr__(name: str) -> object:
    # Importing the client takes seconds, so it is deferred.
    if name == "Citewell":
        from citewell.client import Citewell

        return Citewell
    raise AttributeError(f"module 'citewell' has no attribute {name!r}")
