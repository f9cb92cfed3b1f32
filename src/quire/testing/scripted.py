"""A model that says what it is told to, in the same agent loop as any other."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from agents.models.interface import Model
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import Response, ResponseCompletedEvent, ResponseTextDeltaEvent

from quire.answer.passages import passages_from_json

Write = Callable[[Mapping[int, str]], str]
"""Writes an answer, given every passage the model was shown by its number."""


def reads_then_writes(sections: Sequence[str], write: Write) -> Model:
    """Make a model that opens the sections with a tool, and then writes its answer."""

    def answer(call: ModelCall) -> list[Any]:
        outputs = [item["output"] for item in call.input if "output" in item]
        passages = [passage for output in outputs for passage in passages_from_json(str(output))]
        return [assistant_message(write({one.number: one.text for one in passages}))]

    calls = [
        function_call("read_section", {"section": section}, call_id=f"read-{number}")
        for number, section in enumerate(sections)
    ]
    return ScriptedModel([*([calls] if calls else []), ModelStep.respond(answer)])


def streams(words: Sequence[str], pause: float) -> Model:
    """Make a model that writes word by word, as fast as a large one does."""

    async def events(_: ModelCall) -> AsyncIterator[Any]:
        async for event in text_stream(words):
            await asyncio.sleep(pause)
            yield event

    return ScriptedModel([ModelStep.stream(events)])


async def text_stream(words: Sequence[str]) -> AsyncIterator[Any]:
    """Give the events of a model that writes these words."""
    for number, word in enumerate(words):
        yield ResponseTextDeltaEvent(
            type="response.output_text.delta",
            item_id="message",
            output_index=0,
            content_index=0,
            delta=word,
            logprobs=[],
            sequence_number=number,
        )
    yield ResponseCompletedEvent(
        type="response.completed",
        response=_response("".join(words)),
        sequence_number=len(words),
    )


def _response(text: str) -> Response:
    return Response(
        id="response",
        created_at=0,
        model="scripted",
        object="response",
        output=[assistant_message(text)],
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )
