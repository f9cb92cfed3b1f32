"""Questions about a selection: nothing but the selection may be in the answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call

from citewell.answer.prompts import SELECTION_INSTRUCTIONS
from citewell.domain import Answer, Question
from citewell.errors import BadRequest, ModelMisbehaved
from citewell.events import Done, Retrieved, Sentence
from citewell.wiring import Services
from tests.conftest import SAMPLE
from tests.servers import build_services

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
WIND = "The keeper winds the clockwork every four hours because a falling weight turns the lens."
FOG = "In fog the keeper sounds a horn."
OWN = "A buoy is a lens cap of the sea. It floats because it is hollow."
SET = [
    json.loads(line)
    for line in (SAMPLE.parent.parent / "evals/data/selected/physical-ai.jsonl")
    .read_text("utf-8")
    .splitlines()
]


async def ask(services: Services, text: str, selected: str, thread: str | None = None) -> Answer:
    question = Question(text=text, selected_text=selected, thread_id=thread)
    async for event in services.answerer.answer(question):
        if isinstance(event, Done):
            return event.answer
    raise AssertionError


async def test_the_sample_set_is_as_large_as_it_should_be() -> None:
    assert sum(len(one["outside"]) for one in SET) >= 50
    assert sum(len(one["inside"]) for one in SET) >= 15


async def test_what_the_book_says_and_the_selection_does_not_never_leaks(sample: Services) -> None:
    refused = 0
    async with sample:
        for one in SET:
            for question in one["outside"]:
                answer = await ask(sample, question, one["text"])
                refused += answer.status == "not_in_selection"
                for citation in answer.citations:
                    assert citation.quote == one["text"][citation.start : citation.end], question
                for claim in answer.claims:
                    assert claim.citations or claim.verdict == "not_a_claim", question
                assert {hit.chunk.text for hit in answer.hits} <= {one["text"]}

    assert refused >= 45


async def test_what_the_selection_says_is_answered_and_linked_into_the_book(
    sample: Services,
) -> None:
    right = 0
    async with sample:
        for one in SET:
            for asked in one["inside"]:
                answer = await ask(sample, asked["question"], one["text"])
                said = answer.text.lower()
                right += all(words.lower() in said for words in asked["must_contain"])
                for citation in answer.citations:
                    assert citation.quote == one["text"][citation.start : citation.end]
                    assert citation.of == "selection"
                    assert ":~:text=" in citation.url
                    assert {hit.chunk.source_file for hit in answer.hits} == {one["page"]}

    assert right >= 18


async def test_a_selection_that_only_names_the_subject_is_refused(sample: Services) -> None:
    selected = "AMCL is a particle filter used for localisation in Nav2."
    async with sample:
        refused = await ask(sample, "How many particles does AMCL keep by default?", selected)
        answered = await ask(sample, "What is AMCL?", selected)

    assert refused.status == "not_in_selection"
    assert refused.text.startswith("The selected text doesn't answer that.")
    assert (refused.sources, refused.confidence.num_chunks) == ((), 0)
    assert answered.status == "answered"


@pytest.mark.parametrize(
    "question", ["What is this about?", "Explain this", "Please summarise the passage in one line"]
)
async def test_the_selection_itself_answers_what_is_asked_about_it_as_a_whole(
    tiny: Services, question: str
) -> None:
    async with tiny:
        answer = await ask(tiny, question, f"{WIND} {FOG}")

    assert (answer.status, answer.text) == ("answered", f"{WIND} [1] {FOG} [1]")
    assert len(answer.sources) == 1
    assert answer.confidence.num_chunks == 1


@pytest.mark.parametrize("question", ["Who wrote this?", "What is it made of?", "Why is it so?"])
async def test_a_question_for_one_thing_is_not_answered_by_the_whole_selection(
    tiny: Services, question: str
) -> None:
    async with tiny:
        answer = await ask(tiny, question, FOG)

    assert answer.status == "not_in_selection"


async def test_a_selection_from_the_book_is_cited_at_its_sentence(tiny: Services) -> None:
    selected = f"Some keepers sing.\n\n{WIND}"
    async with tiny:
        answer = await ask(tiny, "Why does the keeper wind the clockwork?", selected)

    assert answer.status == "answered"
    (citation,) = answer.citations
    assert citation.quote == WIND == selected[citation.start : citation.end]
    assert (citation.of, citation.chapter) == ("selection", "The keeper")
    assert citation.url.startswith("https://tiny.example/lamps/keeper")
    assert ":~:text=" in citation.url
    assert answer.selection is not None
    assert answer.selection.found_in == (citation.found_in,)


async def test_a_text_of_the_readers_own_is_cited_without_an_address(tiny: Services) -> None:
    async with tiny:
        answer = await ask(tiny, "Why does a buoy float?", OWN)

    assert answer.status == "answered"
    for citation in answer.citations:
        assert (citation.of, citation.url, citation.found_in) == ("own_text", "", "")
    assert answer.hits[0].chunk.url == ""
    assert answer.selection is not None
    assert answer.selection.found_in == ()


async def test_a_refusal_says_what_is_missing_and_offers_the_book(tiny: Services) -> None:
    async with tiny:
        answer = await ask(tiny, "What is a Fresnel lens made of?", FOG)

    assert answer.status == "not_in_selection"
    assert answer.missing_terms == ("Fresnel", "lens")
    assert answer.text == (
        "The selected text doesn't answer that. It doesn't mention “Fresnel”, “lens”. "
        "Search the whole book?"
    )
    assert not answer.confidence.should_answer


async def test_nothing_of_the_book_or_of_the_conversation_reaches_the_model(
    tiny_data: Path,
) -> None:
    model = ScriptedModel([[assistant_message(f"{LENS} [1] {FOG} [1]")]])
    async with build_services(tiny_data) as plain:
        first = plain.answerer.answer(Question(text="What is a Fresnel lens?", thread_id="talk"))
        _ = [event async for event in first]
    async with build_services(tiny_data, model=lambda _: model) as services:
        answer = await ask(services, "What does the keeper do in fog?", FOG, thread="talk")

    assert model.first_call is not None
    assert model.first_call.system_instructions == SELECTION_INSTRUCTIONS
    assert [tool.name for tool in model.first_call.tools] == ["read_selection"]
    seen = json.dumps(model.first_call.input)
    assert FOG in seen
    for outside in ("Fresnel", "clockwork", "The keeper", "lamps"):
        assert outside not in seen
    assert answer.text == f"{FOG} [1]"
    assert [claim.text for claim in answer.withheld] == [LENS]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_textbook", {"query": "lens"}),
        ("read_section", {"section": "The lens"}),
        ("table_of_contents", {}),
    ],
)
async def test_a_model_cannot_reach_for_the_book(
    tiny_data: Path, tool: str, arguments: dict[str, Any]
) -> None:
    model = ScriptedModel(
        [[function_call(tool, arguments, call_id="call-1")], [assistant_message(f"{LENS} [2]")]]
    )
    async with build_services(tiny_data, model=lambda _: model) as services:
        with pytest.raises(ModelMisbehaved, match=tool):
            await ask(services, "What does the keeper do in fog?", FOG)


async def test_a_model_may_read_the_selection_again(tiny_data: Path) -> None:
    model = ScriptedModel(
        [[function_call("read_selection", {}, call_id="call-1")], [assistant_message(f"{FOG} [1]")]]
    )
    async with build_services(tiny_data, model=lambda _: model) as services:
        answer = await ask(services, "What does the keeper do in fog?", FOG)

    assert answer.text == f"{FOG} [1]"


async def test_a_question_about_the_contents_is_not_answered_from_them(tiny: Services) -> None:
    async with tiny:
        answer = await ask(tiny, "List the chapters.", FOG)

    assert answer.status == "not_in_selection"


async def test_a_question_is_read_as_it_stands_whatever_was_said_before(tiny: Services) -> None:
    async with tiny:
        first = tiny.answerer.answer(Question(text="What is a Fresnel lens?", thread_id="it"))
        _ = [event async for event in first]
        answer = await ask(tiny, "What is it made of?", FOG, thread="it")

    assert answer.standalone_question == "What is it made of?"
    assert answer.status == "not_in_selection"


async def test_a_selection_is_streamed_like_any_answer(tiny: Services) -> None:
    question = Question(text="What does the keeper do in fog?", selected_text=FOG)
    async with tiny:
        events = [event async for event in tiny.answerer.answer(question)]

    (retrieved,) = (event for event in events if isinstance(event, Retrieved))
    assert [hit.chunk.text for hit in retrieved.hits] == [FOG]
    assert [event.text for event in events if isinstance(event, Sentence)] == [f"{FOG} [1]"]


@pytest.mark.parametrize("text", ["    ", "long " * 13000])
async def test_a_selection_of_the_wrong_length_is_refused(tiny: Services, text: str) -> None:
    async with tiny:
        with pytest.raises(BadRequest, match="1 to 64,000 characters"):
            await ask(tiny, "What is it?", text)
