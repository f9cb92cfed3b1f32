"""Model names to those who write answers, in the order in which they are asked."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agents import Model, ModelRetrySettings, ModelSettings
from agents.retry import ModelRetryBackoffSettings

from quire.answer.breaker import Breaker
from quire.answer.budget import Budget, Spending
from quire.answer.embedded import NAME, EmbeddedModel
from quire.answer.options import LlmOptions, ModelOptions
from quire.answer.outside import OutsideModel, asks_again
from quire.answer.providers import Price, nothing, open_litellm, open_openai
from quire.errors import BadSettings, ModelIncomplete, ModelUnavailable
from quire.prose.terms import TermStatistics
from quire.retrieve.evidence import EvidenceReader

LOG = logging.getLogger("quire.answer")
ModelFor = Callable[[TermStatistics], Model]
"""Gives the model for one book."""
BACKOFF = ModelRetryBackoffSettings(initial_delay=0.5, max_delay=8.0, multiplier=2.0, jitter=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One model that may write answers."""

    name: str
    model_for: ModelFor
    tools: bool = True
    """Whether it may search and read on; without, it gets the passages in one prompt."""
    options: ModelOptions | None = None
    """How it is asked; `None` if it runs here, and cannot fail."""
    price: Price = field(default=lambda _read, _written: None)
    breaker: Breaker = field(default_factory=Breaker)
    extra: Mapping[str, Any] = field(default_factory=dict)
    close: Callable[[], Awaitable[object]] = nothing
    """Gives its connections back."""

    def open(self, statistics: TermStatistics, budget: Budget) -> Model:
        """Give the model for one answer about one book."""
        model = self.model_for(statistics)
        return OutsideModel(self.name, model, self.options, budget) if self.options else model

    def settings(self, budget: Budget) -> ModelSettings:
        """Give what the SDK is told about calling it."""
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
                policy=partial(asks_again, budget),
            ),
        )


@dataclass(frozen=True, slots=True)
class Writers:
    """Those who may write, the first choice first, and what they may take."""

    name: str
    """As the operator wrote it."""
    each: tuple[Writer, ...]
    limits: LlmOptions = field(default_factory=LlmOptions)
    spending: Spending = field(default_factory=lambda: Spending(Path()))
    missing: tuple[str, ...] = ()
    """Why models of the list are left out: they lack a package or a key."""

    @property
    def first(self) -> str:
        """The model that should write, if it can."""
        return next(name for name in map(str.strip, self.name.split(",")) if name)

    def budget(self) -> Budget:
        """Give what one answer may take."""
        return Budget(self.limits.answer_seconds, self.limits.answer_tokens)

    async def check(self) -> None:
        """Look whether anyone can write, without asking.

        Raises:
            ModelUnavailable: all of them failed again and again, and are left alone for now.
        """
        if all(writer.breaker.is_resting for writer in self.each):
            raise ModelUnavailable(f"No model of {self.name!r} can be used right now.")

    async def close(self) -> None:
        """Give connections back."""
        for writer in self.each:
            await writer.close()


def choose_writers(
    names: str,
    evidence: EvidenceReader,
    options: LlmOptions | None = None,
    spending: Spending | None = None,
) -> Writers:
    """Find the models that an operator named, separated by commas.

    One that lacks its package or its key is left out, if there is another.

    Raises:
        BadSettings: there is no such model, or something that all of them need is missing.
    """
    options = options or LlmOptions()
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not listed:
        raise BadSettings(f"QUIRE_MODEL names no model; {NAME!r} needs nothing.")
    each: list[Writer] = []
    missing: list[ModelIncomplete] = []
    for name in dict.fromkeys(listed):
        try:
            each.append(_writer(name, evidence, options))
        except ModelIncomplete as error:
            missing.append(error)
    if not each:
        raise missing[0]
    told = tuple(str(error) for error in missing)
    for why in told:
        LOG.warning("%s Until then, %s answers.", why, each[0].name)
    return Writers(names, tuple(each), options, spending or Spending(Path()), told)


def sole_writer(name: str, model_for: ModelFor, options: LlmOptions | None = None) -> Writers:
    """Let one given model write."""
    options = options or LlmOptions()
    writer = Writer(name=name, model_for=model_for, **_limits(name, options))
    return Writers(name, (writer,), options)


def _writer(name: str, evidence: EvidenceReader, options: LlmOptions) -> Writer:
    if name == NAME:
        return Writer(name=name, model_for=partial(EmbeddedModel, evidence))
    kind, _, model = name.partition("/")
    if not model or not kind:
        raise BadSettings(
            f"QUIRE_MODEL={name!r} is not known: write {NAME!r}, 'openai/MODEL', or "
            "PROVIDER/MODEL for any provider of LiteLLM."
        )
    own = options.of(name)
    opened = (open_openai if kind == "openai" else open_litellm)(name, own)
    return Writer(
        name=name,
        model_for=lambda _: opened.model,
        tools=opened.tools if own.tools == "auto" else own.tools == "yes",
        price=opened.price,
        extra=opened.extra,
        close=opened.close,
        **_limits(name, options),
    )


def _limits(name: str, options: LlmOptions) -> dict[str, Any]:
    breaker = Breaker(options.break_after, options.rest_seconds)
    return {"options": options.of(name), "breaker": breaker}
