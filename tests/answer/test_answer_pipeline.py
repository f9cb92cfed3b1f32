import asyncio
from pathlib import Path
from statistics import fmean

import pytest
from agents.exceptions import ModelBehaviorError
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.answer.models import ModelFactory, single_model_chain
from citewell.answer.pipeline import Pipeline
from citewell.answer.prompts import NOT_IN_BOOK
from citewell.answer.replies import FEW_PASSAGES_NOTES
from citewell.domain import Answer, Filters, Question
from citewell.errors import CitewellError, ModelMisbehaved, UnknownBook
from citewell.events import Done, Event, Retrieved, Sentence, Started, Withheld
from citewell.options import AnswerOptions
from citewell.verify.confidence import score_confidence
from citewell.verify.judge import LexicalJudge
from citewell.wiring import Services
from tests.servers import build_services

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
RINGS = "Its thin rings save nine tenths of the glass of a plain lens."
HORN = "In fog the keeper sounds a horn."
WIND = "The keeper winds the clockwork every four hours because a falling weight turns the lens."
INVENTED = "Fresnel lenses were invented on the Moon."
QUESTION = Question(text="What is a Fresnel lens?")


def says(text: str) -> ModelFactory:
    return lambda statistics: ScriptedModel([[assistant_message(text)]])


async def events_of(services: Services, question: Question = QUESTION) -> list[Event]:
    return [event async for event in services.answerer.answer(question)]


async def answer_to(services: Services, question: Question = QUESTION) -> Answer:
    last = (await events_of(services, question))[-1]
    assert isinstance(last, Done)
    return last.answer


async def answer_with(data: Path, text: str, question: Question = QUESTION) -> Answer:
    async with build_services(data, model=says(text)) as services:
        return await answer_to(services, question)


async def test_events_come_in_order(tiny_data: Path) -> None:
    async with build_services(tiny_data, model=says(f"{LENS} [1] {INVENTED} [1]")) as services:
        events = await events_of(services)

    assert [type(event) for event in events] == [Started, Retrieved, Sentence, Withheld, Done]


async def test_the_sentences_are_the_answer(tiny_data: Path) -> None:
    async with build_services(tiny_data, model=says(f"{LENS} [1] {RINGS} [1]")) as services:
        *events, done = await events_of(services)

    assert isinstance(done, Done)
    assert done.answer.text == f"{LENS} [1] {RINGS} [1]"
    assert done.answer.text == "".join(e.text for e in events if isinstance(e, Sentence))


async def test_the_embedded_model_answers_from_the_book(tiny: Services) -> None:
    async with tiny:
        answer = await answer_to(tiny)

    assert answer.status == "answered"
    assert answer.text == f"{LENS} [1] {RINGS} [1]"
    assert answer.model == "embedded"


PIECES = (
    LENS,
    f"{RINGS} [1]",
    HORN,
    f"{WIND} [9]",
    "The keeper [1, 2] winds the clockwork.",
    INVENTED,
    f"{INVENTED} [1]",
    "No.",
    "Does it turn?",
    f"- {HORN}\n- {INVENTED}",
    "```bash\n# not a heading\nwind --hours 4\n```\n\n[1]",
    "```bash\nlaunch --rockets\n```",
    "| Order | Focal length |\n| --- | --- |\n| sixth | 150 mm |",
    "| Order | Focal length |\n| --- | --- |\n| sixth | 920 mm |",
    "## Notes",
    NOT_IN_BOOK,
)


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6, unique=True),
    st.sampled_from(["What is a Fresnel lens?", "What does the keeper do in fog?", "winds lens"]),
)
async def test_whatever_the_model_says_only_what_is_proven_is_shown(
    tiny_data: Path, pieces: list[str], question: str
) -> None:
    async with build_services(tiny_data, model=says("\n\n".join(pieces))) as services:
        *events, done = await events_of(services, Question(text=question))

    assert isinstance(done, Done)
    answer = done.answer
    shown = "".join(event.text for event in events if isinstance(event, Sentence))
    assert shown == (answer.text if answer.status == "answered" else "")
    assert all(answer.text[claim.start : claim.end] == claim.text for claim in answer.claims)
    assert all(claim.citations or claim.verdict == "not_a_claim" for claim in answer.claims)
    chunks = {hit.chunk.id: hit.chunk for hit in answer.hits}
    for citation in answer.citations:
        assert citation.quote == chunks[citation.chunk_id].text[citation.start : citation.end]
    met = list(dict.fromkeys(citation.chunk_id for citation in answer.citations))
    assert all(met[one.number - 1] == one.chunk_id for one in answer.citations)
    for wrong in (INVENTED, "No.", "launch", "sixth | 920", "[9]", NOT_IN_BOOK):
        assert wrong not in answer.text


