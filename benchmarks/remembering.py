"""A model that is asked once: what it said is kept on disk, for runs in several sittings."""

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
    """What the model said to one prompt."""

    prompt: str
    events: list[TResponseStreamEvent]
    seconds: float
    failure: str = ""
    """Why it broke off, if it did."""

    @property
    def text(self) -> str:
        """All that it wrote."""
        return "".join(e.delta for e in self.events if e.type == "response.output_text.delta")

    @property
    def tokens(self) -> tuple[int, int]:
        """How many it read and wrote, where it says."""
        for event in self.events:
            if isinstance(event, ResponseCompletedEvent) and event.response.usage:
                return event.response.usage.input_tokens, event.response.usage.output_tokens
        return 0, 0


class Remembering(Model):
    """Asks the model once, and gives the same events again when it is asked the same."""

    def __init__(self, model: Model, folder: Path, seconds: float = 1e9) -> None:
        """Ask `model` for so many seconds; keep what it says in `folder`."""
        self._model = model
        self._folder = folder
        self._seconds = seconds
        self.was_late = False
        """Whether it was to be asked when the time was over."""
        self.said: dict[str, Said] = {}
        """What it said since this began, now or in an earlier sitting, by prompt."""
        self.asked_seconds = 0.0
        """How long it was really asked since this began."""
        folder.mkdir(parents=True, exist_ok=True)

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        """Answer in one piece."""
        return await self._model.get_response(*given, **more)

    async def stream_response(
        self, *given: Any, **more: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer piece by piece."""
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
