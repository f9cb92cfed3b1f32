"""The Agents SDK agent: one question with its passages in, text out."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from uuid import uuid4

from agents import (
    Agent,
    Model,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    Runner,
    Session,
    function_tool,
    set_tracing_disabled,
)
from agents.exceptions import (
    AgentsException,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
)
from openai.types.responses import ResponseTextDeltaEvent

from quire.answer.guardrails import is_injection, question_guardrail
from quire.answer.instructions import (
    INSTRUCTIONS,
    PLAIN_INSTRUCTIONS,
    READER_CONTEXT,
    SELECTION_INSTRUCTIONS,
)
from quire.answer.options import CONTEXT_TOKENS
from quire.answer.passages import (
    numbered_to_json,
    passages_to_json,
    passages_to_prompt,
    reader_to_prompt,
)
from quire.domain import Chunk, Hit
from quire.errors import ModelMisbehaved, UnknownPage
from quire.ports import Index
from quire.prose.plain import well_formed
from quire.retrieve.outline import find_section, open_section, outline_of
from quire.telemetry.metrics import TOKENS
from quire.telemetry.spans import span

# With an OpenAI key in the environment the SDK would post every prompt to OpenAI.
set_tracing_disabled(True)

Search = Callable[[str], Awaitable[Sequence[Hit]]]
Measure = Callable[[Sequence[str]], Awaitable[Sequence[Hit]]]
"""Returns the passages of some ids, with their relevance to the question."""


@dataclass(slots=True)
class Evidence:
    """What the agent has been shown; a search of its own adds to it."""

    hits: list[Hit]
    search: Search
    measure: Measure
    index: Index
    """The book that the tools beside the search read in."""
    question: str = ""
    """What is asked, standing alone."""
    instructions: str = ""
    """What the operator tells the agent besides Quire's own instructions, which come first."""
    selected: bool = False
    """Whether the reader selected the text, which then is all there is."""
    room: int = CONTEXT_TOKENS
    """How many tokens all passages together may have."""
    reader: str = ""
    """What the client says about the reader; data that helps to choose, and proves nothing."""
    refusal: str = ""
    """Why the question was not passed on to the model."""
    tokens_used: int | None = None
    """What the model took to write, where it counts that."""

    def add(self, found: Sequence[Hit]) -> tuple[int, list[Hit]]:
        """Number the new ones on from those already shown; give the first number and the new."""
        known = {hit.chunk.id for hit in self.hits}
        new = [hit for hit in found if hit.chunk.id not in known]
        first = len(self.hits) + 1
        self.hits.extend(new)
        return first, new

    async def open(self, chunks: Sequence[Chunk]) -> list[tuple[int, Hit]]:
        """Return opened chunks with their numbers; those shown before have one already."""
        known = {hit.chunk.id for hit in self.hits}
        self.add(await self.measure([chunk.id for chunk in chunks if chunk.id not in known]))
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
    numbered = await context.context.open(_at_once(opened.passages, context.context.room))
    return numbered_to_json(numbered, start=opened.start, total=opened.total)


AGENT: Agent[Evidence] = Agent(
    name="Quire",
    instructions=INSTRUCTIONS,
    tools=[search_textbook, table_of_contents, read_section],
    input_guardrails=[question_guardrail],
)
PLAIN_AGENT: Agent[Evidence] = Agent(
    name="Quire", instructions=PLAIN_INSTRUCTIONS, input_guardrails=[question_guardrail]
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
    input_guardrails=[question_guardrail],
)


@dataclass(frozen=True, slots=True)
class Calling:
    """How a model is called."""

    tools: bool = True
    """Whether it is offered tools; without, it gets the passages and the question in one prompt."""
    max_turns: int = 4
    settings: ModelSettings | None = None
    """What it is told besides; `None` for nothing, which spares the SDK a look at its types."""


