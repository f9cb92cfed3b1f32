"""Conversations whose answer takes longer than their question: what is stamped when?"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from tests.conformance.sample import AMCL, COVERED
from tests.conformance.serving import Body, Model, Service, now
from tests.servers import Reply

_PAUSE = 0.03
"""Seconds between two words: an answer of thirty words takes about one."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A conversation, and when things happened in it."""

    session: str
    sent: datetime
    model_asked: datetime
    received: datetime
    answer: Body


def _workflow() -> tuple[str, Body, str]:
    body = {"queryText": COVERED, "sessionId": "tab", "timestamp": now().isoformat()}
    return "/workflows/book/chat", body, "threadId"


SLOW: dict[str, Callable[[], tuple[str, Body, str]]] = {
    "000": lambda: ("/agent/ask", {"query_text": COVERED}, "conversation_id"),
    "001": lambda: ("/assistant/chat", {"message": COVERED}, "session_id"),
    "002": _workflow,
    "003": lambda: ("/chat/run", {"message": COVERED}, "session_id"),
    "004": lambda: ("/query", {"query": COVERED, "session_id": str(uuid4())}, ""),
}


def ask_slowly(service: Service, model: Model, seed: str) -> Slow:
    """Ask once, of a model that takes its time."""
    model.says(Reply(AMCL, pause=_PAUSE))
    sent = now()
    path, body, name = SLOW[seed]()
    answer = service.ask(path, body)
    received = now()
    session = answer[name] if name else body["session_id"]
    return Slow(session, sent, model.asked_at[0], received, answer)


def assert_stamped_on_arrival(stamp: datetime, slow: Slow) -> None:
    """See that a question has the time at which it was sent or came, before the model began."""
    assert slow.sent <= stamp <= slow.model_asked


def assert_stamped_when_answered(stamp: datetime, slow: Slow) -> None:
    """See that an answer has the time at which it was complete."""
    assert slow.model_asked < stamp <= slow.received
