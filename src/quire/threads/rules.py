"""How long a conversation lives, by the contract that it came by."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from quire.conversation import ThreadState


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What happens to a thread that nobody writes to."""

    live_messages: int
    """Older messages than these are archived; they can still be read."""
    rests_after: timedelta = timedelta(hours=1)
    rests_as: ThreadState = "archived"
    gone_after: timedelta | None = None

    @property
    def ends(self) -> bool:
        """Whether a thread that rests is over, so that the next message begins another."""
        return self.rests_as == "ended"


DEFAULT = Rules(live_messages=50)
RULES: Mapping[str, Rules] = {
    "chat": DEFAULT,
    "agent": Rules(live_messages=100, rests_as="idle", gone_after=timedelta(hours=24)),
    "assistant": Rules(live_messages=10, rests_after=timedelta(minutes=30), rests_as="ended"),
    "workflow": Rules(live_messages=100),
    "query": Rules(live_messages=198),  # fewer than 100 interactions
}


def rules_of(contract: str) -> Rules:
    """Give a contract's rules; one that has none of its own goes by those of `chat`."""
    return RULES.get(contract, DEFAULT)
