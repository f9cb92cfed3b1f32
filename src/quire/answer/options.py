"""When Quire answers, and what it shows."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CONTEXT_TOKENS = 4_000


class AnswerOptions(BaseModel):
    """When Quire answers, and what it shows."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_turns: int = Field(4, ge=1, le=20)
    """How often the model may be called for one question; each search of its own costs one."""
    target_risk: float | None = Field(None, gt=0, lt=1)
    """The share of answers that may be wrong, as measured when the calibration was fitted: a higher
    threshold than the question's own is taken where that needs it. Without it, the question's."""
    show_partly: bool = False
    """Whether claims that the book supports only in part are shown."""
    unsupported: Literal["withhold", "mark", "allow"] = "withhold"
    """What happens to claims that the book does not support: `mark` shows them and says so in the
    text, `allow` shows them with their verdict only."""
    context_tokens: int = Field(CONTEXT_TOKENS, ge=500, le=1_000_000)
    """How many tokens the passages given to the model may have; the best passage always may."""
    instructions: str = Field("", max_length=8_000)
    """What a language model is told besides Quire's own instructions, which stay in force."""
    judge: Literal["strict", "trained"] = "strict"
    """Who checks claims: `strict` compares words, numbers and names, and lets next to nothing false
    through, but little in other words either; `trained` also reads, shows more of what a language
    model writes in its own words, and errs more often."""
    model_timeout_seconds: float = Field(60.0, gt=0, le=3600)
    """How long a model that runs elsewhere may be silent."""
    model_down: Literal["refuse", "embedded"] = "refuse"
    """What happens while it cannot be reached: `embedded` lets the embedded one quote the book."""


class CacheOptions(BaseModel):
    """What the service remembers, to spare work."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    answers: int = Field(500, ge=0, le=1_000_000)
    """How many answers each process of the service remembers; 0 makes every answer anew."""
    ttl_seconds: float = Field(3600.0, gt=0)
    """How long an answer is given again. A changed book ends it at once."""
    embeddings: int = Field(2000, ge=0, le=1_000_000)
    """How many embedded questions are remembered; 0 embeds each time."""
