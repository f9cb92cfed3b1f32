"""The Agents SDK agent: a question with its passages in, text out."""

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
from agents.exceptions import AgentsException, InputGuardrailTripwireTriggered, MaxTurnsExceeded
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
"""Maximum length of a question; twice what contracts allow, since rewriting can lengthen it."""
NO_WORDS_REPLY = (
    "I found no words in this that I could look up. Please ask a question about the book."
)
TOO_LONG_REPLY = "This is too long for one question. Please ask about one thing at a time."
NOT_A_QUESTION_REPLY = (
    "I only answer questions about the book, from the book. This asks me to do something else, so "
    "I did not pass it on. Please ask about the book alone."
)

_QUALIFIER = (
    r"(?:all|any|your|my|these|those|every|previous|prior|above|earlier|preceding|system|initial|"
    r"original)"
)
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directions|directives|constraints)"
_DISCLOSE = (
    r"(?:reveal|show|print|repeat|output|leak|display|dump|recite|expose|send|tell\s+me|give\s+me)"
)
_INJECTIONS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b(?:ignore|disregard|forget|override|bypass|drop)\b(?:\s+(?:of|the|other|and))*\s+{_QUALIFIER}"
        rf"(?:\s+(?:of|the|other|and|{_QUALIFIER}))*\s+{_RULES}\b",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|all)\s+(?:above|before|you)\b",
        rf"\b{_DISCLOSE}\b[^.?!\n]{{0,60}}\b(?:your|system|hidden|initial|developer)\s+(?:\w+\s+)?{_RULES}\b",
        rf"\b{_DISCLOSE}\b[^.?!\n]{{0,40}}\byour\s+(?:\w+\s+)?(?:keys?|secrets?|passwords?|credentials)\b",
        r"\byou\s+are\s+now\s+(?:a|an|the|in|no\s+longer|free|unrestricted|dan)\b",
        r"\b(?:pretend|imagine)\s+(?:to\s+be|that\s+you|you\s+are|you're)\b",
        r"(?:^|[.!?\n]\s*)(?:please\s+|now\s+)*(?:act|behave|respond)\s+as\s+(?:if\s+you|an?|the|my)\b",
        r"\b(?:jailbreak|developer\s+mode|dan\s+mode|do\s+anything\s+now)\b(?!\s*\?)",
        r"<\|[a-z_]+\|>|\[/?INST\]|</?(?:system|assistant|passages)[^>]*>",
        r"(?:^|\n)\s*(?:system|assistant|developer)\s*:",
    )
)


def check_question(text: str) -> str:
    """Return the refusal of a question that must not reach a model, or an empty string."""
    if not any(char.isalnum() for char in text):
        return NO_WORDS_REPLY
    if len(text) > MAX_QUESTION_CHARS:
        return TOO_LONG_REPLY
    if is_injection(text):
        return NOT_A_QUESTION_REPLY
    return ""


def is_injection(text: str) -> bool:
    """Return whether a question is an obvious prompt injection."""
    return any(pattern.search(text) for pattern in _INJECTIONS)


@input_guardrail(run_in_parallel=False)
async def question_guardrail(
    wrapper: RunContextWrapper["AgentContext"],
    agent: Agent[Any],
    model_input: str | list[TResponseInputItem],
) -> GuardrailFunctionOutput:
    """Stop before the model is called if the question must not reach it.

    Off-topic questions never get here: they fail the answerability gate.
    """
    del agent, model_input  # only the question is checked, not the history or the passages
    context = wrapper.context
    context.refusal = check_question(context.question)
    return GuardrailFunctionOutput(context.refusal or None, bool(context.refusal))


# Otherwise, with an OpenAI key in the environment, the SDK sends traces to OpenAI.
set_tracing_disabled(True)

Search = Callable[[str], Awaitable[Sequence[Hit]]]
ScoreChunks = Callable[[Sequence[str]], Awaitable[Sequence[Hit]]]
"""Returns the passages with the given ids, scored for the question."""


