"""The options of each stage, which `Settings` combines."""

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
    """Options of ingest: limits, formats and chunk sizes."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_page_bytes: int = Field(5_000_000, ge=1)
    """Maximum size of a page; larger ones are skipped and reported."""
    max_file_bytes: int = Field(200_000_000, ge=1)
    """Maximum size of a PDF or EPUB file; larger ones are skipped and reported."""
    max_pdf_pages: int = Field(10_000, ge=1)
    """Maximum number of pages of a PDF file; further ones are skipped and reported."""
    max_page_seconds: float = Field(20.0, gt=0)
    """CPU seconds for parsing a page; slower ones are skipped and reported."""
    max_memory_bytes: int = Field(4_000_000_000, ge=500_000_000)
    """Memory for parsing a book; a page that needs more is skipped and reported."""
    allow: tuple[Path, ...] = ()
    """Folders outside the book from which its pages and configuration may also be read."""
    site_url: str | None = None
    """URL of the published book, if the book's configuration does not contain it."""
    locale: str | None = None
    """Locale of a Docusaurus site to ingest; by default the site's default locale."""
    version: str | None = None
    """Version of a Docusaurus site to ingest, such as `2.0` or `current`; by default the last."""
    target_tokens: int = Field(220, ge=20)
    """Target size of a chunk: blocks of a section are combined up to this size."""
    max_tokens: int = Field(420, ge=40)
    """Maximum size of a prose chunk; longer prose is split between sentences."""
    max_block_tokens: int = Field(2000, ge=100)
    """Maximum size of a table, list, code block or admonition; longer ones are split at rows, items
    or lines."""

    @field_validator("site_url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is not None and not is_web_address(value):
            raise ValueError("must start with https:// or http://, or be a path")
        return value


class EmbeddingOptions(BaseModel):
    """Options of embedders other than the packaged one."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    base_url: str | None = None
    """URL of an OpenAI-compatible server; by default that of the model's provider."""
    api_key: SecretStr | None = None
    """API key; without a base URL, the default is `OPENAI_API_KEY` or the variable that LiteLLM
    reads."""
    width: int | None = Field(None, ge=1, le=65_536)
    """Dimension of the vectors; required except for models of OpenAI and fastembed."""
    max_tokens: int | None = Field(None, ge=16)
    """Maximum length of a text; longer ones are truncated. The default is 8000 for OpenAI's models
    and 512 for others."""
    query_prefix: str = ""
    """Prefix of questions, for models that need one, such as `query: `."""
    passage_prefix: str = ""
    """Prefix of passages, for models that need one, such as `passage: `."""
    batch: int = Field(32, ge=1, le=32)
    """Texts per request."""
    timeout_seconds: float = Field(30.0, gt=0, le=600)
    """Timeout of a request."""
    retries: int = Field(5, ge=0, le=20)
    """Retries of a failed request during ingest; a question's request is retried once."""
    model_dir: Path | None = None
    """Folder with the files of a fastembed model; by default, they are downloaded once."""


class IndexOptions(BaseModel):
    """Options of the index, most of which require `CITEWELL_INDEX_URL`."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    open_books: int = Field(32, ge=1, le=10_000)
    """Maximum number of books that a process keeps open; the least recently used is closed."""
    api_key: SecretStr | None = None
    """API key of the Qdrant server."""
    ca_file: Path | None = None
    """Certificates to trust for `https://`, in addition to the system's."""
    prefix: str = Field("citewell", pattern=r"^[A-Za-z0-9_-]{1,32}$")
    """Prefix of all collection names, for servers shared with other programs."""
    shard_number: int = Field(1, ge=1, le=256)
    """Shards per book; with more than one, keyword scores differ slightly."""
    replication_factor: int | None = Field(None, ge=1, le=256)
    """Replicas of each book; by default, one on every node."""
    quantization: Literal["none", "int8", "binary"] = "none"
    """Quantization of vectors; the best candidates are rescored with the original vectors."""
    timeout_seconds: int = Field(5, ge=1, le=600)
    """Timeout of a read request; a write request may take twelve times as long."""
    retries: int = Field(3, ge=0, le=20)
    """Retries of a failed request, each at the next address."""
    refresh_seconds: float = Field(2.0, ge=0, le=3600)
    """How often to check for revisions that other hosts have ingested."""


class SearchOptions(BaseModel):
    """Options of the hybrid search."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    depth: int = Field(40, ge=10, le=500)
    """Chunks from each of the two rankings."""
    keyword_weight: float = Field(6.0, ge=0, le=100)
    """Weight of the best keyword score, relative to the standard deviation of the dense scores."""


CONTEXT_TOKENS = 4_000


class AnswerOptions(BaseModel):
    """Options of answering and verification."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    max_turns: int = Field(4, ge=1, le=20)
    """Maximum number of model calls per question; each search by the model takes one."""
    target_risk: float | None = Field(None, gt=0, lt=1)
    """Maximum share of wrong answers, as measured during calibration. It can raise the minimum
    answerability above 0.7."""
    show_partly: bool = False
    """Whether partly supported claims are shown."""
    unsupported: Literal["quote", "withhold", "mark", "allow"] = "quote"
    """What to do with unsupported claims of a language model: `quote` puts the sentence of the book
    that bears on them in their place, `withhold` omits them, `mark` shows them with a note in the
    text, `allow` shows them with their verdict only."""
    context_tokens: int = Field(CONTEXT_TOKENS, ge=500, le=1_000_000)
    """Token budget for the passages in the prompt; the best passage is always included."""
    instructions: str = Field("", max_length=8_000)
    """Additional instructions for language models; Citewell's own remain in force."""
    judge: Literal["strict", "trained"] = "strict"
    """Judge of claims. `strict` compares words, numbers and names: it passes almost nothing false,
    but few paraphrases. `trained` adds an entailment model, which passes more paraphrases and makes
    more errors."""


class ModelOptions(BaseModel):
    """Options of a language model."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    base_url: str | None = None
    """URL of an OpenAI-compatible server; by default that of the model's provider."""
    api_key: SecretStr | None = None
    """API key; without a base URL, the default is the provider's variable, such as
    `OPENAI_API_KEY`."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Sampling temperature; by default the provider's, because some models accept no other."""
    max_tokens: int = Field(4_096, ge=16, le=1_000_000)
    """Maximum number of output tokens per call, reasoning included."""
    tools: Literal["auto", "yes", "no"] = "auto"
    """Whether the model may search by calling tools; `auto`: if it is known to support tools.
    Without tools, it gets the passages in one prompt."""
    first_token_seconds: float = Field(30.0, gt=0, le=3600)
    """Timeout until the first token."""
    idle_seconds: float = Field(15.0, gt=0, le=3600)
    """Timeout between two tokens."""
    retries: int = Field(2, ge=0, le=10)
    """Retries if the model is busy or unreachable, before the first token."""
    input_price: float | None = Field(None, ge=0)
    """Dollars per million input tokens, if LiteLLM does not know the price."""
    output_price: float | None = Field(None, ge=0)
    """Dollars per million output tokens, if LiteLLM does not know the price."""
    extra: dict[str, Any] = {}
    """Additional parameters of each request, such as `reasoning_effort`."""


class LlmOptions(ModelOptions):
    """Options and budgets of all language models; `models` overrides them by name."""

    answer_seconds: float = Field(60.0, gt=0, le=3600)
    """Time limit of an answer for all language models together."""
    answer_tokens: int = Field(50_000, ge=500)
    """Input and output tokens of an answer after which no further model call is made."""
    day_tokens: int | None = Field(None, ge=0)
    """Daily token budget (UTC) of all processes with this data folder; unlimited by default."""
    day_dollars: float | None = Field(None, ge=0)
    """Daily budget in dollars, as far as prices are known; unlimited by default."""
    break_after: int = Field(5, ge=1)
    """Consecutive failures after which the circuit breaker of a model opens."""
    rest_seconds: float = Field(30.0, ge=0)
    """Seconds until one question may try the model again."""
    rewrite: bool = False
    """Whether the model rewrites follow-ups as standalone questions, instead of Citewell's
    rules."""
    summarise: bool = False
    """Whether the model chooses the topics in summaries of conversations, instead of Citewell's
    rules; the words are still those of the questions."""
    check_claims: bool = True
    """Whether the model is asked which of its sentences follow from the passages, where Citewell's
    own judge cannot tell. It has to name the sentences of the book; numbers, names and negations
    are compared with those."""
    fallback: bool = True
    """Whether the book is quoted if no listed model writes anything that can be proven."""
    models: dict[str, ModelOptions] = {}
    """Options of single models of `CITEWELL_MODEL` by name, best declared in `citewell.toml`."""

    def for_model(self, name: str) -> ModelOptions:
        """Return the options of one model: its own, with the general ones as defaults."""
        own = self.models.get(name, ModelOptions())
        defaults = {field: getattr(self, field) for field in ModelOptions.model_fields}
        return ModelOptions(
            **defaults | {field: getattr(own, field) for field in own.model_fields_set}
        )


class CacheOptions(BaseModel):
    """Options of the caches."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    answers: int = Field(500, ge=0, le=1_000_000)
    """Answers that each process caches; 0 disables the cache."""
    ttl_seconds: float = Field(3600.0, gt=0)
    """Time to live of a cached answer, which a new revision of the book invalidates at once."""
    embeddings: int = Field(2000, ge=0, le=1_000_000)
    """Question embeddings that each process caches; 0 disables the cache."""


FilterName = Literal["chapter", "section", "url", "source_file"]
PrefixFilter = dict[Literal["prefix"], str]


def _to_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


class WorkflowOptions(BaseModel):
    """One named configuration of the agent."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """The id in `/workflows/{workflowId}/chat`."""
    name: str = Field("", max_length=200)
    """The display name."""
    description: str = Field("", max_length=2_000)
    """The description."""
    rag_integration_enabled: bool = Field(
        True, validation_alias=AliasChoices("rag_integration_enabled", "ragIntegrationEnabled")
    )
    """Whether it answers from the book; if not, it says that book context is unavailable."""
    model: str | None = None
    """The model that writes its answers; by default `CITEWELL_MODEL`."""
    instructions: str = Field("", max_length=8_000)
    """Additional instructions for its model."""
    book: str | None = Field(None, max_length=64)
    """The book, required if there are several."""
    filters: dict[FilterName, Annotated[list[str | PrefixFilter], BeforeValidator(_to_list)]] = {}
    """Filters of its searches, as in requests: a string, `{prefix = "…"}`, or a list of these."""

    def answer_options(self, general: AnswerOptions) -> AnswerOptions:
        """Return the general options with this workflow's instructions added."""
        if not self.instructions:
            return general
        joined = "\n\n".join(part for part in (general.instructions, self.instructions) if part)
        return general.model_copy(update={"instructions": joined})


def require_unique_ids(workflows: tuple[WorkflowOptions, ...]) -> tuple[WorkflowOptions, ...]:
    """Return the workflows unchanged.

    Raises:
        ValueError: two workflows have the same id.
    """
    ids = [workflow.id for workflow in workflows]
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
    """Options of the conversation store."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    purge_after_days: float | None = Field(None, gt=0)
    """Days without a message after which archived and ended conversations are deleted; never by
    default."""
    sweep_seconds: float = Field(60.0, ge=0.1)
    """How often idle conversations are archived and expired ones deleted."""
    archive_after_seconds: float = Field(3600.0, gt=0)
    """Seconds without a message after which conversations of the contracts `chat`, `workflow` and
    `query` are archived; the next message continues them."""
    agent_inactive_after_seconds: float = Field(3600.0, gt=0)
    """Seconds without a message after which sessions of the contract `agent` become inactive."""
    agent_gone_after_seconds: float = Field(86_400.0, gt=0)
    """Seconds without a message after which sessions of the contract `agent` are deleted."""
    assistant_ends_after_seconds: float = Field(1800.0, gt=0)
    """Seconds without a message after which sessions of the contract `assistant` end; the next
    message starts a new one."""
    assistant_gone_after_seconds: float = Field(86_400.0, gt=0)
    """Seconds without a message after which sessions of the contract `assistant` are deleted."""
    query_gone_after_seconds: float = Field(2_592_000.0, gt=0)
    """Seconds without a message after which sessions of the contract `query` are deleted; 30 days
    by default."""
    pool_size: int = Field(10, ge=1, le=200)
    """PostgreSQL connections per process."""

    @property
    def retention_policies(self) -> Mapping[str, RetentionPolicy]:
        """The retention policy of each contract, with these times."""
        idle_seconds = dict.fromkeys(("chat", "workflow", "query"), self.archive_after_seconds)
        idle_seconds |= {
            "agent": self.agent_inactive_after_seconds,
            "assistant": self.assistant_ends_after_seconds,
        }
        delete_seconds = {
            "agent": self.agent_gone_after_seconds,
            "assistant": self.assistant_gone_after_seconds,
            "query": self.query_gone_after_seconds,
        }
        return {
            name: replace(
                policy,
                idle_after=timedelta(seconds=idle_seconds[name]),
                delete_after=timedelta(seconds=delete_seconds[name])
                if name in delete_seconds
                else None,
            )
            for name, policy in RETENTION_POLICIES.items()
        }


class StreamOptions(BaseModel):
    """Options of streamed answers."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    keep_alive_seconds: float = Field(15.0, gt=0, le=600)
    """Seconds without an event after which a keep-alive comment is sent."""
    grace_seconds: float = Field(10.0, ge=0, le=600)
    """How long an answer continues after its reader disconnects; the reader can resume it
    meanwhile."""
    max_seconds: float = Field(120.0, gt=0, le=3600)
    """Time limit of an answer, streamed or not."""
    keep_seconds: float = Field(300.0, ge=0, le=86_400)
    """How long a finished stream can be replayed."""
    lost_seconds: float = Field(5.0, gt=0, le=600)
    """Seconds without a heartbeat after which another process's stream counts as lost."""
    drain_seconds: float = Field(20.0, ge=0, le=600)
    """How long a stopping service waits for running answers."""


RATE = r"^([1-9]\d*/(second|minute|hour|day))?$"


class AccessOptions(BaseModel):
    """Options of authentication."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    mode: Literal["auto", "keys", "open"] = "auto"
    """Who needs a key. `auto`: everyone, unless no key was ever created and the service listens on
    loopback only. `keys`: everyone. `open`: nobody, for questions."""
    refresh_seconds: float = Field(5.0, ge=0, le=3600)
    """How often keys are reloaded; a revoked key works until then."""
    allowed_hosts: tuple[str, ...] = ()
    """Allowed `Host` headers besides `localhost`, such as `["book.example"]`; any by default, but
    only `localhost` if no key is needed because the service listens on loopback."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks of proxies whose `X-Forwarded-For` is trusted, such as `["10.0.0.0/8"]`."""


class LimitOptions(BaseModel):
    """Rate limits; an empty string disables a limit."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    per_key: str = Field("100/minute", pattern=RATE)
    """Requests per secret key."""
    per_session: str = Field("10/minute", pattern=RATE)
    """Requests per session of the `assistant` contract."""
    per_ip: str = Field("100/hour", pattern=RATE)
    """Requests without a secret key per IP address (for IPv6, per /64 network)."""
    wrong_keys: str = Field("100/hour", pattern=RATE)
    """Requests with an invalid key per IP address; valid keys still work beyond the limit."""
    answers_at_once: int = Field(64, ge=0, le=10_000)
    """Questions that a process answers concurrently; 0 disables the limit."""
    local: bool = False
    """Whether the limits also apply to a service that is open on loopback."""
    without_redis: Literal["memory", "refuse"] = "memory"
    """While Redis is unavailable: `memory` counts per process, `refuse` answers 503."""
    redis_timeout_seconds: float = Field(0.5, gt=0, le=30)
    """Timeout of a call to Redis."""


def is_loopback(host: str) -> bool:
    """Return whether a listening address is reachable from the same machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
