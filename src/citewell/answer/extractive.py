"""The embedded model: answers by quoting the book, as an Agents SDK model without a network."""

import asyncio
import json
import re
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

from citewell.answer.prompts import NOT_IN_BOOK, passages_from_json, to_source_offsets
from citewell.answer.quoting import quote_blocks, render_piece
from citewell.domain import Hit
from citewell.retrieve.rerank import (
    UNRANKED_SCORE,
    Evidence,
    Passage,
    SentenceReranker,
    boost_current_chapter,
)
from citewell.text.plain_text import strip_inline_markup
from citewell.text.terms import TermStatistics, terms
from citewell.verify.claims import Piece, QuotedSpan, split_pieces
from citewell.verify.safety import is_injected_instruction

EMBEDDED_NAME = "embedded"


class EmbeddedModel(Model):
    """Quotes the blocks of the passages that answer; calls the search tool if it has none."""

    def __init__(self, reranker: SentenceReranker, statistics: TermStatistics) -> None:
        """Rank sentences with `reranker` and the term statistics of the book."""
        self._reranker = reranker
        self._statistics = statistics
        self.previous_answers = ""
        """Text of earlier answers, which a follow-up need not repeat."""
        self.about_whole_passage = False
        """Whether to quote the beginning of the passage instead of searching it."""
        self.pieces: list[Piece] = []
        """The pieces of the last answer, with the spans they quote."""

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Return the whole answer."""
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
        """Stream the answer, piece by piece."""
        del system_instructions
        output, parts = await self._output(input)
        for number, event in enumerate(_events(output, parts)):
            event.sequence_number = number
            yield event

    async def _output(
        self, model_input: str | list[TResponseInputItem]
    ) -> tuple[TResponseOutputItem, list[str]]:
        question, passages, searched = _parse_input(model_input)
        if not searched:
            call = ResponseFunctionToolCall(
                arguments=json.dumps({"query": question}),
                call_id=f"call_{uuid4().hex}",
                name="search_textbook",
                type="function_call",
            )
            return call, []
        self.pieces = await asyncio.to_thread(self._quote, question, passages)
        parts = [render_piece(piece) for piece in self.pieces]
        return _message("".join(parts)), parts

    def _quote(self, question: str, passages: list[Passage]) -> list[Piece]:
        ranked = self._reranker.rank(
            question, passages, self._statistics, previous_answers=self.previous_answers
        )
        ranked = boost_current_chapter(
            ranked, lambda one: one.passage.in_current_chapter, lambda one: one.score
        )
        if self.about_whole_passage:
            return quote_beginning(ranked)
        return compose_answer(question, ranked)


class QuoteSplitter:
    """Splits the stream of the embedded model into the pieces that it composed."""

    def __init__(self, model: EmbeddedModel, hits: Sequence[Hit]) -> None:
        """Split the output of `model` for the passages of `hits`."""
        self._model = model
        self._hits = hits
        self._buffer = ""
        self._next = 0

    def feed(self, text: str) -> Iterator[Piece]:
        """Add text, and yield the pieces that are complete."""
        self._buffer += text
        for piece in self._model.pieces[self._next :]:
            rendered = render_piece(piece)
            if not self._buffer.startswith(rendered):
                break
            self._buffer = self._buffer[len(rendered) :]
            self._next += 1
            spans = tuple(map(self._to_source_offsets, piece.quoted_spans))
            yield replace(piece, quoted_spans=spans)

    def finish(self) -> Iterator[Piece]:
        """Yield the pieces of any remaining text."""
        yield from split_pieces(self._buffer)
        self._buffer = ""

    def _to_source_offsets(self, span: QuotedSpan) -> QuotedSpan:
        passage = self._hits[span.number - 1].chunk.text
        start, end = to_source_offsets(passage, span.start, span.end)
        return replace(span, start=start, end=end)


def _parse_input(
    model_input: str | list[TResponseInputItem],
) -> tuple[str, list[Passage], bool]:
    """Return the last question, its passages, and whether a search was made."""
    if isinstance(model_input, str):
        return model_input, [], False
    question = ""
    passages: list[Passage] = []
    searched = False
    for item in model_input:
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
        model=EMBEDDED_NAME,
        object="response",
        output=output,
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )


def _events(output: TResponseOutputItem, parts: list[str]) -> list[Any]:
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


MAX_SENTENCES = 4
_FURTHER_MARGIN = 3.0
"""Maximum distance of a further sentence from the score of the best one."""
_ADJACENT_MARGIN = 4.0
"""The same, for a sentence next to the best one."""
_DUPLICATE_OVERLAP = 0.6
"""Share of common terms above which two sentences are duplicates."""


_ASKS_HOW = re.compile(
    r"\bhow (?:do|does|can|could|would|should|must) (?:i|you|we|one)\b|\bhow to\b|\bshow me\b"
    r"|\b(?:commands?|shell|terminal|syntax|code|snippet|listing|script|examples?)\b",
    re.I,
)
_MIN_CODE_COVERAGE = 0.5
"""Share of the question's words that a code example must contain."""
_BEGINNING_CHARS = 600
_MAX_CODE_LINES = 40


