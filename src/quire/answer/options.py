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
    model_timeout_seconds: float = Field(60.0, gt=0, le=3600)
    """How long a model that runs elsewhere may be silent."""
    model_down: Literal["refuse", "embedded"] = "refuse"
    """What happens while it cannot be reached: `embedded` lets the embedded one quote the book."""
