"""Remote models: budgets, timeouts, retries, and a circuit breaker."""

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
    """Time and token limits of one answer, and its use of them."""

    seconds: float
    tokens: int
    start_time: float = field(default_factory=monotonic)
    read: int = 0
    written: int = 0
    reported: int = 0
    """Tokens reported by the model; those of aborted streams are only estimated."""

    @property
    def left(self) -> float:
        """Remaining seconds."""
        return self.start_time + self.seconds - monotonic()

    def check(self) -> None:
        """Check the limits before another call.

        Raises:
            ModelTimedOut: no time is left.
            ModelMisbehaved: no tokens are left.
        """
        if self.left <= 0:
            raise ModelTimedOut(f"The answer took longer than {self.seconds:g} seconds.")
        if self.read + self.written >= self.tokens:
            raise ModelMisbehaved(f"The answer took more than {self.tokens} tokens.")

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a timeout, capped by the remaining time."""
        return asyncio.timeout(max(0.0, min(seconds, self.left)))

    def count(self, read: int, written: int, *, estimated: bool = False) -> None:
        """Add the tokens of a call."""
        self.read += read
        self.written += written
        self.reported += 0 if estimated else read + written


@dataclass(slots=True)
class _Day:
    date: str = ""
    offset: int = 0
    tokens: int = 0
    dollars: float = 0.0


class DailySpend:
    """Daily spending of all processes on a data folder: a file per day (UTC), a line per answer.

    Appending a short line is atomic, so no lock is needed. Each process reads on from its last
    offset.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tokens: int | None = None,
        dollars: float | None = None,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        """Keep the files in `folder`; without a limit, none is written."""
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
        """Check the limits before another answer.

        Raises:
            BudgetSpent: a daily limit is reached.
        """
        if not self.limited:
            return
        day = self._today()
        over_tokens = self._tokens is not None and day.tokens >= self._tokens
        if over_tokens or (self._dollars is not None and day.dollars >= self._dollars):
            now = self._clock()
            midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            raise BudgetSpent(
                f"The models' budget for {day.date} is spent: {day.tokens} tokens, "
                f"{day.dollars:.4f} dollars.",
                retry_after=max(1, int((midnight - now).total_seconds())),
            )

    def add(self, tokens: int, dollars: float | None) -> None:
        """Record the spending of an answer."""
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
                lines.seek(day.offset)
                for line in lines:
                    tokens, dollars = line.split()
                    day.tokens += int(tokens)
                    day.dollars += float(dollars)
                day.offset = lines.tell()
        return day


CHARS_PER_TOKEN = 4
"""For estimates of tokens that are not reported."""
MAX_CHARS_PER_TOKEN = 8
"""Upper bound of the average; a longer text ignores `max_tokens`."""
MAX_RETRY_AFTER = 20.0
"""Longest `Retry-After`, in seconds, that is honored."""
LOGGED_ERROR_CHARS = 200
RETRYABLE_STATUSES = (408, 409, 425, 429)
"""Statuses below 500 that are worth a retry."""


