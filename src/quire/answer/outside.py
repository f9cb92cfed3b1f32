"""A model that runs elsewhere: never waited for without end, and its errors made ours."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from time import time
from typing import Any, cast

from agents import RetryDecision, RetryPolicyContext
from agents.exceptions import AgentsException
from agents.items import ModelResponse, TResponseStreamEvent
from agents.models.interface import Model
from openai import APIConnectionError, APIStatusError, APITimeoutError
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)

from quire.answer.budget import Budget
from quire.answer.options import ModelOptions
from quire.errors import (
    ModelError,
    ModelMisbehaved,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
)

CHARACTERS = 4
"""Characters a token has, where nobody counts them."""
LONG_TOKEN = 8
"""Characters a token has at most, on average: more were not asked for."""
LONGEST_WAIT = 20.0
"""A server that asks for a longer pause is not waited for."""
SAID = 200
"""How much of a server's own words goes to the log, in characters."""
PASSING = (408, 409, 425, 429)
"""Statuses below 500 with which the same request may succeed later."""


class OutsideModel(Model):
    """Another model, with limits on its silence, its length and what it takes."""

    def __init__(self, name: str, model: Model, options: ModelOptions, budget: Budget) -> None:
        """Call `model` as the options say, as long as there is a budget."""
        self._name = name
        self._model = model
        self._options = options
        self._budget = budget
        self._has_text = False
        self.broken: ModelError | None = None
        """Why the model broke off, where it had said something before."""

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        """Answer in one piece."""
        self._budget.check()
        try:
            async with self._budget.wait(self._options.first_token_seconds):
                response = await self._model.get_response(*given, **more)
        # Providers behind LiteLLM raise what they like; our own code is not in here.
        except Exception as error:
            raise model_error(self._name, error) from error
        self._budget.count(response.usage.input_tokens, response.usage.output_tokens)
        return response

    async def stream_response(
        self, *given: Any, **more: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer piece by piece; what breaks off is ended, and `broken` says why."""
        self._budget.check()
        written: list[str] = []
        counted = False
        try:
            async for event in self._timed(*given, **more):
                if isinstance(event, ResponseTextDeltaEvent):
                    self._has_text = True
                written.append(getattr(event, "delta", None) or "")
                if isinstance(event, ResponseCompletedEvent) and event.response.usage:
                    counted = self._count(event.response.usage)
                yield event
                if sum(map(len, written)) > LONG_TOKEN * self._options.max_tokens:
                    raise ModelMisbehaved(f"The model {self._name!r} writes on without end.")
        except ModelError as error:
            if not self._has_text:
                raise
            # The SDK may drop what it has not passed on yet when a model raises.
            self.broken = error
            yield _ended("".join(written))
        finally:
            if not counted:
                # What was cut off is paid for all the same.
                asked = len(json.dumps([given, more], default=str)) if any(written) else 0
                self._budget.count(
                    asked // CHARACTERS, len("".join(written)) // CHARACTERS, estimated=True
                )

    def _count(self, usage: ResponseUsage) -> bool:
        self._budget.count(usage.input_tokens, usage.output_tokens)
        return usage.total_tokens > 0

    async def _timed(self, *given: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        source = self._model.stream_response(*given, **more)
        events = cast("AsyncGenerator[TResponseStreamEvent, None]", source)
        patience = self._options.first_token_seconds
        async with aclosing(events):
            while True:
                try:
                    async with self._budget.wait(patience):
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                except Exception as error:  # as above
                    raise model_error(self._name, error) from error
                if getattr(event, "delta", None):
                    patience = self._options.idle_seconds
                yield event


def _ended(text: str) -> ResponseCompletedEvent:
    """Give the event that ends a stream, with all that was said."""
    said = ResponseOutputText(annotations=[], text=text, type="output_text", logprobs=[])
    message = ResponseOutputMessage(
        id="broken_off", content=[said], role="assistant", status="incomplete", type="message"
    )
    response = Response(
        id="broken_off",
        created_at=time(),
        model="",
        object="response",
        output=[message],
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )
    return ResponseCompletedEvent(response=response, sequence_number=0, type="response.completed")


def model_error(name: str, error: Exception) -> ModelError:
    """Say in our words what went wrong; the server's own are for the log, and never show a key."""
    model = f"The model {name!r}"
    if isinstance(error, ModelError):
        return error
    if isinstance(error, TimeoutError | APITimeoutError):
        return ModelTimedOut(f"{model} took too long to answer.")
    if isinstance(error, AgentsException):
        return ModelMisbehaved(f"{model} gave what cannot be used: {_said(error)}")
    # LiteLLM gives a lost connection the status 500.
    if isinstance(error, APIStatusError) and not isinstance(error, APIConnectionError):
        return _status_error(model, error)
    return ModelUnavailable(f"{model} cannot be reached, or broke off: {_said(error)}")


def _status_error(model: str, error: APIStatusError) -> ModelError:
    status = error.status_code
    if status in (401, 403):
        # Not in the server's words: they repeat parts of the key.
        return ModelRefused(f"{model} refuses the key ({status}).")
    if error.code == "insufficient_quota":
        return ModelRefused(f"{model} has no credit left ({status}).")
    if status < 500 and status not in PASSING:  # noqa: PLR2004 - HTTP's
        return ModelRefused(f"{model} refuses the request ({status}): {_said(error)}")
    passing = ModelUnavailable(f"{model} answers {status}: {_said(error)}")
    asked = _retry_after(error)
    passing.retry_after = passing.retry_after if asked is None else max(1, round(asked))
    return passing


def asks_again(budget: Budget, context: RetryPolicyContext) -> bool | RetryDecision:
    """Decide whether a call that failed before its first word is made again, and when."""
    error = context.error
    if not isinstance(error, ModelUnavailable | ModelTimedOut):
        return False
    asked = _retry_after(error.__cause__)
    if asked is None:
        return budget.left > 0
    if asked > min(LONGEST_WAIT, budget.left):
        return False
    return RetryDecision(retry=True, delay=asked)


def _retry_after(error: BaseException | None) -> float | None:
    """Give the seconds that a server asks to wait; a date is taken for nothing."""
    own = getattr(getattr(error, "response", None), "headers", None)
    for headers in (own, getattr(error, "litellm_response_headers", None)):
        try:
            return max(0.0, float((headers or {})["retry-after"]))
        except (KeyError, ValueError):
            continue
    return None


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:SAID]}"
