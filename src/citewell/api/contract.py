"""The interface of a contract: one request and response format of the answering API."""

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
    """A server-sent event with JSON-serializable data."""

    event: str
    data: Any


Clock = Callable[[], datetime]
"""Returns the current time in UTC, timezone-aware."""


class Contract(Protocol[Request, Response]):
    """A request and a response model with pure conversion functions."""

    name: str
    whole_path: str
    stream_path: str
    request: type[Request]
    response: type[Response]

    def question(self, body: Request) -> Question:
        """Convert a request to a question."""
        ...

    def reply(self, answer: Answer) -> Response:
        """Convert an answer to a complete response."""
        ...

    def event(self, event: Event) -> ServerSentEvent | None:
        """Convert a pipeline event to a server-sent event, or return `None` to skip it."""
        ...

    def streams(self, body: Request) -> bool:
        """Return whether the request asks `whole_path` for a stream."""
        ...


class SessionContract(Protocol):
    """A contract with routes for its conversations."""

    name: str
    session_path: str
    session_id: Any
    """The type of the id in the path."""

    @property
    def session(self) -> type[BaseModel]:
        """The model of a conversation."""
        ...

    def show(self, thread: Thread, now: datetime, policy: RetentionPolicy) -> BaseModel:
        """Convert a conversation to the contract's model."""
        ...