@dataclass(slots=True)
class AgentContext:
    """What the agent works with; its own searches add hits."""

    hits: list[Hit]
    search: Search
    score_chunks: ScoreChunks
    index: Index
    question: str = ""
    """The standalone question."""
    instructions: str = ""
    """The operator's instructions, appended to Citewell's own."""
    selection_only: bool = False
    """Whether the only passage is the reader's selection."""
    token_budget: int = CONTEXT_TOKENS
    """Maximum tokens of all passages together."""
    reader_context: str = ""
    """The client's description of the reader: data for the model, never evidence."""
    refusal: str = ""
    """Why a guardrail stopped the question."""
    tokens_used: int | None = None
    """Tokens reported by the model, if it reports them."""

    def add(self, hits: Sequence[Hit]) -> tuple[int, list[Hit]]:
        """Add hits that are new; return the citation number of the first, and the new hits."""
        known_ids = {hit.chunk.id for hit in self.hits}
        new = [hit for hit in hits if hit.chunk.id not in known_ids]
        first_number = len(self.hits) + 1
        self.hits.extend(new)
        return first_number, new

    async def open(self, chunks: Sequence[Chunk]) -> list[tuple[int, Hit]]:
        """Add chunks, and return them as hits with their citation numbers."""
        known_ids = {hit.chunk.id for hit in self.hits}
        self.add(
            await self.score_chunks([chunk.id for chunk in chunks if chunk.id not in known_ids])
        )
        numbers = {hit.chunk.id: number for number, hit in enumerate(self.hits, start=1)}
        return [(numbers[chunk.id], self.hits[numbers[chunk.id] - 1]) for chunk in chunks]


@function_tool
async def search_textbook(wrapper: RunContextWrapper[AgentContext], query: str) -> str:  # noqa: D417 - the model sees the rest
    """Search the book for passages that answer a question.

    Args:
        query: The question, complete in itself.
    """
    first_number, new_hits = wrapper.context.add(await wrapper.context.search(query))
    return passages_to_json(new_hits, first_number)


@function_tool
async def table_of_contents(wrapper: RunContextWrapper[AgentContext], chapter: str = "") -> str:  # noqa: D417 - the model sees the rest
    """Show how the book is built, to choose what to read: its chapters, or the sections of one.

    Args:
        chapter: Title of a chapter, to see its sections; leave it out to see all chapters.
    """
    contents = wrapper.context.index.contents
    try:
        headings = (
            find_section(contents, chapter).heading.children if chapter else contents.headings
        )
    except UnknownPage as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)
    return json.dumps({"contents": outline_for_model(headings)}, ensure_ascii=False)


@function_tool
async def read_section(  # noqa: D417 - the model sees the rest
    wrapper: RunContextWrapper[AgentContext], section: str, start: int = 1
) -> str:
    """Open a section of the book and read its passages in order.

    Args:
        section: Its id or title; `Chapter › Section` where several have one title.
        start: The passage to begin with, from 1; a long section is read in several calls.
    """
    try:
        index = wrapper.context.index
        opened = await asyncio.to_thread(open_section, index, section, start=max(start, 1))
    except UnknownPage as error:
        return json.dumps({"error": str(error)}, ensure_ascii=False)
    chunks = _fit_to_budget(opened.passages, wrapper.context.token_budget)
    numbered = await wrapper.context.open(chunks)
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
async def read_selection(wrapper: RunContextWrapper[AgentContext]) -> str:
    """Read the text that the reader selected, again."""
    return passages_to_json(wrapper.context.hits)


