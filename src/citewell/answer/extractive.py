"""The embedded answerer as an Agents SDK model: same loop, same tools, no key and no network."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence, Set
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
    UNREAD_SCORE,
    Evidence,
    Passage,
    SentenceReranker,
    boost_current_chapter,
)
from citewell.text.plain_text import strip_inline_markup
from citewell.text.terms import TermStatistics, terms
from citewell.verify.claims import Piece, Quoted, split_pieces
from citewell.verify.safety import is_injected_instruction

EMBEDDED_NAME = "embedded"
SEARCH = "search_textbook"


class EmbeddedModel(Model):
    """Quotes the blocks of the book that answer; searches first if it was given no passages."""

    def __init__(self, evidence: SentenceReranker, statistics: TermStatistics) -> None:
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
        parts = [render_piece(piece) for piece in self.quoted]
        return _message("".join(parts)), parts

    def _quote(self, question: str, passages: list[Passage]) -> list[Piece]:
        ranked = self._evidence.rank(question, passages, self._statistics, told=self.told)
        ranked = boost_current_chapter(ranked, lambda one: one.passage.here, lambda one: one.score)
        return quote_beginning(ranked) if self.whole else compose_answer(question, ranked)


class QuoteSplitter:
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
            whole = render_piece(piece)
            if not self._held.startswith(whole):
                break
            self._held = self._held[len(whole) :]
            self._read += 1
            yield replace(piece, quoted=tuple(map(self._to_source_offsets, piece.quoted)))

    def finish(self) -> Iterator[Piece]:
        """Yield what is left, as that of any other model."""
        yield from split_pieces(self._held)
        self._held = ""

    def _to_source_offsets(self, quoted: Quoted) -> Quoted:
        passage = self._hits[quoted.number - 1].chunk.text
        start, end = to_source_offsets(passage, quoted.start, quoted.end)
        return replace(quoted, start=start, end=end)


def _read(given: str | list[TResponseInputItem]) -> tuple[str, list[Passage], bool]:
    """Return the last question, the passages found for it, and whether a search was made."""
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
        model=EMBEDDED_NAME,
        object="response",
        output=output,
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )


def _events(output: TResponseOutputItem, parts: list[str]) -> list[Any]:
    """Return the events the SDK expects for one output item."""
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
"""A further sentence may be this much less fitting than the best one."""
_ADJACENT_MARGIN = 4.0
"""The same, for a sentence next to the best one."""
_DUPLICATE_OVERLAP = 0.6
"""Sentences that share more of their terms than this say the same."""


_ASKS_HOW = re.compile(
    r"\bhow (?:do|does|can|could|would|should|must) (?:i|you|we|one)\b|\bhow to\b|\bshow me\b"
    r"|\b(?:commands?|shell|terminal|syntax|code|snippet|listing|script|examples?)\b",
    re.I,
)
_LISTED = 0.5
"""Code that has this share of the question's words shows what was asked for."""
_BEGINNING = 600
"""Characters of a passage that are quoted where it is asked about as a whole."""
_LONGEST_CODE = 40
"""Lines of code beyond which an answer would be nothing else."""


def compose_answer(question: str, ranked: Sequence[Evidence]) -> list[Piece]:
    """Return the pieces of an answer: the blocks that hold what answers, the best passage first."""
    chosen = _choose(ranked)
    chosen += _add_code_examples(question, chosen, ranked) if chosen else []
    return _quote_chosen(chosen, set(terms(question)))


def quote_beginning(ranked: Sequence[Evidence]) -> list[Piece]:
    """Return how a passage begins; a short one as a whole."""
    said = sorted(
        (one for one in ranked if not is_injected_instruction(one.text)), key=lambda one: one.place
    )
    parts: list[Evidence] = []
    for one in said:
        if parts and sum(len(part.text) for part in parts) + len(one.text) > _BEGINNING:
            break
        parts.append(one)
    return _quote_chosen(parts)


def _quote_chosen(chosen: Sequence[Evidence], asked: Set[str] = frozenset()) -> list[Piece]:
    pieces: list[Piece] = []
    for passage in dict.fromkeys(one.passage for one in chosen):
        wanted = [one.span for one in chosen if one.passage is passage]
        pieces += quote_blocks(passage, wanted, asked)
    if not any(piece.quoted for piece in pieces):
        return [Piece("", NOT_IN_BOOK, (), "sentence", ours=True)]
    return [replace(pieces[0], lead=pieces[0].lead.lstrip("\n")), *pieces[1:]]


def _choose(ranked: Sequence[Evidence]) -> list[Evidence]:
    # Looked at one by one: most sentences are never wanted, and need not be told from orders.
    fitting = (
        one for one in ranked if one.score > UNREAD_SCORE and not is_injected_instruction(one.text)
    )
    best = next(fitting, None)
    if best is None:
        return []
    chosen = [best]
    untold = [one for one in ranked if one is not best and not one.told]
    if best.told and untold and untold[0].score > UNREAD_SCORE:
        # The best is known to who asks: what comes next to it may be what they want to know.
        return [best, *_choose(untold)][:MAX_SENTENCES]
    for evidence in fitting:
        near = evidence.passage is best.passage and abs(evidence.place - best.place) == 1
        if len(chosen) == MAX_SENTENCES or evidence.score < max(
            best.score - _ADJACENT_MARGIN, UNREAD_SCORE + 1
        ):
            break
        if evidence.score < best.score - _FURTHER_MARGIN and not near:
            continue
        own = _terms(evidence)
        if not any(_are_duplicates(own, _terms(other)) for other in chosen):
            chosen.append(evidence)
    return chosen


def _add_code_examples(
    question: str, chosen: Sequence[Evidence], ranked: Sequence[Evidence]
) -> list[Evidence]:
    """Return the code that shows how, if that is asked: the reader of sentences passes it over."""
    if not _ASKS_HOW.search(question) or any(e.span.kind == "code" for e in chosen):
        return []
    listings = [
        e
        for e in ranked
        if e.span.kind == "code"
        and e.coverage >= _LISTED
        and e.text.count("\n") <= _LONGEST_CODE
        and not is_injected_instruction(e.text)
    ]
    return sorted(listings, key=lambda e: (-e.coverage, e.passage.number, e.place))[:1]


def _terms(evidence: Evidence) -> set[str]:
    return set(terms(strip_inline_markup(evidence.text)))


def _are_duplicates(ours: set[str], theirs: set[str]) -> bool:
    return (
        len(ours & theirs) > _DUPLICATE_OVERLAP * min(len(ours), len(theirs))
        if ours and theirs
        else False
    )
