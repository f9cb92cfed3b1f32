"""Everything an operator may set, read once.

Each setting is an environment variable with the prefix `CITEWELL_` (nested ones joined by `__`), or
a line in `citewell.toml` beside the working folder.
"""

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from citewell.answer.book_router import BookOptions, require_unique_names
from citewell.errors import BadSettings
from citewell.logging import LogOptions
from citewell.options import (
    DEFAULT_WORKFLOWS,
    AccessOptions,
    AnswerOptions,
    CacheOptions,
    EmbeddingOptions,
    IndexOptions,
    IngestOptions,
    LimitOptions,
    LlmOptions,
    SearchOptions,
    StreamOptions,
    ThreadOptions,
    WorkflowOptions,
    unlike,
)
from citewell.telemetry import TracingOptions


def _default_data_dir() -> Path:
    return Path("~/.local/share/citewell").expanduser()


class ServeOptions(BaseModel):
    """How the HTTP service listens."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""
    workers: int = Field(1, ge=1, le=64)
    """How many processes serve; they share the index, the conversations and the running streams."""
    cors_origins: tuple[str, ...] = ()
    """Sites whose pages may call the service from a browser; none by default."""
    max_body_bytes: int = Field(64_000, ge=1_000)
    """Requests larger than this are refused."""


class Settings(BaseSettings):
    """Every setting, with a default that needs no key, no server and no network."""

    model_config = SettingsConfigDict(
        env_prefix="CITEWELL_",
        env_nested_delimiter="__",
        toml_file="citewell.toml",
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )

    data_dir: Path = Field(default_factory=_default_data_dir)
    """Folder for indexes, conversations and the prepared embedding model."""
    book: str | None = None
    """The book that questions are about when they name none."""
    model: str = "embedded"
    """Who writes the answers: `embedded` quotes the book and needs nothing; `openai/MODEL`, or
    `PROVIDER/MODEL` for any provider of LiteLLM; or several, separated by commas, in the order in
    which they are asked."""
    embedder: str = "embedded"
    """Who embeds: `embedded` needs nothing; or `openai/NAME`, `litellm/NAME`, `fastembed/NAME`."""
    database_url: SecretStr | None = None
    """Where conversations are kept: `postgresql://…`; by default SQLite in the data folder."""
    index_url: SecretStr | None = None
    """Where books are kept: a Qdrant server, as `http://HOST:6333`, or several nodes of a cluster,
    separated by commas; by default the data folder. Needs `pip install 'citewell[qdrant]'`."""
    redis_url: SecretStr | None = None
    """Where several processes count requests together and share answers, as `redis://HOST:PORT`;
    none by default."""
    embed_threads: int = Field(0, ge=0, le=256)
    """Threads the embedder may use; 0 takes one per core."""
    log_level: str = Field("warning", pattern="^(?i:debug|info|warning|error)$")
    """How much Citewell logs: debug, info, warning or error."""
    index: IndexOptions = IndexOptions()
    embedding: EmbeddingOptions = EmbeddingOptions()
    ingest: IngestOptions = IngestOptions()
    search: SearchOptions = SearchOptions()
    answer: AnswerOptions = AnswerOptions()
    llm: LlmOptions = LlmOptions()
    workflows: Annotated[tuple[WorkflowOptions, ...], AfterValidator(unlike)] = DEFAULT_WORKFLOWS
    """Named configurations of the agent, best declared in `citewell.toml`."""
    books: Annotated[tuple[BookOptions, ...], AfterValidator(require_unique_names)] = ()
    """What is different for single books, best declared in `citewell.toml`."""
    threads: ThreadOptions = ThreadOptions()
    serve: ServeOptions = ServeOptions()
    access: AccessOptions = AccessOptions()
    limits: LimitOptions = LimitOptions()
    stream: StreamOptions = StreamOptions()
    cache: CacheOptions = CacheOptions()
    log: LogOptions = LogOptions()
    tracing: TracingOptions = TracingOptions()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let arguments win over the environment, and the environment over the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def read_settings(**overrides: object) -> Settings:
    """Read the settings; what is given here wins.

    Raises:
        BadSettings: a value cannot be used; the message names the setting.
    """
    _check_names()
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = "CITEWELL_" + "__".join(str(part) for part in first["loc"]).upper()
        raise BadSettings(f"{name}: {first['msg']}.") from error
    except ValueError as error:
        raise BadSettings(f"citewell.toml cannot be read: {error}.") from error


def _check_names() -> None:
    """See that no variable is one letter away from a setting: it would be ignored without a word.

    Raises:
        BadSettings: one is.
    """
    known = [name.upper() for name in Settings.model_fields]
    for variable in os.environ:  # noqa: TID251 - this is where configuration is read
        prefix, _, rest = variable.upper().partition("_")
        name = rest.split("__")[0]
        if prefix != "CITEWELL" or name in known:
            continue
        near = get_close_matches(name, known, 1, cutoff=0.8)
        if near:
            raise BadSettings(f"{variable} is not a setting. Did you mean CITEWELL_{near[0]}?")