async def test_an_invented_sentence_is_withheld_and_listed(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} [1] {INVENTED} [1]")

    assert answer.text == f"{LENS} [1]"
    assert [claim.text for claim in answer.withheld] == [INVENTED]


@pytest.mark.parametrize("text", [INVENTED, "Yes.", "Not in the book.", "Does it turn?"])
async def test_an_answer_without_a_proven_claim_is_a_refusal(tiny_data: Path, text: str) -> None:
    answer = await answer_with(tiny_data, text)

    assert answer.status == "no_direct_answer"
    found_nothing = answer.text.startswith("I couldn't find a direct answer in the book.")
    assert found_nothing is not bool(answer.withheld)
    assert "The lens › What a Fresnel lens is" in answer.text
    assert answer.confidence == score_confidence(
        (), top_k=5, answerability=answer.confidence.answerability
    )
    assert (answer.claims, answer.sources) == ((), ())
    assert answer.hits


async def test_a_model_that_says_nothing_has_failed(tiny_data: Path) -> None:
    with pytest.raises(ModelMisbehaved, match="returned no text"):
        await answer_with(tiny_data, " ")


async def test_the_model_may_decline_and_its_words_are_never_shown(tiny_data: Path) -> None:
    async with build_services(tiny_data, model=says(NOT_IN_BOOK)) as services:
        *events, done = await events_of(services)

    assert [type(event) for event in events] == [Started, Retrieved]
    assert isinstance(done, Done)
    assert done.answer.status == "no_direct_answer"
    assert NOT_IN_BOOK not in repr(done.answer)


