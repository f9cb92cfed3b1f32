"""The interface of a contract: an API format with its own paths, request and response models."""

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
    """An API format: its paths, its request and response models, and pure conversions."""

    name: str
    complete_response_path: str
    """Answers with one JSON object, or with a stream if `wants_stream` says so."""
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

    def wants_stream(self, body: Request) -> bool:
        """Return whether the request asks for a stream, although not sent to `stream_path`."""
        ...


class SessionContract(Protocol):
    """A contract with routes for its conversations, which some contracts call sessions."""

    name: str
    session_path: str
    session_id: Any
    """The type of the id in the path."""

    @property
    def session(self) -> type[BaseModel]:
        """The response model of a conversation."""
        ...

    def to_session(self, thread: Thread, now: datetime, policy: RetentionPolicy) -> BaseModel:
        """Convert a conversation to the contract's response model."""
        ...
