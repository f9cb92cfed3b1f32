"""What a contract is: a dialect of requests and responses over the one pipeline."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from citewell.conversation import RetentionPolicy, Thread
from citewell.domain import Answer, Question
from citewell.events import Event

Request = TypeVar("Request", bound=BaseModel)
Response = TypeVar("Response", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One server-sent event: its type, and its data ready for JSON."""

    event: str
    data: Any


Clock = Callable[[], datetime]
"""Tells the time; aware, in UTC."""


class Contract(Protocol[Request, Response]):
    """Two models and three pure functions; it does no I/O and knows no other contract."""

    name: str
    whole_path: str
    stream_path: str
    request: type[Request]
    response: type[Response]

    def question(self, body: Request) -> Question:
        """Read the dialect's request."""
        ...

    def reply(self, answer: Answer) -> Response:
        """Write the dialect's whole response."""
        ...

    def event(self, event: Event) -> ServerSentEvent | None:
        """Write one streamed event, or `None` to leave it out."""
        ...

    def streams(self, body: Request) -> bool:
        """Return whether the whole path was asked to stream."""
        ...


class SessionContract(Protocol):
    """A contract that shows its conversations."""

    name: str
    session_path: str
    session_id: Any
    """The type of the id in the path."""

    @property
    def session(self) -> type[BaseModel]:
        """The model of a conversation."""
        ...

    def show(self, thread: Thread, now: datetime, rules: RetentionPolicy) -> BaseModel:
        """Write a conversation as the dialect has it, by the rules that are in force for it."""
        ...
