"""How the two rankings of a search are joined."""

from pydantic import BaseModel, ConfigDict, Field


class SearchOptions(BaseModel):
    """How the two rankings of a search are joined."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    depth: int = Field(40, ge=10, le=500)
    """How many chunks each ranking contributes."""
    keyword_weight: float = Field(0.6, ge=0, le=10)
    """Weight of the keyword ranking; the ranking by meaning has weight 1."""
    rank_constant: int = Field(20, ge=1, le=1000)
    """The k of reciprocal rank fusion: a higher value flattens the difference between ranks."""