async def test_declining_words_before_an_answer_are_dropped(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{NOT_IN_BOOK}\n\n{LENS} [1]")

    assert answer.text == f"{LENS} [1]"
    assert answer.withheld == ()


async def test_a_question_the_book_does_not_cover_never_reaches_the_model(tiny_data: Path) -> None:
    model = ScriptedModel([[assistant_message(LENS)]])
    async with build_services(tiny_data, model=lambda _: model) as services:
        answer = await answer_to(services, Question(text="Who painted the Mona Lisa?"))

    assert answer.status == "not_in_book"
    assert model.calls == ()


async def test_marks_are_corrected(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} [9] {RINGS}")

    assert answer.text == f"{LENS} [1] {RINGS} [1]"


async def test_a_claim_that_is_true_only_in_part_is_shown_if_the_operator_says_so(
    tiny_data: Path,
) -> None:
    services = build_services(tiny_data)
    text = "In thick fog the keeper sounds a horn. [1]"
    question = Question(text="What does the keeper do in fog?")
    answers = []
    for show in (False, True):
        options = AnswerOptions(show_partly=show, unsupported="withhold")
        pipeline = Pipeline(
            services.library,
            services.searcher,
            LexicalJudge(),
            services.threads,
            single_model_chain("scripted", says(text)),
            options,
        )
        async with services:
            (*_, done) = [event async for event in pipeline.answer(question)]
        assert isinstance(done, Done)
        answers.append(done.answer.status)

    assert answers == ["no_direct_answer", "answered"]


async def test_low_confidence_begins_with_the_disclaimer(tiny_data: Path) -> None:
    alone = Filters(chapter=("The keeper",))
    question = Question(text="What does the keeper do in fog?", filters=alone)
    async with build_services(tiny_data, model=says(f"{HORN} [1]")) as services:
        events = await events_of(services, question)

    done = events[-1]
    assert isinstance(done, Done)
    assert done.answer.confidence.level == "low"
    assert done.answer.text.startswith(f"{FEW_PASSAGES_NOTES[1]} {HORN}")
    assert isinstance(events[2], Sentence)
    assert events[2].text == FEW_PASSAGES_NOTES[1]


async def test_a_disclaimer_is_not_sent_before_there_is_something_to_disclaim(
    tiny_data: Path,
) -> None:
    question = Question(text="keeper painted", threshold=0.5)
    async with build_services(tiny_data, model=says(INVENTED)) as services:
        events = await events_of(services, question)

    assert [type(event) for event in events] == [Started, Retrieved, Withheld, Done]


async def test_passages_are_numbered_as_the_marks_name_them(tiny_data: Path) -> None:
    async with build_services(tiny_data, model=says(f"{LENS} [1]")) as services:
        index = services.library.open("tiny")
        found = await services.searcher.search(index, "lens rings", filters=Filters(), top_k=4)
        worst, least, *_ = sorted(hit.similarity for hit in found.hits)
        question = Question(text="lens rings", top_k=4, threshold=least)
        _, retrieved, *_, done = await events_of(services, question)

    assert worst < least
    assert isinstance(retrieved, Retrieved)
    assert isinstance(done, Done)
    assert retrieved.hits == done.answer.hits
    assert len(retrieved.hits) == 3


async def test_a_follow_up_uses_the_history_of_its_thread(tiny: Services) -> None:
    async with tiny:
        first = await answer_to(tiny, Question(text="What is a Fresnel lens?"))
        second = await answer_to(
            tiny, Question(text="What is it made of?", thread_id=first.thread_id)
        )

    assert second.thread_id == first.thread_id
    assert second.question == "What is it made of?"
    assert second.standalone_question == "What is a Fresnel lens made of?"


async def test_a_follow_up_is_about_what_was_answered(tiny: Services) -> None:
    async with tiny:
        thread = (await answer_to(tiny, Question(text="What is a Fresnel lens?"))).thread_id
        await answer_to(tiny, Question(text="Who painted the Mona Lisa?", thread_id=thread))
        last = await answer_to(tiny, Question(text="What is it made of?", thread_id=thread))

    assert last.standalone_question == "What is a Fresnel lens made of?"


async def test_a_question_that_finds_nothing_is_tried_beside_the_topic(tiny: Services) -> None:
    async with tiny:
        thread = (await answer_to(tiny, Question(text="What does the keeper do in fog?"))).thread_id
        second = await answer_to(tiny, Question(text="Which horn type?", thread_id=thread))

    assert second.standalone_question == "Which horn type (the keeper)?"


async def test_a_question_that_finds_nothing_either_way_stays_as_it_was_asked(
    tiny: Services,
) -> None:
    async with tiny:
        thread = (await answer_to(tiny, Question(text="Who painted the Mona Lisa?"))).thread_id
        second = await answer_to(tiny, Question(text="Who wrote Hamlet?", thread_id=thread))

    assert second.standalone_question == "Who wrote Hamlet?"


async def test_the_models_own_search_adds_passages_that_it_can_cite(tiny_data: Path) -> None:
    def model(_: object) -> ScriptedModel:
        search = function_call("search_textbook", {"query": "keeper fog horn"}, call_id="c1")
        return ScriptedModel([[search], [assistant_message(f"{HORN} [2]")]])

    async with build_services(tiny_data, model=model) as services:
        events = await events_of(services, Question(text="What is a Fresnel lens?", top_k=1))
    done = events[-1]
    assert isinstance(done, Done)
    answer = done.answer
    told = [event.hits for event in events if isinstance(event, Retrieved)]
    assert told[-1] == answer.hits

    assert [hit.chunk.chapter for hit in answer.hits] == ["The lens", "The keeper"]
    assert [citation.chunk_id for citation in answer.citations] == [answer.hits[1].chunk.id]
    assert answer.text == f"{HORN} [1]"
    assert [hit.chunk.chapter for hit in answer.sources] == ["The keeper"]
    measured = answer.confidence
    assert measured.num_chunks == len(answer.hits) == 2
    assert measured.average_similarity == fmean(hit.similarity for hit in answer.hits)


async def test_an_unknown_book_is_an_error_before_anything_starts(tiny: Services) -> None:
    events = tiny.answerer.answer(Question(text="x", book="nowhere"))

    with pytest.raises(UnknownBook):
        await anext(events)


async def test_an_error_after_the_start_is_a_citewell_error(tiny_data: Path) -> None:
    def model(_: object) -> ScriptedModel:
        return ScriptedModel([ModelBehaviorError("broken")])

    async with build_services(tiny_data, model=model) as services:
        events = services.answerer.answer(QUESTION)
        started, retrieved = await anext(events), await anext(events)
        assert isinstance(started, Started)
        with pytest.raises(CitewellError) as raised:
            await anext(events)
        stored = await services.threads.load(started.thread_id)

    assert isinstance(retrieved, Retrieved)
    assert isinstance(raised.value, ModelMisbehaved)
    assert stored is None


async def test_two_questions_to_one_thread_are_answered_one_after_the_other(
    tiny_data: Path,
) -> None:
    second_has_started = asyncio.Event()

    def model(_: object) -> ScriptedModel:
        async def answer(call: ModelCall) -> list[object]:
            await second_has_started.wait()
            return [assistant_message(f"{LENS} [1]")]

        return ScriptedModel([ModelStep.respond(answer)])  # type: ignore[arg-type]

    seen: list[tuple[str, str]] = []
    async with build_services(tiny_data, model=model) as services:

        async def ask(text: str) -> None:
            async for event in services.answerer.answer(
                Question(text=text, thread_id="one-thread")
            ):
                seen.append((text, type(event).__name__))
                if text == "second lens" and isinstance(event, Started):
                    second_has_started.set()

        await asyncio.gather(ask("first lens"), ask("second lens"))
        thread = await services.threads.load("one-thread")

    # Which of two that come at once is the first is not said anywhere.
    first, second = (text for text, event in seen if event == "Done")
    assert {first, second} == {"first lens", "second lens"}
    assert seen.index((first, "Done")) < seen.index((second, "Retrieved"))
    assert thread is not None
    assert [message.role for message in thread.messages] == ["user", "assistant"] * 2
    assert [m.content for m in thread.messages[::2]] == [first, second]


async def test_leaving_early_stops_the_work_and_stores_nothing(tiny_data: Path) -> None:
    async with build_services(tiny_data, model=says(f"{LENS} [1] {RINGS} [1]")) as services:
        events = services.answerer.answer(Question(text=QUESTION.text, thread_id="left"))
        while not isinstance(await anext(events), Sentence):
            pass
        await events.aclose()

        stored = await services.threads.load("left")
        again = await answer_to(services, Question(text=QUESTION.text, thread_id="left"))

    assert stored is None
    assert again.status == "answered"


async def test_an_answer_is_stored_as_it_was_shown(tiny: Services) -> None:
    async with tiny:
        answer = await answer_to(tiny)
        thread = await tiny.threads.load(answer.thread_id)

    assert thread is not None
    asked, said = thread.messages
    assert (asked.role, asked.content) == ("user", QUESTION.text)
    assert (said.id, said.role, said.content) == (answer.id, "assistant", answer.text)
    assert said.record["claims"][0]["citations"][0]["quote"] == LENS
    assert said.record["instructions"]
    assert said.confidence == answer.confidence.average_similarity


async def test_a_refusal_is_stored_too(tiny: Services) -> None:
    async with tiny:
        answer = await answer_to(tiny, Question(text="Who painted the Mona Lisa?"))
        thread = await tiny.threads.load(answer.thread_id)

    assert thread is not None
    assert thread.messages[1].content == answer.text
    assert thread.messages[1].record["status"] == "not_in_book"


async def test_the_time_of_each_stage_is_told(tiny: Services) -> None:
    async with tiny:
        timings = (await answer_to(tiny)).timings

    assert min(timings.retrieve_ms, timings.answer_ms, timings.verify_ms) > 0
    assert timings.total_ms >= timings.retrieve_ms