class RemoteModel(Model):
    """Limits the waiting time, output length and budget of another model."""

    def __init__(self, name: str, model: Model, options: ModelOptions, budget: Budget) -> None:
        """Call `model` within `options` and `budget`."""
        self._name = name
        self._model = model
        self._options = options
        self._budget = budget
        self._has_text = False
        self.stream_error: ModelError | None = None
        """Why the stream broke off after the first text."""

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Return the whole response."""
        self._budget.check()
        try:
            async with self._budget.timeout(self._options.first_token_seconds):
                response = await self._model.get_response(*args, **kwargs)
        # Providers behind LiteLLM raise arbitrary exceptions.
        except Exception as error:
            raise model_error(self._name, error) from error
        self._budget.count(response.usage.input_tokens, response.usage.output_tokens)
        return response

    async def stream_response(
        self, *args: Any, **kwargs: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Stream the response; a broken stream is completed, and sets `stream_error`."""
        self._budget.check()
        written: list[str] = []
        counted = False
        try:
            async for event in self._with_timeouts(*args, **kwargs):
                if isinstance(event, ResponseTextDeltaEvent):
                    self._has_text = True
                written.append(getattr(event, "delta", None) or "")
                if isinstance(event, ResponseCompletedEvent) and event.response.usage:
                    counted = self._count(event.response.usage)
                yield event
                if sum(map(len, written)) > MAX_CHARS_PER_TOKEN * self._options.max_tokens:
                    raise ModelMisbehaved(f"The model {self._name!r} exceeds its output limit.")
        except ModelError as error:
            if not self._has_text:
                raise
            # If the stream raised, the SDK could drop buffered events.
            self.stream_error = error
            yield _completed_event("".join(written))
        finally:
            if not counted:
                # Aborted streams are billed, too.
                prompt_chars = len(json.dumps([args, kwargs], default=str)) if any(written) else 0
                self._budget.count(
                    prompt_chars // CHARS_PER_TOKEN,
                    len("".join(written)) // CHARS_PER_TOKEN,
                    estimated=True,
                )

    def _count(self, usage: ResponseUsage) -> bool:
        self._budget.count(usage.input_tokens, usage.output_tokens)
        return usage.total_tokens > 0

    async def _with_timeouts(
        self, *args: Any, **kwargs: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        source = self._model.stream_response(*args, **kwargs)
        events = cast("AsyncGenerator[TResponseStreamEvent, None]", source)
        timeout = self._options.first_token_seconds
        async with aclosing(events):
            while True:
                try:
                    async with self._budget.timeout(timeout):
                        event = await anext(events)
                except StopAsyncIteration:
                    return
                except Exception as error:  # arbitrary, see `get_response`
                    raise model_error(self._name, error) from error
                if getattr(event, "delta", None):
                    timeout = self._options.idle_seconds
                yield event


def _completed_event(text: str) -> ResponseCompletedEvent:
    content = ResponseOutputText(annotations=[], text=text, type="output_text", logprobs=[])
    message = ResponseOutputMessage(
        id="broken_off", content=[content], role="assistant", status="incomplete", type="message"
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
    """Convert any exception; the message never contains an API key."""
    model = f"The model {name!r}"
    if isinstance(error, ModelError):
        return error
    if isinstance(error, TimeoutError | APITimeoutError):
        return ModelTimedOut(f"{model} took too long to answer.")
    if isinstance(error, AgentsException):
        return ModelMisbehaved(f"{model} returned unusable output: {_server_message(error)}")
    # LiteLLM reports lost connections with status 500.
    if isinstance(error, APIStatusError) and not isinstance(error, APIConnectionError):
        return _status_error(model, error)
    return ModelUnavailable(f"{model} cannot be reached or broke off: {_server_message(error)}")


def _status_error(model: str, error: APIStatusError) -> ModelError:
    status = error.status_code
    if status in (401, 403):
        # Without the server's message, which can contain parts of the key.
        return ModelRefused(f"{model} refuses the key ({status}).")
    if error.code == "insufficient_quota":
        return ModelRefused(f"{model} has no credit left ({status}).")
    if status < 500 and status not in RETRYABLE_STATUSES:  # noqa: PLR2004 - HTTP's
        return ModelRefused(f"{model} refuses the request ({status}): {_server_message(error)}")
    unavailable = ModelUnavailable(f"{model} answers {status}: {_server_message(error)}")
    delay = _retry_after(error)
    if delay is not None:
        unavailable.retry_after = max(1, round(delay))
    return unavailable


def retry_decision(budget: Budget, context: RetryPolicyContext) -> bool | RetryDecision:
    """Decide whether to retry a call that failed before its first token."""
    error = context.error
    if not isinstance(error, ModelUnavailable | ModelTimedOut):
        return False
    delay = _retry_after(error.__cause__)
    if delay is None:
        return budget.left > 0
    if delay > min(MAX_RETRY_AFTER, budget.left):
        return False
    return RetryDecision(retry=True, delay=delay)


def _retry_after(error: BaseException | None) -> float | None:
    """Return the `Retry-After` in seconds; dates are ignored."""
    response_headers = getattr(getattr(error, "response", None), "headers", None)
    for headers in (response_headers, getattr(error, "litellm_response_headers", None)):
        try:
            return max(0.0, float((headers or {})["retry-after"]))
        except (KeyError, ValueError):
            continue
    return None


def _server_message(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:LOGGED_ERROR_CHARS]}"


@dataclass(slots=True)
class CircuitBreaker:
    """Opens after consecutive failures; while open, lets one request through per cooldown."""

    max_failures: int = 5
    cooldown: float = 30.0
    clock: Callable[[], float] = field(default=monotonic, repr=False)
    failures: int = 0
    _opened_at: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the last `max_failures` requests failed."""
        return self.failures >= self.max_failures

    @property
    def is_cooling_down(self) -> bool:
        """Whether requests are blocked."""
        return self.is_open and self.clock() - self._opened_at < self.cooldown

    def allow_request(self) -> bool:
        """Return whether to send a request."""
        if not self.is_open:
            return True
        if self.is_cooling_down:
            return False
        self._opened_at = self.clock()  # half-open: later requests wait for the result of this one
        return True

    def record_failure(self) -> None:
        """Count a failed request."""
        self.failures += 1
        self._opened_at = self.clock()

    def record_success(self) -> None:
        """Close the breaker."""
        self.failures = 0
