from collections.abc import Sequence

import pytest
from agents import Agent, RunConfig, Runner
from openai.types.responses import ResponseFunctionToolCall, ResponseTextDeltaEvent

from citewell.answer.agent import AGENT, AgentContext
from citewell.answer.extractive import EmbeddedModel
from citewell.answer.prompts import NOT_IN_BOOK, passages_to_json
from citewell.domain import Hit
from citewell.retrieve.rerank import SentenceReranker
from citewell.text.terms import TermStatistics
from tests.servers import WordReranker
from tests.verify.samples import Shelf, hit_of

HIT = hit_of("A lens turns.\n\nFog is wet.")
CONFIG = RunConfig(
    model=EmbeddedModel(SentenceReranker(WordReranker()), TermStatistics()), tracing_disabled=True
)


class Searched:
    """Remembers what was searched for."""

    def __init__(self, *hits: Hit) -> None:
        self.queries: list[str] = []
        self.evidence = AgentContext([], self.search, self.measure, Shelf(), question="What turns?")
        self._hits = hits

    async def search(self, query: str) -> Sequence[Hit]:
        self.queries.append(query)
        return self._hits

    async def measure(self, ids: Sequence[str]) -> Sequence[Hit]:
        return [hit for hit in self._hits if hit.chunk.id in ids]


async def test_without_passages_it_searches_and_then_answers() -> None:
    searched = Searched(HIT)

    result = await Runner.run(AGENT, "What turns?", context=searched.evidence, run_config=CONFIG)

    assert searched.queries == ["What turns?"]
    assert result.final_output == "A lens turns. [1]"


async def test_streamed_it_answers_the_same_part_by_part() -> None:
    searched = Searched(hit_of("Lamps:\n\n- thin\n- tall"))

    result = Runner.run_streamed(AGENT, "lamps", context=searched.evidence, run_config=CONFIG)
    deltas = [
        event.data.delta
        async for event in result.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]

    assert searched.queries == ["lamps"]
    assert deltas == ["Lamps: [1]", "\n\n- thin [1]", "\n- tall [1]"]
    assert result.final_output == "".join(deltas)


@pytest.mark.parametrize("found", [[], [hit_of("What is a lens?")]])
async def test_with_nothing_found_it_declines(found: list[Hit]) -> None:
    searched = Searched(*found)

    result = await Runner.run(AGENT, "What turns?", context=searched.evidence, run_config=CONFIG)

    assert result.final_output == NOT_IN_BOOK


async def test_passages_already_in_the_conversation_are_used() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "What turns?"}]},
        {"type": "function_call", "call_id": "c", "name": "search_textbook", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": passages_to_json([HIT])},
    ]
    agent: Agent[None] = Agent(name="alone")

    result = await Runner.run(agent, items, run_config=CONFIG)  # type: ignore[arg-type]

    assert result.final_output == "A lens turns. [1]"


async def test_passages_found_for_an_earlier_question_are_not() -> None:
    searched = Searched(HIT)
    items = [
        {"role": "user", "content": "What turns?"},
        {"type": "function_call", "call_id": "c", "name": "search_textbook", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": passages_to_json([HIT])},
        {"role": "assistant", "content": "A lens turns. [1]"},
        {"role": "user", "content": "What is wet?"},
    ]

    result = await Runner.run(
        AGENT,
        items,  # type: ignore[arg-type]
        context=searched.evidence,
        run_config=CONFIG,
    )

    assert searched.queries == ["What is wet?"]
    assert result.final_output == "Fog is wet. [1]"


async def test_a_bare_question_is_searched_for() -> None:
    model = EmbeddedModel(SentenceReranker(WordReranker()), TermStatistics())

    (call,) = (await model.get_response(None, "What turns?")).output

    assert isinstance(call, ResponseFunctionToolCall)
    assert (call.name, call.arguments) == ("search_textbook", '{"query": "What turns?"}')
