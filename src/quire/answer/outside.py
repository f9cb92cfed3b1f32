"""A model that runs elsewhere: never waited for without end, and replaced if that is allowed."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any, cast

from agents.items import ModelResponse, TResponseStreamEvent
from agents.models.interface import Model
from openai import OpenAIError

from quire.answer.embedded import NAME, EmbeddedModel
from quire.answer.models import ModelFor
from quire.answer.options import AnswerOptions
from quire.prose.terms import TermStatistics
from quire.retrieve.evidence import EvidenceReader

LOG = logging.getLogger("quire.answer")


class OutsideModel(Model):
    """Another model with a limit on its silence, and the embedded one for when it is down."""

    def __init__(self, model: Model, seconds: float, instead: Model | None) -> None:
        """Wait `seconds` for each piece; where nothing has come yet, let `instead` answer."""
        self._model = model
        self._seconds = seconds
        self._instead = instead
        self.is_down = False
        """Whether `instead` answered."""

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        """Answer in one piece."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._model.get_response(*given, **more)
        except (OpenAIError, TimeoutError) as error:
            return await self._replacement(error).get_response(*given, **more)

    async def stream_response(
        self, *given: Any, **more: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer piece by piece."""
        begun = False
        try:
            async for event in self._timed(*given, **more):
                begun = True
                yield event
        except (OpenAIError, TimeoutError) as error:
            if begun:
                raise
            instead = self._replacement(error)
        else:
            return
        async for event in instead.stream_response(*given, **more):
            yield event

    async def _timed(self, *given: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        if self.is_down:
            raise TimeoutError
        source = self._model.stream_response(*given, **more)
        events = cast("AsyncGenerator[TResponseStreamEvent, None]", source)
        async with aclosing(events):
            while True:
                try:
                    async with asyncio.timeout(self._seconds):
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                yield event

    def _replacement(self, error: Exception) -> Model:
        if self._instead is None:
            raise error
        if not self.is_down:
            LOG.warning("the model is down, the embedded one answers: %r", error)
        self.is_down = True
        return self._instead


def within_reach(
    model: tuple[str, ModelFor], evidence: EvidenceReader, options: AnswerOptions
) -> ModelFor:
    """Give what makes a model, with what holds for models that run elsewhere."""
    name, model_for = model
    return model_for if name == NAME else partial(_outside, model_for, evidence, options)


def _outside(
    model_for: ModelFor,
    evidence: EvidenceReader,
    options: AnswerOptions,
    statistics: TermStatistics,
) -> Model:
    allowed = options.model_down == "embedded"
    instead = EmbeddedModel(evidence, statistics) if allowed else None
    return OutsideModel(model_for(statistics), options.model_timeout_seconds, instead)


def replaced(model: Model) -> bool:
    """Tell whether the embedded model answered instead."""
    return isinstance(model, OutsideModel) and model.is_down
