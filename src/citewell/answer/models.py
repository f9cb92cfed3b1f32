"""Model names to those who write answers, in the order in which they are asked."""

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
"""Returns the dollars for so many tokens read and written; `None` where nobody knows."""


async def noop() -> None:
    """Have nothing to give back."""


@dataclass(frozen=True, slots=True)
class ModelHandle:
    """A model that can be asked."""

    model: Model
    tools: bool
    """Whether it is known to call tools."""
    price: Price
    close: Callable[[], Awaitable[object]] = noop
    """Closes its connections."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What every request says besides."""


def open_openai(name: str, options: ModelOptions) -> ModelHandle:
    """Open a model of OpenAI, or of a server that speaks like theirs.

    Raises:
        BadSettings: there is no key.
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
        return ModelHandle(_Compatible(model, client), False, _price(options), client.close)
    return ModelHandle(OpenAIResponsesModel(model, client), True, _price(options), client.close)


def open_litellm(name: str, options: ModelOptions) -> ModelHandle:
    """Open any model that LiteLLM reaches.

    Raises:
        BadSettings: LiteLLM is not installed, does not know the provider, or finds no key.
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
        extra={"num_retries": 0, "max_retries": 0},  # whether to ask again is decided by us
    )


def _import_litellm(name: str) -> Any:
    # Or it asks the network for prices when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 - set, not read
    try:
        import litellm
    except ImportError as error:
        raise ModelIncomplete(
            f"CITEWELL_MODEL={name!r} needs the package litellm: pip install 'citewell[litellm]'."
        ) from error
    litellm.suppress_debug_info = True
    litellm.drop_params = True  # what a model cannot be told is left out, instead of failing
    litellm.disable_aiohttp_transport = True  # its sessions are never closed
    return litellm


async def _close_litellm(litellm: Any) -> None:
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()  # or it would use them again


def _check_key(litellm: Any, name: str, model: str, options: ModelOptions) -> None:
    if options.api_key or options.base_url:
        return
    missing = litellm.validate_environment(model)["missing_keys"]
    # Some providers ask for an address as well, and have one by default.
    keys = [one for one in missing if "KEY" in one]
    if keys:
        raise ModelIncomplete(
            f"CITEWELL_MODEL={name!r} needs a key: set {' or '.join(keys)}, or "
            f"CITEWELL_LLM__API_KEY."
        )


def _litellm_model(model: str, options: ModelOptions) -> Model:
    from agents.extensions.models.litellm_model import LitellmModel

    class Watched(LitellmModel):
        async def _fetch_response(self, *given: Any, **more: Any) -> Any:
            return _require_complete_stream(await super()._fetch_response(*given, **more))

    return Watched(model, base_url=options.base_url, api_key=_api_key(options))


class _Compatible(OpenAIChatCompletionsModel):
    async def _fetch_response(self, *given: Any, **more: Any) -> Any:
        return _require_complete_stream(await super()._fetch_response(*given, **more))


def _require_complete_stream(fetched: Any) -> Any:
    """Have a stream fail that ends without its end; the SDK takes it for a whole answer."""
    if not isinstance(fetched, tuple):
        return fetched
    response, chunks = fetched
    return response, _until_finished(chunks)


async def _until_finished(chunks: Any) -> AsyncIterator[Any]:
    finish: str | None = None
    try:
        async for chunk in chunks:
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
            yield chunk
    finally:
        await (chunks.aclose() if hasattr(chunks, "aclose") else chunks.close())
    if finish is None:
        raise ModelMisbehaved("The model's stream ended in the middle.")
    if finish == "length":
        raise ModelMisbehaved("The model was cut off at CITEWELL_LLM__MAX_TOKENS.")


def _api_key(options: ModelOptions) -> str | None:
    if options.api_key:
        return options.api_key.get_secret_value()
    # A server of one's own often needs no key, and is never sent the one for OpenAI.
    return "none" if options.base_url else None


def _has_price(options: ModelOptions) -> bool:
    return options.input_price is not None or options.output_price is not None


def _price(options: ModelOptions) -> Price:
    if not _has_price(options):
        return lambda _read, _written: None
    read_at, written_at = options.input_price or 0.0, options.output_price or 0.0
    return lambda read, written: (read * read_at + written * written_at) / MILLION


def _litellm_price(litellm: Any, model: str) -> Price:
    """Price by LiteLLM's list, where it has the model."""

    def price(read: int, written: int) -> float | None:
        try:
            paid = litellm.cost_per_token(
                model=model, prompt_tokens=read, completion_tokens=written
            )
        except Exception:  # noqa: BLE001 - it raises a bare `Exception` for what it does not know
            return None
        return float(sum(paid))

    return price


