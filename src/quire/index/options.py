"""How embedders that do not come with Quire are reached, and how books are kept for searching."""

from pathlib import Path
from typing import Literal

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


class IndexOptions(BaseModel):
    """How books are kept for searching; most of it counts only where `QUIRE_INDEX_URL` is set."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    open_books: int = Field(32, ge=1, le=10_000)
    """How many books one process holds open; those asked for longest ago are closed first."""
    api_key: SecretStr | None = None
    """Key for the Qdrant server."""
    ca_file: Path | None = None
    """Certificates to trust for `https://`, besides those of the system."""
    prefix: str = Field("quire", pattern=r"^[A-Za-z0-9_-]{1,32}$")
    """What the names of all collections begin with; other programs may use the same server."""
    shard_number: int = Field(1, ge=1, le=256)
    """Into how many parts a book is cut; with more than one, keyword scores differ a little."""
    replication_factor: int | None = Field(None, ge=1, le=256)
    """How many nodes have a copy of each book; by default every node that there is."""
    quantization: Literal["none", "int8", "binary"] = "none"
    """Whether vectors are searched in a smaller form; the best are scored by the whole ones."""
    timeout_seconds: int = Field(5, ge=1, le=600)
    """How long one request of a question may take; one that writes may take twelve times that."""
    retries: int = Field(3, ge=0, le=20)
    """How often a request is sent again, each time to the next address."""
    refresh_seconds: float = Field(2.0, ge=0, le=3600)
    """After how long a new revision that another host ingested is noticed."""
