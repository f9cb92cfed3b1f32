"""How embedders that do not come with Quire are reached."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class EmbeddingOptions(BaseModel):
    """How embedders that do not come with Quire are reached; the embedded one needs none of it."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    base_url: str | None = None
    """Address of an OpenAI-compatible server; by default that of the model's own provider."""
    api_key: SecretStr | None = None
    """Key for it; without a base URL, by default `OPENAI_API_KEY` or what LiteLLM reads."""
    width: int | None = Field(None, ge=1, le=65_536)
    """Width of the vectors; needed unless the model is one of OpenAI's or of fastembed's."""
    max_tokens: int | None = Field(None, ge=16)
    """Longer texts are cut to this; by default 8000 for OpenAI's models and 512 for others."""
    query_prefix: str = ""
    """Put before each question, for models that want it, such as `query: `."""
    passage_prefix: str = ""
    """Put before each passage, for models that want it, such as `passage: `."""
    batch: int = Field(32, ge=1, le=32)
    """How many texts go into one request."""
    timeout_seconds: float = Field(30.0, gt=0, le=600)
    """How long one request may take."""
    retries: int = Field(5, ge=0, le=20)
    """How often a request is sent again while ingesting; a question's is sent again once."""
    model_dir: Path | None = None
    """Folder with the files of a fastembed model; by default they are downloaded once."""
