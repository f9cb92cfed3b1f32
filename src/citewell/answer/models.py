"""The chain of models that write answers, in order of preference."""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agents import (
    Model,
    ModelRetrySettings,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
)
from agents.retry import ModelRetryBackoffSettings
from openai import AsyncOpenAI, OpenAIError

from citewell.answer.extractive import EMBEDDED_NAME, EmbeddedModel
from citewell.answer.remote_model import (
    Budget,
    CircuitBreaker,
    DailySpend,
    RemoteModel,
    retry_decision,
)
from citewell.errors import BadSettings, ModelIncomplete, ModelMisbehaved, ModelUnavailable
from citewell.options import LlmOptions, ModelOptions
from citewell.retrieve.rerank import SentenceReranker
from citewell.text.terms import TermStatistics

MILLION = 1_000_000
Price = Callable[[int, int], float | None]
"""Returns the cost in dollars of input and output tokens; `None` if unknown."""


async def noop() -> None:
    """Do nothing: the `close` of models without connections."""


@dataclass(frozen=True, slots=True)
class ModelHandle:
    """A model of the SDK with what is known about it."""

    model: Model
    tools: bool
    """Whether the model supports tool calls."""
    price: Price
    close: Callable[[], Awaitable[object]] = noop
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Additional arguments of every request."""


def open_openai(name: str, options: ModelOptions) -> ModelHandle:
    """Open a model of OpenAI or of an OpenAI-compatible server.

    Raises:
        BadSettings: the API key is missing.
    """
    model = name.partition("/")[2]
    try:
        client = AsyncOpenAI(api_key=_api_key(options), base_url=options.base_url, max_retries=0)
    except OpenAIError as error:
        raise ModelIncomplete(
            f"CITEWELL_MODEL={name!r} needs a key: set OPENAI_API_KEY or CITEWELL_LLM__API_KEY, or "
            "CITEWELL_LLM__BASE_URL for a server without one."
        ) from error
    if options.base_url:
        return ModelHandle(_CompleteChatModel(model, client), False, _price(options), client.close)
    return ModelHandle(OpenAIResponsesModel(model, client), True, _price(options), client.close)


def open_litellm(name: str, options: ModelOptions) -> ModelHandle:
    """Open a model through LiteLLM.

    Raises:
        BadSettings: LiteLLM is not installed, the provider is unknown, or the API key is missing.
    """
    litellm = _import_litellm(name)
    model = name.removeprefix("litellm/")
    try:
        litellm.get_llm_provider(model)
    except litellm.BadRequestError as error:
        raise BadSettings(
            f"CITEWELL_MODEL={name!r} is not known: LiteLLM has no provider "
            f"{model.partition('/')[0]!r}. Write PROVIDER/MODEL, such as 'gemini/gemini-2.5-flash'."
        ) from error
    _check_key(litellm, name, model, options)
    return ModelHandle(
        _litellm_model(model, options),
        tools=bool(litellm.supports_function_calling(model)),
        price=_price(options) if _has_price(options) else _litellm_price(litellm, model),
        close=partial(_close_litellm, litellm),
        extra={"num_retries": 0, "max_retries": 0},  # `retry_decision` decides about retries
    )


def _import_litellm(name: str) -> Any:
    # Otherwise it fetches prices from the network on import.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 - set, not read
    try:
        import litellm
    except ImportError as error:
        raise ModelIncomplete(
            f"CITEWELL_MODEL={name!r} needs the package litellm: pip install 'citewell[litellm]'."
        ) from error
    litellm.suppress_debug_info = True
    litellm.drop_params = True  # omit parameters that a model doesn't support
    litellm.disable_aiohttp_transport = True  # its sessions are never closed
    return litellm


async def _close_litellm(litellm: Any) -> None:
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()  # otherwise it reuses closed clients


def _check_key(litellm: Any, name: str, model: str, options: ModelOptions) -> None:
    if options.api_key or options.base_url:
        return
    missing = litellm.validate_environment(model)["missing_keys"]
    # Some providers also report an address that has a default.
    keys = [name for name in missing if "KEY" in name]
    if keys:
        raise ModelIncomplete(
            f"CITEWELL_MODEL={name!r} needs a key: set {' or '.join(keys)}, or "
            f"CITEWELL_LLM__API_KEY."
        )


def _litellm_model(model: str, options: ModelOptions) -> Model:
    from agents.extensions.models.litellm_model import LitellmModel

    class CompleteLitellmModel(LitellmModel):
        async def _fetch_response(self, *args: Any, **kwargs: Any) -> Any:
            return _require_complete_stream(await super()._fetch_response(*args, **kwargs))

    return CompleteLitellmModel(model, base_url=options.base_url, api_key=_api_key(options))


class _CompleteChatModel(OpenAIChatCompletionsModel):
    async def _fetch_response(self, *args: Any, **kwargs: Any) -> Any:
        return _require_complete_stream(await super()._fetch_response(*args, **kwargs))


def _require_complete_stream(fetched: Any) -> Any:
    """Make a truncated stream raise; the SDK would accept it as complete."""
    if not isinstance(fetched, tuple):
        return fetched
    response, chunks = fetched
    return response, _until_finished(chunks)


async def _until_finished(chunks: Any) -> AsyncIterator[Any]:
    finish_reason: str | None = None
    try:
        async for chunk in chunks:
            for choice in chunk.choices:
                finish_reason = choice.finish_reason or finish_reason
            yield chunk
    finally:
        await (chunks.aclose() if hasattr(chunks, "aclose") else chunks.close())
    if finish_reason is None:
        raise ModelMisbehaved("The model's stream ended in the middle.")
    if finish_reason == "length":
        raise ModelMisbehaved("The model was cut off at CITEWELL_LLM__MAX_TOKENS.")


def _api_key(options: ModelOptions) -> str | None:
    if options.api_key:
        return options.api_key.get_secret_value()
    # A custom server often needs no key, and must never get the one for OpenAI.
    return "none" if options.base_url else None


def _has_price(options: ModelOptions) -> bool:
    return options.input_price is not None or options.output_price is not None


def _price(options: ModelOptions) -> Price:
    if not _has_price(options):
        return lambda _read, _written: None
    input_price, output_price = options.input_price or 0.0, options.output_price or 0.0
    return lambda read, written: (read * input_price + written * output_price) / MILLION


def _litellm_price(litellm: Any, model: str) -> Price:
    def price(read: int, written: int) -> float | None:
        try:
            costs = litellm.cost_per_token(
                model=model, prompt_tokens=read, completion_tokens=written
            )
        except Exception:  # noqa: BLE001 - it raises a bare `Exception` for unknown models
            return None
        return float(sum(costs))

    return price


LOG = logging.getLogger("citewell.answer")
ModelFactory = Callable[[TermStatistics], Model]
"""Returns the model for one book."""
BACKOFF = ModelRetryBackoffSettings(initial_delay=0.5, max_delay=8.0, multiplier=2.0, jitter=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerModel:
    """A model that can write answers."""

    name: str
    model_factory: ModelFactory
    tools: bool = True
    """Whether it gets tools, or everything in one prompt."""
    options: ModelOptions | None = None
    """`None` for the extractive answerer, which runs locally and cannot fail."""
    price: Price = field(default=lambda _read, _written: None)
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    extra: Mapping[str, Any] = field(default_factory=dict)
    close: Callable[[], Awaitable[object]] = noop

    def open(self, statistics: TermStatistics, budget: Budget) -> Model:
        """Return the SDK model for one answer about one book."""
        model = self.model_factory(statistics)
        return RemoteModel(self.name, model, self.options, budget) if self.options else model

    def settings(self, budget: Budget) -> ModelSettings:
        """Return the call settings for the SDK."""
        if self.options is None:
            return ModelSettings()
        return ModelSettings(
            temperature=self.options.temperature,
            max_tokens=self.options.max_tokens,
            include_usage=True,
            extra_args={**self.extra, **self.options.extra} or None,
            retry=ModelRetrySettings(
                max_retries=self.options.retries,
                backoff=BACKOFF,
                policy=partial(retry_decision, budget),
            ),
        )


@dataclass(frozen=True, slots=True)
class ModelChain:
    """Models in order of preference, with their limits."""

    name: str
    """The setting `CITEWELL_MODEL`."""
    models: tuple[AnswerModel, ...]
    limits: LlmOptions = field(default_factory=LlmOptions)
    spending: DailySpend = field(default_factory=lambda: DailySpend(Path()))
    missing: tuple[str, ...] = ()
    """Why models were left out: a package or an API key is missing."""

    @property
    def first(self) -> str:
        """The preferred model."""
        return next(name for name in map(str.strip, self.name.split(",")) if name)

    def budget(self) -> Budget:
        """Return the budget of one answer."""
        return Budget(self.limits.answer_seconds, self.limits.answer_tokens)

    async def check(self) -> None:
        """Check whether a model is available, without calling one.

        Raises:
            ModelUnavailable: the circuit breakers of all models are open.
        """
        if all(model.breaker.is_cooling_down for model in self.models):
            raise ModelUnavailable(f"No model of {self.name!r} can be used right now.")

    async def close(self) -> None:
        """Close all connections."""
        for model in self.models:
            await model.close()


def build_model_chain(
    names: str,
    reranker: SentenceReranker,
    options: LlmOptions | None = None,
    spending: DailySpend | None = None,
) -> ModelChain:
    """Open the models of a comma-separated list.

    A model without its package or API key is skipped if another one is usable. Unless
    `options.fallback` is off, the extractive answerer comes last.

    Raises:
        BadSettings: a model is unknown, or none is usable.
    """
    options = options or LlmOptions()
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise BadSettings(f"CITEWELL_MODEL names no model; {EMBEDDED_NAME!r} needs nothing.")
    models: list[AnswerModel] = []
    missing: list[ModelIncomplete] = []
    for name in dict.fromkeys(wanted):
        try:
            models.append(_build_model(name, reranker, options))
        except ModelIncomplete as error:
            missing.append(error)
    if not models:
        raise missing[0]
    if options.fallback and EMBEDDED_NAME not in wanted:
        models.append(_build_model(EMBEDDED_NAME, reranker, options))
    reasons = tuple(str(error) for error in missing)
    for reason in reasons:
        LOG.warning("%s Until then, %s answers.", reason, models[0].name)
    return ModelChain(names, tuple(models), options, spending or DailySpend(Path()), reasons)


def single_model_chain(
    name: str, model_factory: ModelFactory, options: LlmOptions | None = None
) -> ModelChain:
    """Return a chain of one given model."""
    options = options or LlmOptions()
    model = AnswerModel(name=name, model_factory=model_factory, **_limits(name, options))
    return ModelChain(name, (model,), options)


def _build_model(name: str, reranker: SentenceReranker, options: LlmOptions) -> AnswerModel:
    if name == EMBEDDED_NAME:
        return AnswerModel(name=name, model_factory=partial(EmbeddedModel, reranker))
    provider, _, model = name.partition("/")
    if not model or not provider:
        raise BadSettings(
            f"CITEWELL_MODEL={name!r} is not known: write {EMBEDDED_NAME!r}, 'openai/MODEL', or "
            "PROVIDER/MODEL for any provider of LiteLLM."
        )
    model_options = options.for_model(name)
    handle = (open_openai if provider == "openai" else open_litellm)(name, model_options)
    return AnswerModel(
        name=name,
        model_factory=lambda _: handle.model,
        tools=handle.tools if model_options.tools == "auto" else model_options.tools == "yes",
        price=handle.price,
        extra=handle.extra,
        close=handle.close,
        **_limits(name, options),
    )


def _limits(name: str, options: LlmOptions) -> dict[str, Any]:
    breaker = CircuitBreaker(options.break_after, options.rest_seconds)
    return {"options": options.for_model(name), "breaker": breaker}
