"""The Agents SDK agent: one question with its passages in, text out."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agents import (
    Agent,
    Model,
    RunConfig,
    RunContextWrapper,
    Runner,
    Session,
    function_tool,
    set_tracing_disabled,
)
from agents.exceptions import AgentsException, MaxTurnsExceeded
from openai import APITimeoutError, OpenAIError
from openai.types.responses import ResponseTextDeltaEvent

from quire.answer.instructions import INSTRUCTIONS, SELECTION_INSTRUCTIONS
from quire.answer.passages import numbered_to_json, passages_to_json
from quire.domain import Chunk, Hit
from quire.errors import ModelMisbehaved, ModelTimedOut, ModelUnavailable, UnknownPage
from quire.ports import Index
from quire.retrieve.outline import find_section, open_section, outline_of
from quire.retrieve.search import opened_hits
from quire.telemetry.metrics import TOKENS
from quire.telemetry.spans import span

# With an OpenAI key in the environment the SDK would post every prompt to OpenAI.
set_tracing_disabled(True)

LOG = logging.getLogger("quire.answer")
Search = Callable[[str], Awaitable[Sequence[Hit]]]


@dataclass(slots=True)
class Evidence:
    """What the agent has been shown; a search of its own adds to it."""

    hits: list[Hit]
    search: Search
    index: Index
    """The book that the tools beside the search read in."""
    instructions: str = ""
    """What the operator tells the agent besides Quire's own instructions, which come first."""
    tokens_used: int | None = None
    """What the model took to write, where it counts that."""

    def add(self, found: Sequence[Hit]) -> tuple[int, list[Hit]]:
        """Number the new ones on from those already shown; give the first number and the new."""
        known = {hit.chunk.id for hit in self.hits}
        new = [hit for hit in found if hit.chunk.id not in known]
        first = len(self.hits) + 1
        self.hits.extend(new)
        return first, new

    def number(self, chunks: Sequence[Chunk]) -> list[tuple[int, Hit]]:
        """Give opened chunks with their numbers, of which those shown before have one already."""
        self.add(opened_hits(chunks))
        numbers = {hit.chunk.id: number for number, hit in enumerate(self.hits, start=1)}
        return [(numbers[chunk.id], self.hits[numbers[chunk.id] - 1]) for chunk in chunks]


@function_tool
async def search_textbook(context: RunContextWrapper[Evidence], query: str) -> str:  # noqa: D417 - the model sees the rest
    """Search the book for passages that answer a question.

    Args:
        query: The question, complete in itself.
    """
    first, new = context.context.add(await context.context.search(query))
    return passages_to_json(new, first)


@function_tool
async def table_of_contents(context: RunContextWrapper[Evidence], chapter: str = "") -> str:  # noqa: D417 - the model sees the rest
    """Show how the book is built, to choose what to read: its chapters, or the sections of one.

    Args:
        chapter: Title of a chapter, to see its sections; leave it out to see all chapters.
    """
    contents = context.context.index.contents
    try:
        top = find_section(contents, chapter).heading.children if chapter else contents.headings
    except UnknownPage as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)
    return json.dumps({"contents": outline_of(top)}, ensure_ascii=False)


@function_tool
async def read_section(context: RunContextWrapper[Evidence], section: str, start: int = 1) -> str:  # noqa: D417 - the model sees the rest
    """Open a section of the book and read its passages in order.

    Args:
        section: Its id or title; `Chapter › Section` where several have one title.
        start: The passage to begin with, from 1; a long section is read in several calls.
    """
    try:
        index = context.context.index
        opened = await asyncio.to_thread(open_section, index, section, start=max(start, 1))
    except UnknownPage as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)
    numbered = context.context.number(opened.passages)
    return numbered_to_json(numbered, start=opened.start, total=opened.total)


AGENT: Agent[Evidence] = Agent(
    name="Quire",
    instructions=INSTRUCTIONS,
    tools=[search_textbook, table_of_contents, read_section],
)


@function_tool
async def read_selection(context: RunContextWrapper[Evidence]) -> str:
    """Read the text that the reader selected, again."""
    return passages_to_json(context.context.hits)


SELECTION_AGENT: Agent[Evidence] = Agent(
    name="Quire",
    instructions=SELECTION_INSTRUCTIONS,
    # No tool that reaches the book: what is not offered cannot be called.
    tools=[read_selection],
)


async def draft(
    question: str,
    evidence: Evidence,
    *,
    model: Model,
    max_turns: int,
    selected: bool = False,
    session: Session | None = None,
) -> AsyncGenerator[str, None]:
    """Run the agent and give its text as it comes.

    The first search has been made: it stands in the conversation as a finished tool call. If the
    reader `selected` a text, that is what has been read, and the agent has no other tool. A
    `session` is what the agent remembers of the conversation.

    Raises:
        ModelError: the model failed or went on for too long.
    """
    agent = SELECTION_AGENT if selected else AGENT
    if evidence.instructions:
        agent = agent.clone(instructions=f"{agent.instructions}\n\n{evidence.instructions}")
    items = _opening(question, evidence, selected=selected)
    config = RunConfig(model=model, tracing_disabled=True)
    async with _model_errors():
        result = Runner.run_streamed(
            agent,
            items,
            context=evidence,
            max_turns=max_turns,
            run_config=config,
            session=session,
        )
        message = ""
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event" and isinstance(
                    event.data, ResponseTextDeltaEvent
                ):
                    if message not in ("", event.data.item_id):
                        yield "\n\n"  # what was said before a search is no part of what follows
                    message = event.data.item_id
                    yield event.data.delta
            evidence.tokens_used = result.context_wrapper.usage.total_tokens or None
        finally:
            # Leaving the events does not stop the run; only this does.
            result.cancel()
            used = result.context_wrapper.usage
            TOKENS.labels("input").inc(used.input_tokens)
            TOKENS.labels("output").inc(used.output_tokens)


def _opening(question: str, evidence: Evidence, *, selected: bool) -> list[Any]:
    """Give the question, and the first search or the selection as a finished tool call."""
    tool = read_selection if selected else search_textbook
    call = f"call_{uuid4().hex}"
    return [
        {"role": "user", "content": question},
        {
            "type": "function_call",
            "call_id": call,
            "name": tool.name,
            "arguments": "{}" if selected else json.dumps({"query": question}),
        },
        {
            "type": "function_call_output",
            "call_id": call,
            "output": passages_to_json(evidence.hits),
        },
    ]


@asynccontextmanager
async def _model_errors() -> AsyncIterator[None]:
    try:
        with span("model"):
            yield
    except MaxTurnsExceeded as error:
        raise ModelMisbehaved("The model searched again and again without answering.") from error
    except AgentsException as error:
        raise ModelMisbehaved(f"The model's output cannot be used: {error}") from error
    except APITimeoutError as error:
        raise ModelTimedOut("The model took too long to answer.") from error
    except TimeoutError as error:
        raise ModelTimedOut("The model took too long to answer.") from error
    except OpenAIError as error:
        # Its words may hold addresses and keys, and are not for readers.
        LOG.error("the model cannot be used: %s", error)  # noqa: TRY400 - a trace adds nothing
        raise ModelUnavailable("The model cannot be used right now.") from error
