"""How long streamed answers live."""

from pydantic import BaseModel, ConfigDict, Field


class StreamOptions(BaseModel):
    """How long streamed answers live."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    keep_alive_seconds: float = Field(15.0, gt=0, le=600)
    """A comment is sent after so many seconds without an event."""
    grace_seconds: float = Field(10.0, ge=0, le=600)
    """How long an answer is worked on after its reader left, who may come back and miss nothing."""
    max_seconds: float = Field(120.0, gt=0, le=3600)
    """An answer that takes longer is ended with an error, streamed or not."""
    keep_seconds: float = Field(300.0, ge=0, le=86_400)
    """How long a finished stream can be read again."""
    lost_seconds: float = Field(5.0, gt=0, le=600)
    """A running answer of another process that shows no sign of life for so long is given up."""
    drain_seconds: float = Field(20.0, ge=0, le=600)
    """How long a service that was told to stop lets running answers finish."""
