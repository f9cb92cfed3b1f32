"""What the process that reads books and the one that embeds them say to each other."""

import pickle
from typing import IO


class Wire:
    """Two pipes between processes, for one object at a time."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._in = incoming
        self._out = outgoing

    def send(self, message: object) -> None:
        """Send one object."""
        pickle.dump(message, self._out, pickle.HIGHEST_PROTOCOL)
        self._out.flush()

    def receive(self) -> object:
        """Wait for one object.

        Raises:
            EOFError: the other process is gone.
        """
        return pickle.load(self._in)  # noqa: S301 - written by Quire in the other process


class Begin(str):
    """The name of the page that is looked at from now on."""

    __slots__ = ()


class Count(tuple[str, ...]):
    """Texts whose tokens the other process should count."""

    __slots__ = ()
