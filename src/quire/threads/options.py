"""What an operator may set about conversations."""

from pydantic import BaseModel, ConfigDict, Field


class ThreadOptions(BaseModel):
    """How long conversations are kept, and how the database is used."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    purge_after_days: float | None = Field(None, gt=0)
    """Archived and ended conversations are deleted after so long without a message; never if
    it is not set."""
    sweep_seconds: float = Field(60.0, ge=1)
    """How often conversations are archived, and those whose time is over deleted."""
    pool_size: int = Field(10, ge=1, le=200)
    """Connections to PostgreSQL that one process keeps."""
