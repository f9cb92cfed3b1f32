"""A cache on disk for the responses of a model, so that a benchmark can be continued."""

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from agents.items import ModelResponse, TResponseStreamEvent
from agents.models.interface import Model
from openai.types.responses import ResponseCompletedEvent, ResponseStreamEvent
from pydantic import TypeAdapter

from citewell.errors import ModelMisbehaved, ModelRefused

EVENTS: TypeAdapter[list[ResponseStreamEvent]] = TypeAdapter(list[ResponseStreamEvent])


@dataclass(frozen=True, kw_only=True)
class Said:
    """The response to one prompt."""

    prompt: str
    events: list[TResponseStreamEvent]
    seconds: float
    failure: str = ""
    """The error, if it failed."""

    @property
    def text(self) -> str:
        """The complete text."""
        return "".join(e.delta for e in self.events if e.type == "response.output_text.delta")

    @property
    def tokens(self) -> tuple[int, int]:
        """The input and output tokens, if reported."""
        for event in self.events:
            if isinstance(event, ResponseCompletedEvent) and event.response.usage:
                return event.response.usage.input_tokens, event.response.usage.output_tokens
        return 0, 0


class Remembering(Model):
    """Replays the cached events of a known prompt, and calls the model for others."""

    def __init__(self, model: Model, folder: Path, seconds: float = 1e9) -> None:
        """Call `model` until the time limit; cache its responses in `folder`."""
        self._model = model
        self._folder = folder
        self._seconds = seconds
        self.was_late = False
        """Whether a call was skipped because of the time limit."""
        self.said: dict[str, Said] = {}
        """The responses used in this run, by prompt."""
        self.asked_seconds = 0.0
        """The duration of the calls in this run."""
        folder.mkdir(parents=True, exist_ok=True)

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        """Return a response."""
        return await self._model.get_response(*given, **more)

    async def stream_response(
        self, *given: Any, **more: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Stream a response."""
        prompt = json.dumps(given[:2], ensure_ascii=False)
        path = self._folder / f"{hashlib.sha256(prompt.encode()).hexdigest()[:32]}.json"
        if not path.exists():
            await self._ask(prompt, path, *given, **more)
        kept = json.loads(path.read_text())
        said = Said(**kept | {"events": EVENTS.validate_python(kept["events"])})
        self.said[prompt] = said
        for event in said.events:
            yield event
        if said.failure:
            raise ModelMisbehaved(said.failure)

    async def _ask(self, prompt: str, path: Path, /, *given: Any, **more: Any) -> None:
        if self.asked_seconds >= self._seconds:
            self.was_late = True
            raise ModelRefused("The time of this sitting is over.")
        began, events, failure = monotonic(), [], ""
        try:
            async for event in self._model.stream_response(*given, **more):
                events.append(event)  # noqa: PERF401 - what came before a failure counts
        # LiteLLM raises what it likes: cut off at the limit of tokens, say.
        except Exception as error:  # noqa: BLE001
            failure = f"{type(error).__name__}: {error}"[:300]
        seconds = monotonic() - began
        self.asked_seconds += seconds
        kept = {
            "prompt": prompt,
            "events": [event.model_dump(mode="json") for event in events],
            "seconds": seconds,
            "failure": failure,
        }
        path.write_text(json.dumps(kept, ensure_ascii=False))  # noqa: ASYNC240 - nobody waits
