"""Language models by name, through the Agents SDK and LiteLLM.

Neither is sent anything here. LiteLLM takes seconds and 245 MB, so only those who name one of its
models load it.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel
from agents.models.interface import Model
from openai import AsyncOpenAI, OpenAIError

from quire.answer.options import ModelOptions
from quire.errors import BadSettings, ModelIncomplete, ModelMisbehaved

MILLION = 1_000_000
Price = Callable[[int, int], float | None]
"""Gives the dollars for so many tokens read and written; `None` where nobody knows."""


async def nothing() -> None:
    """Have nothing to give back."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A model that can be asked."""

    model: Model
    tools: bool
    """Whether it is known to call tools."""
    price: Price
    close: Callable[[], Awaitable[object]] = nothing
    """Gives its connections back."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What every request says besides."""


def open_openai(name: str, options: ModelOptions) -> Opened:
    """Open a model of OpenAI, or of a server that speaks like theirs.

    Raises:
        BadSettings: there is no key.
    """
    model = name.partition("/")[2]
    try:
        client = AsyncOpenAI(api_key=_key(options), base_url=options.base_url, max_retries=0)
    except OpenAIError as error:
        raise ModelIncomplete(
            f"QUIRE_MODEL={name!r} needs a key: set OPENAI_API_KEY or QUIRE_LLM__API_KEY, or "
            "QUIRE_LLM__BASE_URL for a server without one."
        ) from error
    if options.base_url:
        return Opened(_Compatible(model, client), False, _price(options), client.close)
    return Opened(OpenAIResponsesModel(model, client), True, _price(options), client.close)


def open_litellm(name: str, options: ModelOptions) -> Opened:
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
            f"QUIRE_MODEL={name!r} is not known: LiteLLM has no provider "
            f"{model.partition('/')[0]!r}. Write PROVIDER/MODEL, such as 'gemini/gemini-2.5-flash'."
        ) from error
    _check_key(litellm, name, model, options)
    return Opened(
        _litellm_model(model, options),
        tools=bool(litellm.supports_function_calling(model)),
        price=_price(options) if _priced(options) else _listed(litellm, model),
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
            f"QUIRE_MODEL={name!r} needs the package litellm: pip install 'quire[litellm]'."
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
            f"QUIRE_MODEL={name!r} needs a key: set {' or '.join(keys)}, or QUIRE_LLM__API_KEY."
        )


def _litellm_model(model: str, options: ModelOptions) -> Model:
    from agents.extensions.models.litellm_model import LitellmModel

    class Watched(LitellmModel):
        async def _fetch_response(self, *given: Any, **more: Any) -> Any:
            return _whole(await super()._fetch_response(*given, **more))

    return Watched(model, base_url=options.base_url, api_key=_key(options))


class _Compatible(OpenAIChatCompletionsModel):
    async def _fetch_response(self, *given: Any, **more: Any) -> Any:
        return _whole(await super()._fetch_response(*given, **more))


def _whole(fetched: Any) -> Any:
    """Have a stream fail that ends without its end; the SDK takes it for a whole answer."""
    if not isinstance(fetched, tuple):
        return fetched
    response, chunks = fetched
    return response, _to_its_end(chunks)


async def _to_its_end(chunks: Any) -> AsyncIterator[Any]:
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
        raise ModelMisbehaved("The model was cut off at QUIRE_LLM__MAX_TOKENS.")


def _key(options: ModelOptions) -> str | None:
    if options.api_key:
        return options.api_key.get_secret_value()
    # A server of one's own often needs no key, and is never sent the one for OpenAI.
    return "none" if options.base_url else None


def _priced(options: ModelOptions) -> bool:
    return options.input_price is not None or options.output_price is not None


def _price(options: ModelOptions) -> Price:
    if not _priced(options):
        return lambda _read, _written: None
    read_at, written_at = options.input_price or 0.0, options.output_price or 0.0
    return lambda read, written: (read * read_at + written * written_at) / MILLION


def _listed(litellm: Any, model: str) -> Price:
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
