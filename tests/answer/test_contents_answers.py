"""Answers about how a book is built, through the whole pipeline."""

from pathlib import Path

import pytest

from citewell.domain import Answer, Filters, Question
from citewell.events import Done, Event, Retrieved, Sentence, Started
from citewell.ingest.pipeline import ingest
from citewell.verify.confidence import score_confidence
from citewell.wiring import Services
from tests.servers import HashEmbedder, build_services


async def events_of(services: Services, text: str, thread_id: str | None = None) -> list[Event]:
    question = Question(text=text, book="tiny", thread_id=thread_id)
    return [event async for event in services.answerer.answer(question)]


async def answer_to(services: Services, text: str, thread_id: str | None = None) -> Answer:
    last = (await events_of(services, text, thread_id))[-1]
    assert isinstance(last, Done)
    return last.answer


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "List the chapters",
            "The book has 2 chapters, from “The lens” to “The keeper”: [1][2]\n\n- Welcome [3]\n\n"
            "lamps [1]\n\n1. The lens [1]\n2. The keeper [2]",
        ),
        (
            "How many chapters are there?",
            "The book has 2 chapters, from “The lens” to “The keeper”. [1][2]",
        ),
        (
            "What does chapter 1 cover?",
            "Chapter 1 is “The lens” with 2 sections: [1]\n\n- What a Fresnel lens is [1]\n"
            "- Orders of lenses [2]",
        ),
        (
            "What does chapter 2 cover?",
            "Chapter 2 is “The keeper” with no sections of its own. [1]",
        ),
        (
            "What does chapter 7 cover?",
            "The book has no chapter 7; it has 2 chapters, from “The lens” to “The keeper”. [1][2]",
        ),
        ("What comes after the lens?", "After “The lens” comes “The keeper”. [1][2]"),
        ("What comes before the lens?", "Before “The lens” comes “Welcome”. [1][2]"),
        ("What comes after the keeper?", "“The keeper” is the last page of the book. [1]"),
        (
            "What comes after Orders of lenses?",
            "“Orders of lenses” is the last section of “The lens”. [1][2]",
        ),
        (
            "In which chapter are the orders of lenses explained?",
            "“Orders of lenses” is a section of chapter 1, “The lens”. [1][2]",
        ),
        (
            "Which chapter is about the keeper?",
            "“The keeper” is a page of its own, chapter 2 of the book. [1]",
        ),
        ("List the parts of the book", "The book has one part, “lamps”: [1]\n\n- lamps [1]"),
    ],
)
async def test_the_contents_answer(tiny: Services, question: str, text: str) -> None:
    async with tiny:
        answer = await answer_to(tiny, question)

    assert answer.text == text
    assert (answer.status, answer.model) == ("answered", "contents")
    chunks = {hit.chunk.id: hit.chunk for hit in answer.hits}
    for claim in answer.claims:
        assert answer.text[claim.start : claim.end] == claim.text
        assert (claim.verdict, bool(claim.citations)) == ("supported", True)
        for citation in claim.citations:
            assert citation.of == "heading"
            heading = chunks[citation.chunk_id].heading
            assert citation.quote == heading[citation.start : citation.end]
            assert citation.quote in claim.text
            assert answer.hits[citation.number - 1].chunk.id == citation.chunk_id


async def test_citations_lead_to_the_headings_they_name(tiny: Services) -> None:
    async with tiny:
        answer = await answer_to(tiny, "What does chapter 1 cover?")

    assert [(citation.quote, citation.url) for citation in answer.citations] == [
        ("The lens", "https://tiny.example/lamps/lens"),
        ("What a Fresnel lens is", "https://tiny.example/lamps/lens#what-a-fresnel-lens-is"),
        ("Orders of lenses", "https://tiny.example/lamps/lens#orders"),
    ]


async def test_only_the_headings_named_are_opened_and_the_events_are_those_of_any_answer(
    tiny: Services,
) -> None:
    async with tiny:
        events = await events_of(tiny, "What comes after the lens?")

    assert [type(event) for event in events] == [Started, Retrieved, Sentence, Done]
    done = events[-1]
    assert isinstance(done, Done)
    assert [hit.chunk.chapter for hit in done.answer.hits] == ["The lens", "The keeper"]


@pytest.mark.parametrize("question", ["List the chapters", "What comes after the lens?"])
async def test_no_similarity_is_invented_for_passages_that_were_opened(
    tiny: Services, question: str
) -> None:
    async with tiny:
        answer = await answer_to(tiny, question)
        searched = await tiny.searcher.search(
            tiny.library.open("tiny"), question, filters=Filters(), top_k=10
        )

    cosines = {hit.chunk.id: hit.cosine for hit in searched.hits}
    for hit in answer.hits:
        assert hit.cosine == pytest.approx(cosines[hit.chunk.id])
        assert hit.similarity < 1
    measured = answer.confidence
    assert measured == score_confidence(answer.hits, top_k=5, answerability=0.0)
    assert (measured.level == "insufficient") is not measured.should_answer


async def test_every_line_has_a_source_however_few_passages_were_asked_for(tiny: Services) -> None:
    asked = Question(text="List the chapters", book="tiny", top_k=2)
    async with tiny:
        (done,) = [e async for e in tiny.answerer.answer(asked) if isinstance(e, Done)]

    answer = done.answer
    assert answer.text == (
        "The book has 2 chapters, from “The lens” to “The keeper”: [1][2]\n\n- Welcome [3]\n\n"
        "lamps [1]\n\n1. The lens [1]\n2. The keeper [2]"
    )
    assert {hit.chunk.id for hit in answer.sources} == {hit.chunk.id for hit in answer.hits}
    assert answer.confidence.num_chunks == 2
    assert all(claim.citations for claim in answer.claims)


async def test_a_question_that_only_looks_like_it_is_searched_for(tiny: Services) -> None:
    async with tiny:
        answer = await answer_to(tiny, "What comes after the fog?")

    assert answer.model == "embedded"
    assert all(citation.of == "text" for citation in answer.citations)


async def test_it_is_stored_in_the_thread_like_any_other(tiny: Services) -> None:
    async with tiny:
        answer = await answer_to(tiny, "How many chapters are there?")
        follow_up = await answer_to(tiny, "What does the keeper do in fog?", answer.thread_id)
        thread = await tiny.threads.load(answer.thread_id)

    assert thread is not None
    assert [message.content for message in thread.messages] == [
        "How many chapters are there?",
        answer.text,
        "What does the keeper do in fog?",
        follow_up.text,
    ]
    assert thread.messages[1].record["claims"][0]["citations"][0]["of"] == "heading"
    assert follow_up.text == "**Fog**\n\nIn fog the keeper sounds a horn. [1]"


async def test_of_several_books_the_named_one_answers(tiny_data: Path, tmp_path: Path) -> None:
    book = tmp_path / "horns.md"
    book.write_text("# Horns\n\nThey sound.\n\n## Brass\n\nIt shines.\n", "utf-8")
    data = tmp_path / "data"
    ingest(book, data / "books", HashEmbedder(), book="tiny")
    ingest(Path(__file__).parents[2] / "examples" / "physical-ai", data / "books", HashEmbedder())
    async with build_services(data) as services:
        answer = await answer_to(services, "List the chapters")

    assert answer.book == "tiny"
    assert answer.text == "The book has one chapter, “Horns”: [1]\n\n1. Horns [1]"