def compose_answer(question: str, ranked: Sequence[Evidence]) -> list[Piece]:
    """Return the blocks that contain the best sentences, the best passage first."""
    selected = _select(ranked)
    selected += _code_examples(question, selected, ranked) if selected else []
    return _quote_selected(selected, question)


def quote_beginning(ranked: Sequence[Evidence]) -> list[Piece]:
    """Return the beginning of a passage, or all of a short one."""
    selected: list[Evidence] = []
    for one in sorted(ranked, key=lambda one: one.position):
        if is_injected_instruction(one.text):
            continue
        if (
            selected
            and sum(len(other.text) for other in selected) + len(one.text) > _BEGINNING_CHARS
        ):
            break
        selected.append(one)
    return _quote_selected(selected)


def _quote_selected(selected: Sequence[Evidence], question: str = "") -> list[Piece]:
    pieces: list[Piece] = []
    for passage in dict.fromkeys(one.passage for one in selected):
        spans = [one.span for one in selected if one.passage is passage]
        pieces += quote_blocks(passage, spans, question)
    if not any(piece.quoted_spans for piece in pieces):
        return [Piece("", NOT_IN_BOOK, (), "sentence", is_own_text=True)]
    return [replace(pieces[0], lead=pieces[0].lead.lstrip("\n")), *pieces[1:]]


def _select(ranked: Sequence[Evidence]) -> list[Evidence]:
    # Lazy: the injection check is needed for the first few sentences only.
    candidates = (
        one
        for one in ranked
        if one.score > UNRANKED_SCORE and not is_injected_instruction(one.text)
    )
    best = next(candidates, None)
    if best is None:
        return []
    selected = [best]
    unanswered = [one for one in ranked if one is not best and not one.already_answered]
    if best.already_answered and unanswered and unanswered[0].score > UNRANKED_SCORE:
        # The reader knows the best sentence already, and probably asks for more.
        return [best, *_select(unanswered)][:MAX_SENTENCES]
    for evidence in candidates:
        adjacent = evidence.passage is best.passage and abs(evidence.position - best.position) == 1
        if len(selected) == MAX_SENTENCES or evidence.score < max(
            best.score - _ADJACENT_MARGIN, UNRANKED_SCORE + 1
        ):
            break
        if evidence.score < best.score - _FURTHER_MARGIN and not adjacent:
            continue
        if not any(_are_duplicates(_terms(evidence), _terms(other)) for other in selected):
            selected.append(evidence)
    return selected


def _code_examples(
    question: str, selected: Sequence[Evidence], ranked: Sequence[Evidence]
) -> list[Evidence]:
    """Return the best code example for a how-to question; the reranker underrates code."""
    if not _ASKS_HOW.search(question) or any(e.span.kind == "code" for e in selected):
        return []
    listings = [
        e
        for e in ranked
        if e.span.kind == "code"
        and e.coverage >= _MIN_CODE_COVERAGE
        and e.text.count("\n") <= _MAX_CODE_LINES
        and not is_injected_instruction(e.text)
    ]
    return sorted(listings, key=lambda e: (-e.coverage, e.passage.number, e.position))[:1]


def _terms(evidence: Evidence) -> set[str]:
    return set(terms(strip_inline_markup(evidence.text)))


def _are_duplicates(one: set[str], other: set[str]) -> bool:
    return len(one & other) > _DUPLICATE_OVERLAP * min(len(one), len(other))
