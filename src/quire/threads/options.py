"""What an operator may set about conversations."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field

from quire.conversation import RULES, Rules


class ThreadOptions(BaseModel):
    """How long conversations are kept, and how the database is used."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    purge_after_days: float | None = Field(None, gt=0)
    """Archived and ended conversations are deleted after so long without a message; never if
    it is not set."""
    sweep_seconds: float = Field(60.0, ge=0.1)
    """How often conversations are archived, and those whose time is over deleted."""
    archive_after_seconds: float = Field(3600.0, gt=0)
    """Conversations of the contracts `chat`, `workflow` and `query` are archived after so long
    without a message; the next one continues them."""
    agent_inactive_after_seconds: float = Field(3600.0, gt=0)
    """Sessions of the contract `agent` are inactive after so long without a message."""
    agent_gone_after_seconds: float = Field(86_400.0, gt=0)
    """Sessions of the contract `agent` are deleted after so long without a message."""
    assistant_ends_after_seconds: float = Field(1800.0, gt=0)
    """Sessions of the contract `assistant` end after so long without a message; the next one
    begins another."""
    assistant_gone_after_seconds: float = Field(86_400.0, gt=0)
    """Sessions of the contract `assistant` are deleted after so long without a message."""
    query_gone_after_seconds: float = Field(2_592_000.0, gt=0)
    """Sessions of the contract `query` are deleted after so long without a message; by default
    30 days."""
    pool_size: int = Field(10, ge=1, le=200)
    """Connections to PostgreSQL that one process keeps."""

    @property
    def rules(self) -> Mapping[str, Rules]:
        """The rules of each contract, with the times that are set here."""
        resting = dict.fromkeys(("chat", "workflow", "query"), self.archive_after_seconds)
        resting |= {
            "agent": self.agent_inactive_after_seconds,
            "assistant": self.assistant_ends_after_seconds,
        }
        gone = {
            "agent": self.agent_gone_after_seconds,
            "assistant": self.assistant_gone_after_seconds,
            "query": self.query_gone_after_seconds,
        }
        return {
            name: replace(
                one,
                rests_after=timedelta(seconds=resting[name]),
                gone_after=timedelta(seconds=gone[name]) if name in gone else None,
            )
            for name, one in RULES.items()
        }
