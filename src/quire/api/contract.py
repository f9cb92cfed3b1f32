"""What a contract is: a dialect of requests and responses over the one pipeline."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from quire.domain import Answer, Question
from quire.events import Event

Request = TypeVar("Request", bound=BaseModel)
Response = TypeVar("Response", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One server-sent event: its type, and its data ready for JSON."""

    event: str
    data: Any


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

    def event(self, event: Event) -> WireEvent | None:
        """Write one streamed event, or `None` to leave it out."""
        ...

    def streams(self, body: Request) -> bool:
        """Tell whether the whole path was asked to stream."""
        ...
