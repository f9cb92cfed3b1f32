"""The Agents SDK agent: one question with its passages in, text out."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from uuid import uuid4

from agents import (
    Agent,
    GuardrailFunctionOutput,
    Model,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    Runner,
    Session,
    function_tool,
    input_guardrail,
    set_tracing_disabled,
)
from agents.exceptions import (
    AgentsException,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
)
from agents.items import TResponseInputItem
from openai.types.responses import ResponseTextDeltaEvent

from citewell.answer.prompts import (
    INSTRUCTIONS,
    PLAIN_INSTRUCTIONS,
    READER_CONTEXT,
    SELECTION_INSTRUCTIONS,
    numbered_to_json,
    passages_to_json,
    passages_to_prompt,
    reader_to_prompt,
)
from citewell.domain import Chunk, Hit
from citewell.errors import ModelMisbehaved, UnknownPage
from citewell.options import CONTEXT_TOKENS
from citewell.ports import Index
from citewell.questions.toc import find_section, open_section, outline_for_model
from citewell.telemetry import TOKENS, span
from citewell.text.plain_text import replace_lone_surrogates

MAX_QUESTION_CHARS = 4_000
"""Characters of a question; the contracts allow half of it, and a rewritten one may grow."""
NO_WORDS_REPLY = (
    "I found no words in this that I could look up. Please ask a question about the book."
)
TOO_LONG_REPLY = "This is too long for one question. Please ask about one thing at a time."
NOT_A_QUESTION_REPLY = (
    "I only answer questions about the book, from the book. This asks me to do something else, so "
    "I did not pass it on. Please ask about the book alone."
)

_WHOSE = (
    r"(?:all|any|your|my|these|those|every|previous|prior|above|earlier|preceding|system|initial|"
    r"original)"
)
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directions|directives|constraints)"
_SHOW = (
    r"(?:reveal|show|print|repeat|output|leak|display|dump|recite|expose|send|tell\s+me|give\s+me)"
)
_INJECTIONS = tuple(
    re.compile(one, re.I)
    for one in (
        rf"\b(?:ignore|disregard|forget|override|bypass|drop)\b(?:\s+(?:of|the|other|and))*\s+{_WHOSE}"
        rf"(?:\s+(?:of|the|other|and|{_WHOSE}))*\s+{_RULES}\b",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|all)\s+(?:above|before|you)\b",
        rf"\b{_SHOW}\b[^.?!\n]{{0,60}}\b(?:your|system|hidden|initial|developer)\s+(?:\w+\s+)?{_RULES}\b",
        rf"\b{_SHOW}\b[^.?!\n]{{0,40}}\byour\s+(?:\w+\s+)?(?:keys?|secrets?|passwords?|credentials)\b",
        r"\byou\s+are\s+now\s+(?:a|an|the|in|no\s+longer|free|unrestricted|dan)\b",
        r"\b(?:pretend|imagine)\s+(?:to\s+be|that\s+you|you\s+are|you're)\b",
        r"(?:^|[.!?\n]\s*)(?:please\s+|now\s+)*(?:act|behave|respond)\s+as\s+(?:if\s+you|an?|the|my)\b",
        r"\b(?:jailbreak|developer\s+mode|dan\s+mode|do\s+anything\s+now)\b(?!\s*\?)",
        r"<\|[a-z_]+\|>|\[/?INST\]|</?(?:system|assistant|passages)[^>]*>",
        r"(?:^|\n)\s*(?:system|assistant|developer)\s*:",
    )
)


def check_question(text: str) -> str:
    """Return why a question is not passed on to a model; nothing if it is."""
    if not any(sign.isalnum() for sign in text):
        return NO_WORDS_REPLY
    if len(text) > MAX_QUESTION_CHARS:
        return TOO_LONG_REPLY
    if is_injection(text):
        return NOT_A_QUESTION_REPLY
    return ""


def is_injection(text: str) -> bool:
    """Return whether a question gives orders to the one who answers; only plain cases are seen."""
    return any(pattern.search(text) for pattern in _INJECTIONS)


@input_guardrail(run_in_parallel=False)
async def question_guardrail(
    context: RunContextWrapper["AgentContext"],
    agent: Agent[Any],
    given: str | list[TResponseInputItem],
) -> GuardrailFunctionOutput:
    """Stop before the model is called if the question is none.

    What is off the book's topic has not come here: the passages found for it did not pass the gate.
    """
    del agent, given  # the input has the conversation and the passages too, which are only data
    evidence = context.context
    evidence.refusal = check_question(evidence.question)
    return GuardrailFunctionOutput(evidence.refusal or None, bool(evidence.refusal))


# With an OpenAI key in the environment the SDK would post every prompt to OpenAI.
set_tracing_disabled(True)

Search = Callable[[str], Awaitable[Sequence[Hit]]]
ScoreChunks = Callable[[Sequence[str]], Awaitable[Sequence[Hit]]]
"""Returns the passages of some ids, with their relevance to the question."""


@dataclass(slots=True)
class AgentContext:
    """What the agent has been shown; a search of its own adds to it."""

    hits: list[Hit]
    search: Search
    score_chunks: ScoreChunks
    index: Index
    """The book that the tools beside the search read in."""
    question: str = ""
    """What is asked, standing alone."""
    instructions: str = ""
    """What the operator tells the agent besides Citewell's own instructions, which come first."""
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
        self.add(await self.score_chunks([chunk.id for chunk in chunks if chunk.id not in known]))
        numbers = {hit.chunk.id: number for number, hit in enumerate(self.hits, start=1)}
        return [(numbers[chunk.id], self.hits[numbers[chunk.id] - 1]) for chunk in chunks]


