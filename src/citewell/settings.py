"""The settings.

Each setting is an environment variable with the prefix `CITEWELL_` (nested names joined by `__`) or
a line in `citewell.toml` in the working directory.
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
    require_unique_ids,
)
from citewell.telemetry import TracingOptions


def _default_data_dir() -> Path:
    return Path("~/.local/share/citewell").expanduser()


class ServeOptions(BaseModel):
    """Options of the HTTP server."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 chooses a free one."""
    workers: int = Field(1, ge=1, le=64)
    """Worker processes, which share the index, the conversations and the running streams."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the service from a browser; none by default."""
    max_body_bytes: int = Field(512_000, ge=1_000)
    """Maximum size of a request body."""


class Settings(BaseSettings):
    """All settings; the defaults need no key, no server and no network."""

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
    """Book for questions that name none."""
    model: str = "embedded"
    """Model that writes the answers: `embedded` quotes the book and needs nothing else;
    `openai/MODEL`; or `PROVIDER/MODEL` for any provider of LiteLLM. Several models, separated by
    commas, are tried in order."""
    embedder: str = "embedded"
    """Embedder: `embedded`, which needs nothing else, `openai/NAME`, `litellm/NAME` or
    `fastembed/NAME`."""
    database_url: SecretStr | None = None
    """Database for conversations, `postgresql://…`; by default SQLite in the data folder."""
    index_url: SecretStr | None = None
    """Qdrant server for books, such as `http://HOST:6333`, or several nodes of a cluster, separated
    by commas; by default the data folder. Requires `pip install 'citewell[qdrant]'`."""
    redis_url: SecretStr | None = None
    """Redis server, `redis://HOST:PORT`, through which several processes share rate limits and
    cached answers; none by default."""
    embed_threads: int = Field(0, ge=0, le=256)
    """Threads of the embedder; 0 means one per core."""
    log_level: str = Field("warning", pattern="^(?i:debug|info|warning|error)$")
    """Log level: debug, info, warning or error."""
    index: IndexOptions = IndexOptions()
    embedding: EmbeddingOptions = EmbeddingOptions()
    ingest: IngestOptions = IngestOptions()
    search: SearchOptions = SearchOptions()
    answer: AnswerOptions = AnswerOptions()
    llm: LlmOptions = LlmOptions()
    workflows: Annotated[tuple[WorkflowOptions, ...], AfterValidator(require_unique_ids)] = (
        DEFAULT_WORKFLOWS
    )
    """Named configurations of the agent, best declared in `citewell.toml`."""
    books: Annotated[tuple[BookOptions, ...], AfterValidator(require_unique_names)] = ()
    """Options of single books, best declared in `citewell.toml`."""
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
        """Prefer arguments to the environment, and the environment to the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def read_settings(**overrides: object) -> Settings:
    """Read the settings; arguments override the environment and the file.

    Raises:
        BadSettings: a value is invalid; the message names the setting.
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
    """Detect misspelled environment variables, which would otherwise be ignored.

    Raises:
        BadSettings: a variable is similar to a setting.
    """
    known = [name.upper() for name in Settings.model_fields]
    for variable in os.environ:  # noqa: TID251 - this is where configuration is read
        prefix, _, rest = variable.upper().partition("_")
        name = rest.split("__")[0]
        if prefix != "CITEWELL" or name in known:
            continue
        similar = get_close_matches(name, known, 1, cutoff=0.8)
        if similar:
            raise BadSettings(f"{variable} is not a setting. Did you mean CITEWELL_{similar[0]}?")