SELECTION_AGENT: Agent[AgentContext] = Agent(
    name="Citewell",
    instructions=SELECTION_INSTRUCTIONS,
    # No tool that reaches the book.
    tools=[read_selection],
    input_guardrails=[question_guardrail],
)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a model is called."""

    tools: bool = True
    """Whether it gets tools, or everything in one prompt."""
    max_turns: int = 4
    settings: ModelSettings | None = None


async def run_agent(
    context: AgentContext,
    *,
    model: Model,
    call_options: CallOptions = CallOptions(),  # noqa: B008 - frozen
    session: Session | None = None,
) -> AsyncGenerator[str, None]:
    """Run the agent, and yield its text as it is streamed.

    The input contains the first search, or the selection, as a completed tool call. If a
    guardrail stops the question, no text is yielded and `context.refusal` is set.

    Raises:
        ModelError: the model failed or took too many turns.
    """
    result = None
    async with _model_errors():
        try:
            result = Runner.run_streamed(
                _build_agent(context, call_options),
                _build_input(context, call_options),
                context=context,
                max_turns=call_options.max_turns,
                run_config=RunConfig(
                    model=model, model_settings=call_options.settings, tracing_disabled=True
                ),
                session=session,
            )
            message, pending = "", ""
            async for event in result.stream_events():
                if event.type == "raw_response_event" and isinstance(
                    event.data, ResponseTextDeltaEvent
                ):
                    if message not in ("", event.data.item_id):
                        yield "\n\n"  # text before a tool call is a paragraph of its own
                    message = event.data.item_id
                    text, pending = _split_lone_surrogate(pending + event.data.delta)
                    yield text
            context.tokens_used = result.context_wrapper.usage.total_tokens or None
        except InputGuardrailTripwireTriggered:
            return
        finally:
            if result is not None:
                # Closing the event stream does not stop the run.
                result.cancel()
                usage = result.context_wrapper.usage
                TOKENS.labels("input").inc(usage.input_tokens)
                TOKENS.labels("output").inc(usage.output_tokens)


def _split_lone_surrogate(text: str) -> tuple[str, str]:
    """Return sanitized text, and a trailing high surrogate whose other half is still to come."""
    end = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
    return replace_lone_surrogates(text[:end].replace("\0", "�")), text[end:]


def _build_agent(context: AgentContext, call_options: CallOptions) -> Agent[AgentContext]:
    agent = AGENT if call_options.tools else PLAIN_AGENT
    if context.selection_only:
        agent = SELECTION_AGENT if call_options.tools else SELECTION_AGENT.clone(tools=[])
    if not context.instructions:
        return agent
    return agent.clone(instructions=f"{agent.instructions}\n\n{context.instructions}")


def _build_input(context: AgentContext, call_options: CallOptions) -> list[Any]:
    """Return the question, followed by the first search as a completed tool call."""
    reader_items = _reader_context_items(context)
    if not call_options.tools:
        prompt = passages_to_prompt(context.hits, context.question)
        return [*reader_items, {"role": "user", "content": prompt}]
    tool = read_selection if context.selection_only else search_textbook
    call_id = f"call_{uuid4().hex}"
    arguments = {} if context.selection_only else {"query": context.question}
    return [
        *reader_items,
        {"role": "user", "content": context.question},
        {
            "type": "function_call",
            "call_id": call_id,
            "name": tool.name,
            "arguments": json.dumps(arguments),
        },
        {
            "type": "function_call_output",
            "call_id": call_id,
            "output": passages_to_json(context.hits),
        },
    ]


def _reader_context_items(context: AgentContext) -> list[Any]:
    if not context.reader_context or is_injection(context.reader_context):
        return []
    prompt = reader_to_prompt(context.reader_context, READER_CONTEXT)
    return [{"role": "user", "content": prompt}]


def _fit_to_budget(chunks: Sequence[Chunk], budget: int) -> Sequence[Chunk]:
    """Return the first chunks that fit into the token budget, at least one."""
    totals = accumulate(chunk.token_count for chunk in chunks)
    return chunks[: max(1, sum(total <= budget for total in totals))]


@asynccontextmanager
async def _model_errors() -> AsyncIterator[None]:
    try:
        with span("model"):
            yield
    except MaxTurnsExceeded as error:
        raise ModelMisbehaved("The model kept calling tools without answering.") from error
    except AgentsException as error:
        raise ModelMisbehaved(f"The model's output cannot be used: {error}") from error
