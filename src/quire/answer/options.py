"""When Quire answers, who writes, and what it shows."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

CONTEXT_TOKENS = 4_000


class AnswerOptions(BaseModel):
    """When Quire answers, and what it shows."""

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
    """What a language model is told besides Quire's own instructions, which stay in force."""
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
    """Whether it puts follow-ups into complete questions, instead of Quire's own rules."""
    summarise: bool = False
    """Whether it chooses what summaries of conversations name, instead of Quire's own rules; they
    name it in the words of the questions."""
    second_opinion: bool = False
    """Whether it is asked about claims that the judge would withhold: it has to name the sentence
    that says so. Shows more, and errs more often."""
    models: dict[str, ModelOptions] = {}
    """Other values for single models of `QUIRE_MODEL`, by name; best declared in `quire.toml`."""

    def of(self, name: str) -> ModelOptions:
        """Give the options of one model: its own, and the general ones for the rest."""
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
