"""A model that runs elsewhere: never waited for without end, and its errors made ours."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, time
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

from citewell.errors import (
    BudgetSpent,
    ModelError,
    ModelMisbehaved,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
)
from citewell.options import ModelOptions
from citewell.private_files import make_private

Clock = Callable[[], datetime]


@dataclass(slots=True)
class Budget:
    """What one answer may take, and what it has taken."""

    seconds: float
    tokens: int
    begun: float = field(default_factory=monotonic)
    read: int = 0
    written: int = 0
    reported: int = 0
    """Tokens that a model counted itself; of a stream that was cut off they are estimated."""

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.begun + self.seconds - monotonic()

    def check(self) -> None:
        """Let another call of a model begin.

        Raises:
            ModelTimedOut: there is no time left.
            ModelMisbehaved: there are no tokens left.
        """
        if self.left <= 0:
            raise ModelTimedOut(f"The answer took longer than {self.seconds:g} seconds.")
        if self.read + self.written >= self.tokens:
            raise ModelMisbehaved(f"The answer took more than {self.tokens} tokens.")

    def wait(self, seconds: float) -> asyncio.Timeout:
        """Wait so long at most, and not longer than there is time."""
        return asyncio.timeout(max(0.0, min(seconds, self.left)))

    def count(self, read: int, written: int, *, estimated: bool = False) -> None:
        """Add what a call took."""
        self.read += read
        self.written += written
        self.reported += 0 if estimated else read + written


@dataclass(slots=True)
class _Day:
    date: str = ""
    read_to: int = 0
    tokens: int = 0
    dollars: float = 0.0


class DailySpend:
    """What all processes on one data folder spend in a day, a line an answer in a file.

    A short line that is appended arrives whole, so nothing has to be locked; each process reads on
    from where it stopped. Days are those of UTC.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tokens: int | None = None,
        dollars: float | None = None,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        """Keep the files in `folder`; without a limit nothing is written."""
        self._folder = folder
        self._tokens = tokens
        self._dollars = dollars
        self._clock = clock
        self._day = _Day()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._tokens is not None or self._dollars is not None

    def check(self) -> None:
        """Let another answer begin.

        Raises:
            BudgetSpent: what a day may cost has been spent.
        """
        if not self.limited:
            return
        day = self._today()
        over = self._tokens is not None and day.tokens >= self._tokens
        if over or (self._dollars is not None and day.dollars >= self._dollars):
            now = self._clock()
            midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            raise BudgetSpent(
                f"The models' budget for {day.date} is spent: {day.tokens} tokens, "
                f"{day.dollars:.4f} dollars.",
                retry_after=max(1, int((midnight - now).total_seconds())),
            )

    def add(self, tokens: int, dollars: float | None) -> None:
        """Note what an answer took."""
        if not self.limited:
            return
        make_private(self._folder)
        line = f"{tokens} {dollars or 0.0:.6f}\n".encode()
        file = os.open(self._file(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def _file(self) -> Path:
        return self._folder / f"{self._clock():%Y-%m-%d}.txt"

    def _today(self) -> _Day:
        file = self._file()
        if self._day.date != file.stem:
            self._day = _Day(date=file.stem)
        day = self._day
        if file.exists():
            with file.open("rb") as lines:
                lines.seek(day.read_to)
                for line in lines:
                    tokens, dollars = line.split()
                    day.tokens += int(tokens)
                    day.dollars += float(dollars)
                day.read_to = lines.tell()
        return day


CHARS_PER_TOKEN = 4
"""Characters a token has, where nobody counts them."""
MAX_CHARS_PER_TOKEN = 8
"""Characters a token has at most, on average: more were not asked for."""
MAX_RETRY_AFTER = 20.0
"""A server that asks for a longer pause is not waited for."""
LOGGED_ERROR_CHARS = 200
"""How much of a server's own words goes to the log, in characters."""
RETRYABLE_STATUSES = (408, 409, 425, 429)
"""Statuses below 500 with which the same request may succeed later."""


class RemoteModel(Model):
    """Another model, with limits on its silence, its length and what it takes."""

    def __init__(self, name: str, model: Model, options: ModelOptions, budget: Budget) -> None:
        """Call `model` as the options say, as long as there is a budget."""
        self._name = name
        self._model = model
        self._options = options
        self._budget = budget
        self._has_text = False
        self.stream_error: ModelError | None = None
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
        """Answer piece by piece; what breaks off is ended, and `stream_error` says why."""
        self._budget.check()
        written: list[str] = []
        counted = False
        try:
            async for event in self._with_timeouts(*given, **more):
                if isinstance(event, ResponseTextDeltaEvent):
                    self._has_text = True
                written.append(getattr(event, "delta", None) or "")
                if isinstance(event, ResponseCompletedEvent) and event.response.usage:
                    counted = self._count(event.response.usage)
                yield event
                if sum(map(len, written)) > MAX_CHARS_PER_TOKEN * self._options.max_tokens:
                    raise ModelMisbehaved(f"The model {self._name!r} writes on without end.")
        except ModelError as error:
            if not self._has_text:
                raise
            # The SDK may drop what it has not passed on yet when a model raises.
            self.stream_error = error
            yield _completed_event("".join(written))
        finally:
            if not counted:
                # What was cut off is paid for all the same.
                asked = len(json.dumps([given, more], default=str)) if any(written) else 0
                self._budget.count(
                    asked // CHARS_PER_TOKEN,
                    len("".join(written)) // CHARS_PER_TOKEN,
                    estimated=True,
                )

    def _count(self, usage: ResponseUsage) -> bool:
        self._budget.count(usage.input_tokens, usage.output_tokens)
        return usage.total_tokens > 0

    async def _with_timeouts(self, *given: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        source = self._model.stream_response(*given, **more)
        events = cast("AsyncGenerator[TResponseStreamEvent, None]", source)
        retry_policy = self._options.first_token_seconds
        async with aclosing(events):
            while True:
                try:
                    async with self._budget.wait(retry_policy):
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                except Exception as error:  # as above
                    raise model_error(self._name, error) from error
                if getattr(event, "delta", None):
                    retry_policy = self._options.idle_seconds
                yield event


def _completed_event(text: str) -> ResponseCompletedEvent:
    """Return the event that ends a stream, with all that was said."""
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
    """Return what went wrong; the server's own words are for the log, and never show a key."""
    model = f"The model {name!r}"
    if isinstance(error, ModelError):
        return error
    if isinstance(error, TimeoutError | APITimeoutError):
        return ModelTimedOut(f"{model} took too long to answer.")
    if isinstance(error, AgentsException):
        return ModelMisbehaved(f"{model} gave what cannot be used: {_server_message(error)}")
    # LiteLLM gives a lost connection the status 500.
    if isinstance(error, APIStatusError) and not isinstance(error, APIConnectionError):
        return _status_error(model, error)
    return ModelUnavailable(f"{model} cannot be reached, or broke off: {_server_message(error)}")


def _status_error(model: str, error: APIStatusError) -> ModelError:
    status = error.status_code
    if status in (401, 403):
        # Not in the server's words: they repeat parts of the key.
        return ModelRefused(f"{model} refuses the key ({status}).")
    if error.code == "insufficient_quota":
        return ModelRefused(f"{model} has no credit left ({status}).")
    if status < 500 and status not in RETRYABLE_STATUSES:  # noqa: PLR2004 - HTTP's
        return ModelRefused(f"{model} refuses the request ({status}): {_server_message(error)}")
    passing = ModelUnavailable(f"{model} answers {status}: {_server_message(error)}")
    asked = _retry_after(error)
    passing.retry_after = passing.retry_after if asked is None else max(1, round(asked))
    return passing


def retry_decision(budget: Budget, context: RetryPolicyContext) -> bool | RetryDecision:
    """Decide whether a call that failed before its first word is made again, and when."""
    error = context.error
    if not isinstance(error, ModelUnavailable | ModelTimedOut):
        return False
    asked = _retry_after(error.__cause__)
    if asked is None:
        return budget.left > 0
    if asked > min(MAX_RETRY_AFTER, budget.left):
        return False
    return RetryDecision(retry=True, delay=asked)


def _retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that a server asks to wait; a date is taken for nothing."""
    own = getattr(getattr(error, "response", None), "headers", None)
    for headers in (own, getattr(error, "litellm_response_headers", None)):
        try:
            return max(0.0, float((headers or {})["retry-after"]))
        except (KeyError, ValueError):
            continue
    return None


def _server_message(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:LOGGED_ERROR_CHARS]}"


@dataclass(slots=True)
class CircuitBreaker:
    """Counts failures in a row; open, it lets one question through after each rest."""

    after: int = 5
    rest: float = 30.0
    clock: Callable[[], float] = field(default=monotonic, repr=False)
    failures: int = 0
    _opened_at: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the model has failed too often to be relied on."""
        return self.failures >= self.after

    @property
    def is_cooling_down(self) -> bool:
        """Whether the model is left alone now; after each rest it is worth a try again."""
        return self.is_open and self.clock() - self._opened_at < self.rest

    def allow_request(self) -> bool:
        """Return whether the model may be tried now; an open one is tried once a rest."""
        if not self.is_open:
            return True
        if self.is_cooling_down:
            return False
        self._opened_at = self.clock()  # the next ones wait for what this one finds
        return True

    def record_failure(self) -> None:
        """Note that the model could not be used."""
        self.failures += 1
        self._opened_at = self.clock()

    def record_success(self) -> None:
        """Note that it could."""
        self.failures = 0
