"""The embedded answerer as an Agents SDK model: same loop, same tools, no key and no network."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from time import time
from typing import Any
from uuid import uuid4

from agents import Usage
from agents.items import (
    ModelResponse,
    TResponseInputItem,
    TResponseOutputItem,
    TResponseStreamEvent,
)
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseContentPartAddedEvent,
    ResponseContentPartDoneEvent,
    ResponseCreatedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseTextDoneEvent,
)

from quire.answer.extractive import compose_answer, quote_beginning
from quire.answer.passages import passages_from_json, place_in
from quire.answer.quoting import written
from quire.domain import Hit
from quire.prose.terms import TermStatistics
from quire.retrieve.evidence import EvidenceReader, Passage
from quire.retrieve.nearby import here_first
from quire.verify.claims import Piece, Quoted, split_pieces

NAME = "embedded"
SEARCH = "search_textbook"


class EmbeddedModel(Model):
    """Quotes the blocks of the book that answer; searches first if it was given no passages."""

    def __init__(self, evidence: EvidenceReader, statistics: TermStatistics) -> None:
        """Read with `evidence`, and weigh words by how rare they are in the book."""
        self._evidence = evidence
        self._statistics = statistics
        self.told = ""
        """What was answered before: it is not what a follow-up asks for, if there is more."""
        self.whole = False
        """Whether the passage itself is asked about, and not something in it."""
        self.quoted: list[Piece] = []
        """What it wrote last, piece by piece, each with the place it was copied from."""

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Answer in one piece."""
        del system_instructions
        output, _parts = await self._output(input)
        return ModelResponse(output=[output], usage=Usage(requests=1), response_id=None)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        *_: Any,
        **__: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer sentence by sentence."""
        del system_instructions
        output, parts = await self._output(input)
        for number, event in enumerate(_events(output, parts)):
            event.sequence_number = number
            yield event

    async def _output(
        self, given: str | list[TResponseInputItem]
    ) -> tuple[TResponseOutputItem, list[str]]:
        question, passages, searched = _read(given)
        if not searched:
            call = ResponseFunctionToolCall(
                arguments=json.dumps({"query": question}),
                call_id=f"call_{uuid4().hex}",
                name=SEARCH,
                type="function_call",
            )
            return call, []
        self.quoted = await asyncio.to_thread(self._quote, question, passages)
        parts = [written(piece) for piece in self.quoted]
        return _message("".join(parts)), parts

    def _quote(self, question: str, passages: list[Passage]) -> list[Piece]:
        ranked = self._evidence.rank(question, passages, self._statistics, told=self.told)
        ranked = here_first(ranked, lambda one: one.passage.here, lambda one: one.score)
        return quote_beginning(ranked) if self.whole else compose_answer(question, ranked)


class QuoteReader:
    """Recognises the pieces that the embedded model wrote: none is cut and guessed at again."""

    def __init__(self, model: EmbeddedModel, hits: Sequence[Hit]) -> None:
        """Read what `model` writes from the passages of `hits`."""
        self._model = model
        self._hits = hits
        self._held = ""
        self._read = 0

    def feed(self, text: str) -> Iterator[Piece]:
        """Take more text and yield the pieces that it completes."""
        self._held += text
        for piece in self._model.quoted[self._read :]:
            whole = written(piece)
            if not self._held.startswith(whole):
                break
            self._held = self._held[len(whole) :]
            self._read += 1
            yield replace(piece, quoted=tuple(map(self._placed, piece.quoted)))

    def finish(self) -> Iterator[Piece]:
        """Yield what is left, as that of any other model."""
        yield from split_pieces(self._held)
        self._held = ""

    def _placed(self, quoted: Quoted) -> Quoted:
        passage = self._hits[quoted.number - 1].chunk.text
        start, end = place_in(passage, quoted.start, quoted.end)
        return replace(quoted, start=start, end=end)


def _read(given: str | list[TResponseInputItem]) -> tuple[str, list[Passage], bool]:
    """Give the last question, the passages found for it, and whether a search was made."""
    if isinstance(given, str):
        return given, [], False
    question = ""
    passages: list[Passage] = []
    searched = False
    for item in given:
        data: Any = item
        if data.get("role") == "user":
            question, passages, searched = _text(data["content"]), [], False
        elif data.get("type") == "function_call_output":
            passages += passages_from_json(_text(data["output"]))
            searched = True
    return question, passages, searched


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content)


def _message(text: str) -> ResponseOutputMessage:
    return ResponseOutputMessage(
        id=f"msg_{uuid4().hex}",
        content=[ResponseOutputText(annotations=[], text=text, type="output_text", logprobs=[])],
        role="assistant",
        status="completed",
        type="message",
    )


def _response(output: list[TResponseOutputItem]) -> Response:
    return Response(
        id=f"resp_{uuid4().hex}",
        created_at=time(),
        model=NAME,
        object="response",
        output=output,
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )


def _events(output: TResponseOutputItem, parts: list[str]) -> list[Any]:
    """Give the events the SDK expects for one output item."""
    place: dict[str, Any] = {"output_index": 0, "sequence_number": 0}
    events: list[Any] = [
        ResponseCreatedEvent(response=_response([]), sequence_number=0, type="response.created"),
        ResponseOutputItemAddedEvent(item=output, type="response.output_item.added", **place),
    ]
    if isinstance(output, ResponseOutputMessage):
        place |= {"item_id": output.id, "content_index": 0}
        empty = ResponseOutputText(annotations=[], text="", type="output_text", logprobs=[])
        events.append(
            ResponseContentPartAddedEvent(part=empty, type="response.content_part.added", **place)
        )
        events += [
            ResponseTextDeltaEvent(
                delta=part, logprobs=[], type="response.output_text.delta", **place
            )
            for part in parts
        ]
        events += [
            ResponseTextDoneEvent(
                text="".join(parts), logprobs=[], type="response.output_text.done", **place
            ),
            ResponseContentPartDoneEvent(
                part=output.content[0], type="response.content_part.done", **place
            ),
        ]
    events += [
        ResponseOutputItemDoneEvent(
            item=output, output_index=0, sequence_number=0, type="response.output_item.done"
        ),
        ResponseCompletedEvent(
            response=_response([output]), sequence_number=0, type="response.completed"
        ),
    ]
    return events