LOG = logging.getLogger("citewell.answer")
ModelFactory = Callable[[TermStatistics], Model]
"""Returns the model for one book."""
BACKOFF = ModelRetryBackoffSettings(initial_delay=0.5, max_delay=8.0, multiplier=2.0, jitter=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerModel:
    """One model that may write answers."""

    name: str
    model_factory: ModelFactory
    tools: bool = True
    """Whether it may search and read on; without, it gets the passages in one prompt."""
    options: ModelOptions | None = None
    """How it is asked; `None` if it runs here, and cannot fail."""
    price: Price = field(default=lambda _read, _written: None)
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    extra: Mapping[str, Any] = field(default_factory=dict)
    close: Callable[[], Awaitable[object]] = noop
    """Closes its connections."""

    def open(self, statistics: TermStatistics, budget: Budget) -> Model:
        """Return the model for one answer about one book."""
        model = self.model_factory(statistics)
        return RemoteModel(self.name, model, self.options, budget) if self.options else model

    def settings(self, budget: Budget) -> ModelSettings:
        """Return what the SDK is told about calling it."""
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
    """Those who may write, the first choice first, and what they may take."""

    name: str
    """As the operator wrote it."""
    each: tuple[AnswerModel, ...]
    limits: LlmOptions = field(default_factory=LlmOptions)
    spending: DailySpend = field(default_factory=lambda: DailySpend(Path()))
    missing: tuple[str, ...] = ()
    """Why models of the list are left out: they lack a package or a key."""

    @property
    def first(self) -> str:
        """The model that should write, if it can."""
        return next(name for name in map(str.strip, self.name.split(",")) if name)

    def budget(self) -> Budget:
        """Return what one answer may take."""
        return Budget(self.limits.answer_seconds, self.limits.answer_tokens)

    async def check(self) -> None:
        """Look whether anyone can write, without asking.

        Raises:
            ModelUnavailable: all of them failed again and again, and are left alone for now.
        """
        if all(writer.breaker.is_cooling_down for writer in self.each):
            raise ModelUnavailable(f"No model of {self.name!r} can be used right now.")

    async def close(self) -> None:
        """Close all connections."""
        for writer in self.each:
            await writer.close()


def build_model_chain(
    names: str,
    evidence: SentenceReranker,
    options: LlmOptions | None = None,
    spending: DailySpend | None = None,
) -> ModelChain:
    """Find the models that an operator named, separated by commas.

    One that lacks its package or its key is left out, if there is another.

    Raises:
        BadSettings: there is no such model, or something that all of them need is missing.
    """
    options = options or LlmOptions()
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not listed:
        raise BadSettings(f"CITEWELL_MODEL names no model; {EMBEDDED_NAME!r} needs nothing.")
    each: list[AnswerModel] = []
    missing: list[ModelIncomplete] = []
    for name in dict.fromkeys(listed):
        try:
            each.append(_build_model(name, evidence, options))
        except ModelIncomplete as error:
            missing.append(error)
    if not each:
        raise missing[0]
    told = tuple(str(error) for error in missing)
    for why in told:
        LOG.warning("%s Until then, %s answers.", why, each[0].name)
    return ModelChain(names, tuple(each), options, spending or DailySpend(Path()), told)


def single_model_chain(
    name: str, model_factory: ModelFactory, options: LlmOptions | None = None
) -> ModelChain:
    """Let one given model write."""
    options = options or LlmOptions()
    writer = AnswerModel(name=name, model_factory=model_factory, **_check_limits(name, options))
    return ModelChain(name, (writer,), options)


def _build_model(name: str, evidence: SentenceReranker, options: LlmOptions) -> AnswerModel:
    if name == EMBEDDED_NAME:
        return AnswerModel(name=name, model_factory=partial(EmbeddedModel, evidence))
    kind, _, model = name.partition("/")
    if not model or not kind:
        raise BadSettings(
            f"CITEWELL_MODEL={name!r} is not known: write {EMBEDDED_NAME!r}, 'openai/MODEL', or "
            "PROVIDER/MODEL for any provider of LiteLLM."
        )
    own = options.of(name)
    opened = (open_openai if kind == "openai" else open_litellm)(name, own)
    return AnswerModel(
        name=name,
        model_factory=lambda _: opened.model,
        tools=opened.tools if own.tools == "auto" else own.tools == "yes",
        price=opened.price,
        extra=opened.extra,
        close=opened.close,
        **_check_limits(name, options),
    )


def _check_limits(name: str, options: LlmOptions) -> dict[str, Any]:
    breaker = CircuitBreaker(options.break_after, options.rest_seconds)
    return {"options": options.of(name), "breaker": breaker}
