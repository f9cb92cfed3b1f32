"""How the two rankings of a search are joined."""

from pydantic import BaseModel, ConfigDict, Field


class SearchOptions(BaseModel):
    """How the two rankings of a search are joined."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    depth: int = Field(40, ge=10, le=500)
    """How many chunks each ranking contributes."""
    keyword_weight: float = Field(6.0, ge=0, le=100)
    """What the best passage by keywords counts, and others in proportion, in spreads of the ranking
    by meaning."""