@function_tool
async def search_textbook(context: RunContextWrapper[AgentContext], query: str) -> str:  # noqa: D417 - the model sees the rest
    """Search the book for passages that answer a question.

    Args:
        query: The question, complete in itself.
    """
    first, new = context.context.add(await context.context.search(query))
    return passages_to_json(new, first)


@function_tool
async def table_of_contents(context: RunContextWrapper[AgentContext], chapter: str = "") -> str:  # noqa: D417 - the model sees the rest
    """Show how the book is built, to choose what to read: its chapters, or the sections of one.

    Args:
        chapter: Title of a chapter, to see its sections; leave it out to see all chapters.
    """
    contents = context.context.index.contents
    try:
        top = find_section(contents, chapter).heading.children if chapter else contents.headings
    except UnknownPage as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)
    return json.dumps({"contents": outline_for_model(top)}, ensure_ascii=False)


@function_tool
async def read_section(  # noqa: D417 - the model sees the rest
    context: RunContextWrapper[AgentContext], section: str, start: int = 1
) -> str:
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
    numbered = await context.context.open(_fit_to_budget(opened.passages, context.context.room))
    return numbered_to_json(numbered, start=opened.start, total=opened.total)


AGENT: Agent[AgentContext] = Agent(
    name="Citewell",
    instructions=INSTRUCTIONS,
    tools=[search_textbook, table_of_contents, read_section],
    input_guardrails=[question_guardrail],
)
PLAIN_AGENT: Agent[AgentContext] = Agent(
    name="Citewell", instructions=PLAIN_INSTRUCTIONS, input_guardrails=[question_guardrail]
)


@function_tool
async def read_selection(context: RunContextWrapper[AgentContext]) -> str:
    """Read the text that the reader selected, again."""
    return passages_to_json(context.context.hits)


SELECTION_AGENT: Agent[AgentContext] = Agent(
    name="Citewell",
    instructions=SELECTION_INSTRUCTIONS,
    # No tool that reaches the book: what is not offered cannot be called.
    tools=[read_selection],
    input_guardrails=[question_guardrail],
)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a model is called."""

    tools: bool = True
    """Whether it is offered tools; without, it gets the passages and the question in one prompt."""
    max_turns: int = 4
    settings: ModelSettings | None = None
    """What it is told besides; `None` for nothing, which spares the SDK a look at its types."""


async def run_agent(
    evidence: AgentContext,
    *,
    model: Model,
    call_options: CallOptions = CallOptions(),  # noqa: B008 - frozen
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
                _build_agent(evidence, call_options),
                _build_input(evidence, call_options),
                context=evidence,
                max_turns=call_options.max_turns,
                run_config=RunConfig(
                    model=model, model_settings=call_options.settings, tracing_disabled=True
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
                    text, half = _split_lone_surrogate(half + event.data.delta)
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


def _split_lone_surrogate(text: str) -> tuple[str, str]:
    """Return text that can be kept and sent, and half of a character whose end is yet to come."""
    cut = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
    return replace_lone_surrogates(text[:cut].replace("\0", "�")), text[cut:]


def _build_agent(evidence: AgentContext, call_options: CallOptions) -> Agent[AgentContext]:
    agent = AGENT if call_options.tools else PLAIN_AGENT
    if evidence.selected:
        agent = SELECTION_AGENT if call_options.tools else SELECTION_AGENT.clone(tools=[])
    if not evidence.instructions:
        return agent
    return agent.clone(instructions=f"{agent.instructions}\n\n{evidence.instructions}")


def _build_input(evidence: AgentContext, call_options: CallOptions) -> list[Any]:
    """Return the question, and the first search or the selection as a finished tool call."""
    about = _reader_context_items(evidence)
    if not call_options.tools:
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


def _reader_context_items(evidence: AgentContext) -> list[Any]:
    """Return what the client says about the reader; nothing if it plainly gives orders."""
    if not evidence.reader or is_injection(evidence.reader):
        return []
    return [{"role": "user", "content": reader_to_prompt(evidence.reader, READER_CONTEXT)}]


def _fit_to_budget(passages: Sequence[Chunk], room: int) -> Sequence[Chunk]:
    """Return as many passages from the first on as there is room for, and one in any case."""
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