async def draft(
    evidence: Evidence,
    *,
    model: Model,
    calling: Calling = Calling(),  # noqa: B008 - frozen
    session: Session | None = None,
) -> AsyncGenerator[str, None]:
    """Run the agent on a question with its evidence, and give its text as it comes.

    The first search has been made: it stands in the conversation as a finished tool call. If the
    reader selected a text, that is what has been read, and the agent has no other tool. A
    `session` is what the agent remembers of the conversation. A question that a guardrail stops
    gives no text, and the evidence says why.

    Raises:
        ModelError: the model failed or went on for too long.
    """
    result = None
    async with _model_errors():
        try:
            result = Runner.run_streamed(
                _agent(evidence, calling),
                _opening(evidence, calling),
                context=evidence,
                max_turns=calling.max_turns,
                run_config=RunConfig(
                    model=model, model_settings=calling.settings, tracing_disabled=True
                ),
                session=session,
            )
            message, half = "", ""
            async for event in result.stream_events():
                if event.type == "raw_response_event" and isinstance(
                    event.data, ResponseTextDeltaEvent
                ):
                    if message not in ("", event.data.item_id):
                        yield "\n\n"  # what was said before a search is no part of what follows
                    message = event.data.item_id
                    text, half = _whole(half + event.data.delta)
                    yield text
            evidence.tokens_used = result.context_wrapper.usage.total_tokens or None
        except InputGuardrailTripwireTriggered:
            return
        finally:
            if result is not None:
                # Leaving the events does not stop the run; only this does.
                result.cancel()
                used = result.context_wrapper.usage
                TOKENS.labels("input").inc(used.input_tokens)
                TOKENS.labels("output").inc(used.output_tokens)


def _whole(text: str) -> tuple[str, str]:
    """Give text that can be kept and sent, and half of a character whose end is yet to come."""
    cut = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
    return well_formed(text[:cut].replace("\0", "�")), text[cut:]


def _agent(evidence: Evidence, calling: Calling) -> Agent[Evidence]:
    agent = AGENT if calling.tools else PLAIN_AGENT
    if evidence.selected:
        agent = SELECTION_AGENT if calling.tools else SELECTION_AGENT.clone(tools=[])
    if not evidence.instructions:
        return agent
    return agent.clone(instructions=f"{agent.instructions}\n\n{evidence.instructions}")


def _opening(evidence: Evidence, calling: Calling) -> list[Any]:
    """Give the question, and the first search or the selection as a finished tool call."""
    about = _about_reader(evidence)
    if not calling.tools:
        prompt = passages_to_prompt(evidence.hits, evidence.question)
        return [*about, {"role": "user", "content": prompt}]
    tool = read_selection if evidence.selected else search_textbook
    call = f"call_{uuid4().hex}"
    arguments = {} if evidence.selected else {"query": evidence.question}
    return [
        *about,
        {"role": "user", "content": evidence.question},
        {
            "type": "function_call",
            "call_id": call,
            "name": tool.name,
            "arguments": json.dumps(arguments),
        },
        {
            "type": "function_call_output",
            "call_id": call,
            "output": passages_to_json(evidence.hits),
        },
    ]


def _about_reader(evidence: Evidence) -> list[Any]:
    """Return what the client says about the reader; nothing if it plainly gives orders."""
    if not evidence.reader or is_injection(evidence.reader):
        return []
    return [{"role": "user", "content": reader_to_prompt(evidence.reader, READER_CONTEXT)}]


def _at_once(passages: Sequence[Chunk], room: int) -> Sequence[Chunk]:
    """Give as many passages from the first on as there is room for, and one in any case."""
    read = accumulate(chunk.token_count for chunk in passages)
    return passages[: max(1, sum(tokens <= room for tokens in read))]


@asynccontextmanager
async def _model_errors() -> AsyncIterator[None]:
    try:
        with span("model"):
            yield
    except MaxTurnsExceeded as error:
        raise ModelMisbehaved("The model searched again and again without answering.") from error
    except AgentsException as error:
        raise ModelMisbehaved(f"The model's output cannot be used: {error}") from error
