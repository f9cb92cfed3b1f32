"""When Quire answers, and what it shows."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AnswerOptions(BaseModel):
    """When Quire answers, and what it shows."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_turns: int = Field(4, ge=1, le=20)
    """How often the model may be called for one question; each search of its own costs one."""
    show_partly: bool = False
    """Whether claims that the book supports only in part are shown."""
    unsupported: Literal["withhold", "mark", "allow"] = "withhold"
    """What happens to claims that the book does not support: `mark` shows them and says so in the
    text, `allow` shows them with their verdict only."""
    judge: Literal["strict", "trained"] = "strict"
    """Who checks claims: `strict` compares words, numbers and names, and lets next to nothing false
    through, but little in other words either; `trained` also reads, shows more of what a language
    model writes in its own words, and errs more often."""


class CacheOptions(BaseModel):
    """What the service remembers, to spare work."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    answers: int = Field(500, ge=0, le=1_000_000)
    """How many answers each process of the service remembers; 0 makes every answer anew."""
    ttl_seconds: float = Field(3600.0, gt=0)
    """How long an answer is given again. A changed book ends it at once."""
    embeddings: int = Field(2000, ge=0, le=1_000_000)
    """How many embedded questions are remembered; 0 embeds each time."""
