"""How a book is read and cut."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
)

from citewell.conversation import RETENTION_POLICIES, RetentionPolicy
from citewell.text.sanitize import is_web_address


class IngestOptions(BaseModel):
    """How a book is read and cut."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_page_bytes: int = Field(5_000_000, ge=1)
    """Pages larger than this are skipped and reported."""
    max_file_bytes: int = Field(200_000_000, ge=1)
    """PDF and EPUB files larger than this are skipped and reported."""
    max_pdf_pages: int = Field(10_000, ge=1)
    """What a PDF file has beyond this number of pages is skipped and reported."""
    max_page_seconds: float = Field(20.0, gt=0)
    """Pages that take longer to read, in seconds of one core, are skipped and reported."""
    max_memory_bytes: int = Field(4_000_000_000, ge=500_000_000)
    """Memory for reading a book; a page that would need more is skipped and reported."""
    allow: tuple[Path, ...] = ()
    """Folders beside the book that its pages and settings may also lie in."""
    site_url: str | None = None
    """Address of the published book, where the book's own configuration does not say it."""
    locale: str | None = None
    """Language of a Docusaurus site to read; by default the site's own."""
    version: str | None = None
    """Version of a Docusaurus site to read, such as `2.0` or `current`; by default the last."""
    target_tokens: int = Field(220, ge=20)
    """Blocks of a section are gathered until they reach this size."""
    max_tokens: int = Field(420, ge=40)
    """Prose longer than this is split between sentences."""
    max_block_tokens: int = Field(2000, ge=100)
    """A table, list, code block or admonition longer than this is split at its own seams."""

    @field_validator("site_url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is not None and not is_web_address(value):
            raise ValueError("must begin with https:// or http://, or be a path")
        return value


class EmbeddingOptions(BaseModel):
    """How embedders that Citewell does not bring are reached; the embedded one needs none of it."""

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
    """How books are kept for searching; most of it counts only with `CITEWELL_INDEX_URL` set."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    open_books: int = Field(32, ge=1, le=10_000)
    """How many books one process holds open; those asked for longest ago are closed first."""
    api_key: SecretStr | None = None
    """Key for the Qdrant server."""
    ca_file: Path | None = None
    """Certificates to trust for `https://`, besides those of the system."""
    prefix: str = Field("citewell", pattern=r"^[A-Za-z0-9_-]{1,32}$")
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


class SearchOptions(BaseModel):
    """How the two rankings of a search are joined."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    depth: int = Field(40, ge=10, le=500)
    """How many chunks each ranking contributes."""
    keyword_weight: float = Field(6.0, ge=0, le=100)
    """What the best passage by keywords counts, and others in proportion, in spreads of the ranking
    by meaning."""


CONTEXT_TOKENS = 4_000


class AnswerOptions(BaseModel):
    """When Citewell answers, and what it shows."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_turns: int = Field(4, ge=1, le=20)
    """How often the model may be called for one question; each search of its own costs one."""
    target_risk: float | None = Field(None, gt=0, lt=1)
    """The share of answers that may be wrong, as measured when the calibration was fitted: where
    that needs it, a higher answerability than 0.7 is asked for."""
    show_partly: bool = False
    """Whether claims that the book supports only in part are shown."""
    unsupported: Literal["withhold", "mark", "allow"] = "withhold"
    """What happens to claims that the book does not support: `mark` shows them and says so in the
    text, `allow` shows them with their verdict only."""
    context_tokens: int = Field(CONTEXT_TOKENS, ge=500, le=1_000_000)
    """How many tokens the passages given to the model may have; the best passage always may."""
    instructions: str = Field("", max_length=8_000)
    """What a language model is told besides Citewell's own instructions, which stay in force."""
    judge: Literal["strict", "trained"] = "strict"
    """Who checks claims: `strict` compares words, numbers and names, and lets next to nothing false
    through, but little in other words either; `trained` also reads, shows more of what a language
    model writes in its own words, and errs more often."""


class ModelOptions(BaseModel):
    """How one language model is reached and asked; the embedded one needs none of it."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    base_url: str | None = None
    """Address of an OpenAI-compatible server; by default that of the model's own provider."""
    api_key: SecretStr | None = None
    """Key for it; by default the provider's usual variable, such as `OPENAI_API_KEY`, unless there
    is a base URL."""
    temperature: float | None = Field(None, ge=0, le=2)
    """How freely it writes; by default as its provider sets it, since some models take no other."""
    max_tokens: int = Field(4_096, ge=16, le=1_000_000)
    """How many tokens it may write at once, with what it thinks."""
    tools: Literal["auto", "yes", "no"] = "auto"
    """Whether it may search and read on by itself: `auto` if it is known to call tools. One that
    may not gets the passages in one prompt."""
    first_token_seconds: float = Field(30.0, gt=0, le=3600)
    """How long it may take to begin."""
    idle_seconds: float = Field(15.0, gt=0, le=3600)
    """How long it may be silent once it has begun."""
    retries: int = Field(2, ge=0, le=10)
    """How often it is asked again if it is busy or cannot be reached, before it has begun."""
    input_price: float | None = Field(None, ge=0)
    """Dollars a million tokens read, where LiteLLM does not know."""
    output_price: float | None = Field(None, ge=0)
    """Dollars a million tokens written, where LiteLLM does not know."""
    extra: dict[str, Any] = {}
    """What else is sent with each request, such as `reasoning_effort`."""


class LlmOptions(ModelOptions):
    """How language models are reached, and what they may take; `models` overrides by name."""

    answer_seconds: float = Field(60.0, gt=0, le=3600)
    """How long all models together may work on one answer; the embedded one may always answer."""
    answer_tokens: int = Field(50_000, ge=500)
    """How many tokens one answer may take, read and written; a further round is not begun then."""
    day_tokens: int | None = Field(None, ge=0)
    """How many tokens a day (UTC) all processes on this data folder may take; by default any."""
    day_dollars: float | None = Field(None, ge=0)
    """How many dollars a day they may cost, where prices are known; by default any."""
    break_after: int = Field(5, ge=1)
    """After so many failures in a row a model is left alone for a while."""
    rest_seconds: float = Field(30.0, ge=0)
    """How long it is left alone, before one question tries it again."""
    rewrite: bool = False
    """Whether it puts follow-ups into complete questions, instead of Citewell's own rules."""
    summarise: bool = False
    """Whether it chooses what summaries of conversations name, instead of Citewell's own rules;
    they name it in the words of the questions."""
    second_opinion: bool = False
    """Whether it is asked about claims that the judge would withhold: it has to name the sentence
    that says so. Shows more, and errs more often."""
    models: dict[str, ModelOptions] = {}
    """Other values for single models of `CITEWELL_MODEL`, by name; best declared in
    `citewell.toml`."""

    def of(self, name: str) -> ModelOptions:
        """Return the options of one model: its own, and the general ones for the rest."""
        own = self.models.get(name, ModelOptions())
        general = {one: getattr(self, one) for one in ModelOptions.model_fields}
        return ModelOptions(**general | {one: getattr(own, one) for one in own.model_fields_set})


class CacheOptions(BaseModel):
    """What the service remembers, to spare work."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    answers: int = Field(500, ge=0, le=1_000_000)
    """How many answers each process of the service remembers; 0 makes every answer anew."""
    ttl_seconds: float = Field(3600.0, gt=0)
    """How long an answer is given again. A changed book ends it at once."""
    embeddings: int = Field(2000, ge=0, le=1_000_000)
    """How many embedded questions are remembered; 0 embeds each time."""


FilterName = Literal["chapter", "section", "url", "source_file"]
Begins = dict[Literal["prefix"], str]


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


class WorkflowOptions(BaseModel):
    """One named configuration of the agent."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """What it is called by in `/workflows/{workflowId}/chat`."""
    name: str = Field("", max_length=200)
    """Its name for people."""
    description: str = Field("", max_length=2_000)
    """What it does."""
    rag_integration_enabled: bool = Field(
        True, validation_alias=AliasChoices("rag_integration_enabled", "ragIntegrationEnabled")
    )
    """Whether it answers from the book; without, it says that book context is unavailable."""
    model: str | None = None
    """Who writes its answers; by default as everywhere."""
    instructions: str = Field("", max_length=8_000)
    """What its model is told besides Citewell's own instructions."""
    book: str | None = Field(None, max_length=64)
    """Which book it is about; may be left out where there is only one."""
    filters: dict[FilterName, Annotated[list[str | Begins], BeforeValidator(_listed)]] = {}
    """Where it searches, as in requests: a text, `{prefix = "…"}`, or a list of these."""

    def answering(self, general: AnswerOptions) -> AnswerOptions:
        """Return the general options with this workflow's instructions."""
        if not self.instructions:
            return general
        joined = "\n\n".join(part for part in (general.instructions, self.instructions) if part)
        return general.model_copy(update={"instructions": joined})


def unlike(workflows: tuple[WorkflowOptions, ...]) -> tuple[WorkflowOptions, ...]:
    """Return the workflows back if no two share an id.

    Raises:
        ValueError: two do.
    """
    ids = [one.id for one in workflows]
    if len(set(ids)) < len(ids):
        raise ValueError("two workflows have the same id")
    return workflows


DEFAULT_WORKFLOWS = (
    WorkflowOptions(
        id="book",
        name="Ask the book",
        description="Answers from the whole book and proves every sentence.",
    ),
)


class ThreadOptions(BaseModel):
    """How long conversations are kept, and how the database is used."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    purge_after_days: float | None = Field(None, gt=0)
    """Archived and ended conversations are deleted after so long without a message; never if
    it is not set."""
    sweep_seconds: float = Field(60.0, ge=0.1)
    """How often conversations are archived, and those whose time is over deleted."""
    archive_after_seconds: float = Field(3600.0, gt=0)
    """Conversations of the contracts `chat`, `workflow` and `query` are archived after so long
    without a message; the next one continues them."""
    agent_inactive_after_seconds: float = Field(3600.0, gt=0)
    """Sessions of the contract `agent` are inactive after so long without a message."""
    agent_gone_after_seconds: float = Field(86_400.0, gt=0)
    """Sessions of the contract `agent` are deleted after so long without a message."""
    assistant_ends_after_seconds: float = Field(1800.0, gt=0)
    """Sessions of the contract `assistant` end after so long without a message; the next one
    begins another."""
    assistant_gone_after_seconds: float = Field(86_400.0, gt=0)
    """Sessions of the contract `assistant` are deleted after so long without a message."""
    query_gone_after_seconds: float = Field(2_592_000.0, gt=0)
    """Sessions of the contract `query` are deleted after so long without a message; by default
    30 days."""
    pool_size: int = Field(10, ge=1, le=200)
    """Connections to PostgreSQL that one process keeps."""

    @property
    def retention_policies(self) -> Mapping[str, RetentionPolicy]:
        """The rules of each contract, with the times that are set here."""
        resting = dict.fromkeys(("chat", "workflow", "query"), self.archive_after_seconds)
        resting |= {
            "agent": self.agent_inactive_after_seconds,
            "assistant": self.assistant_ends_after_seconds,
        }
        gone = {
            "agent": self.agent_gone_after_seconds,
            "assistant": self.assistant_gone_after_seconds,
            "query": self.query_gone_after_seconds,
        }
        return {
            name: replace(
                one,
                idle_after=timedelta(seconds=resting[name]),
                delete_after=timedelta(seconds=gone[name]) if name in gone else None,
            )
            for name, one in RETENTION_POLICIES.items()
        }


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


RATE = r"^([1-9]\d*/(second|minute|hour|day))?$"


class AccessOptions(BaseModel):
    """Who may call the service."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    mode: Literal["auto", "keys", "open"] = "auto"
    """Who needs a key: `auto` everyone, except where there never was a key and the service listens
    on loopback only; `keys` everyone; `open` nobody who only asks."""
    refresh_seconds: float = Field(5.0, ge=0, le=3600)
    """After how long a key that was revoked is noticed."""
    allowed_hosts: tuple[str, ...] = ()
    """Names by which the service may be called besides `localhost`, such as `["book.example"]`; by
    default any, but `localhost` alone where nobody needs a key since it listens on loopback."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks of proxies whose `X-Forwarded-For` is believed, such as `["10.0.0.0/8"]`."""


class LimitOptions(BaseModel):
    """How often callers may call; an empty text sets no limit."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    per_key: str = Field("100/minute", pattern=RATE)
    """Requests with one secret key."""
    per_session: str = Field("10/minute", pattern=RATE)
    """Requests that name one conversation."""
    per_ip: str = Field("100/hour", pattern=RATE)
    """Requests without a secret key from one address (for IPv6, from one /64 network)."""
    wrong_keys: str = Field("100/hour", pattern=RATE)
    """Requests with a key that opens nothing, from one address; one that does is let in."""
    answers_at_once: int = Field(64, ge=0, le=10_000)
    """Questions that one process answers at the same time; 0 sets no limit."""
    local: bool = False
    """Whether callers of a service that is open on loopback are limited, too."""
    without_redis: Literal["memory", "refuse"] = "memory"
    """While Redis is down: `memory` lets each process count for itself, `refuse` answers 503."""
    redis_timeout_seconds: float = Field(0.5, gt=0, le=30)
    """How long one call to Redis may take."""


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on can be reached from the same machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
