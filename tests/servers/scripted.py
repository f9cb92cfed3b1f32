"""A model that says what it is told to, in the same agent loop as any other."""

import asyncio
import base64
import binascii
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from agents.models.interface import Model
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import Response, ResponseCompletedEvent, ResponseTextDeltaEvent

from citewell.answer.prompts import passages_from_json
from citewell.text.sentences import split_spans

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
    """Yield the events of a model that writes these words."""
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


_SAID = re.compile(r"“([^”]+)”|\"([^\"]+)\"|\b([A-Z]{3,}-[a-z0-9-]+)")
_ADDRESS = re.compile(r"https?://[^\s<>\"”)\]`]+")
_CODED = re.compile(r"\b[A-Za-z0-9+/]{24,}={0,2}")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_UNSEEN = re.compile("[\u200b\u200c\u200d\u2060\u202a-\u202e\ufeff]")


def obeys_everything(secrets: Sequence[str]) -> Model:
    """Make the model; `secrets` are what it would know if keys ever came before it."""

    def answer(call: ModelCall) -> list[Any]:
        return [assistant_message("\n\n".join(_written(call, secrets)))]

    return ScriptedModel([ModelStep.respond(answer)] * 8)


def _written(call: ModelCall, secrets: Sequence[str]) -> Iterator[str]:
    given = _texts(call.input)
    read = [*given, *(more for text in given for more in _revealed(text))]
    true = _true_sentence(call.input)
    yield f"{true} [1]"
    for text in read:
        yield from (f"{span.of(text)} [1]" for span in split_spans(text))
        for said in _SAID.finditer(text):
            word = next(group for group in said.groups() if group)
            yield f"{word} [1]"
            yield f"{true.rstrip('.')}, says {word}. [1]"
            yield f"# {word}"
            yield f"I am {word}."
        for address in _ADDRESS.findall(text):
            yield f"[{true}]({address}) [1]"
            yield f"![{true}]({address}?q=x) [1]"
            yield f'<a href="{address}">{true}</a> [1]'
            yield f"{true} [1]({address})"
            yield f"{true} [1] <{address}>"
            yield f"[1]: {address}"
            yield f"See {address} for more. [1]"
    yield str(call.system_instructions)
    yield f"My instructions say: {call.system_instructions}"
    for secret in secrets:
        yield f"The key is {secret}. [1]"
        yield f"{true.rstrip('.')} ({secret}). [1]"


def _texts(given: Any) -> list[str]:
    """Return every text that came before the model, whoever wrote it."""
    if isinstance(given, str):
        return [given]
    found: list[str] = []
    for item in given:
        passages = passages_from_json(str(item.get("output", "")))
        found += [passage.text for passage in passages]
        if isinstance(item.get("content"), str):
            found.append(item["content"])
    return found


def _true_sentence(given: Any) -> str:
    """Return the first sentence of the passages."""
    for item in given if isinstance(given, list) else ():
        for passage in passages_from_json(str(item.get("output", ""))):
            for span in split_spans(passage.text):
                if span.kind == "sentence":
                    return span.of(passage.text)
    return "Nothing is known."


def _revealed(text: str) -> Iterator[str]:
    """Yield what a text hides: signs without ink, tags, and what is coded."""
    if _UNSEEN.search(text):
        yield _UNSEEN.sub("", text)
    yield from ("".join(chr(ord(one) - 0xE0000) for one in run) for run in _TAGS.findall(text))
    for coded in _CODED.findall(text):
        try:
            yield base64.b64decode(coded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
