"""What a contract is: a dialect of requests and responses over the one pipeline."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel

from quire.conversation import Thread
from quire.domain import Answer, Question
from quire.events import Event

Request = TypeVar("Request", bound=BaseModel)
Response = TypeVar("Response", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One server-sent event: its type, and its data ready for JSON."""

    event: str
    data: Any


Clock = Callable[[], datetime]
"""Tells the time; aware, in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """A contract's view of a conversation: how much of it lives, and for how long."""

    live: int
    """How many of its last messages belong to it; older ones are kept out of its sight."""
    idle: timedelta | None = None
    """How long it may rest; `None` is for ever."""
    after: Literal["resumes", "renews", "begins_again"] = "resumes"
    """What a question finds after that: the same conversation; another one, with an id of its own;
    or nothing, so that its id begins a conversation anew."""

    def is_idle(self, last_activity: datetime, now: datetime) -> bool:
        """Tell whether a conversation has rested for too long."""
        return self.idle is not None and now - last_activity > self.idle

    def is_gone(self, last_activity: datetime, now: datetime) -> bool:
        """Tell whether a conversation can no longer be read."""
        return self.after != "resumes" and self.is_idle(last_activity, now)


class Contract(Protocol[Request, Response]):
    """Two models and three pure functions; it does no I/O and knows no other contract."""

    name: str
    whole_path: str
    stream_path: str
    request: type[Request]
    response: type[Response]
    sessions: SessionRules

    def question(self, body: Request) -> Question:
        """Read the dialect's request."""
        ...

    def reply(self, answer: Answer) -> Response:
        """Write the dialect's whole response."""
        ...

    def event(self, event: Event) -> WireEvent | None:
        """Write one streamed event, or `None` to leave it out."""
        ...

    def streams(self, body: Request) -> bool:
        """Tell whether the whole path was asked to stream."""
        ...


class Remembering(Protocol):
    """A contract that shows its conversations."""

    name: str
    sessions: SessionRules
    session_path: str
    session_id: Any
    """The type of the id in the path."""

    @property
    def session(self) -> type[BaseModel]:
        """The model of a conversation."""
        ...

    def show(self, thread: Thread, now: datetime) -> BaseModel:
        """Write a conversation as the dialect has it."""
        ...
