from dataclasses import replace
from pathlib import Path

import pytest

from citewell.domain import Filters
from citewell.options import SearchOptions
from citewell.ports import Rankings
from citewell.questions.followup import ConversationContext
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import (
    Searcher,
    number_passages,
    reorder,
    retrieval_scores,
    similarity_floor,
    text_with_headings,
)
from citewell.text.terms import TermStatistics
from citewell.wiring import Services
from tests.servers import HashEmbedder, WordReranker
from tests.servers.services import PLAIN_CALIBRATION
from tests.verify.samples import Shelf, chunk_of, hit_of

OPTIONS = SearchOptions()


def test_the_floor_is_the_cosine_of_the_tail() -> None:
    dense = [(str(n), 0.9) for n in range(20)] + [(f"x{n}", 0.4 - 0.2 * (n % 2)) for n in range(20)]

    assert similarity_floor(Rankings(dense=dense, keyword=[]), 0.5) == pytest.approx(0.3)


def test_the_usual_floor_stands_for_the_tail_that_a_short_book_lacks() -> None:
    dense = [(str(n), 0.9) for n in range(20)] + [(f"x{n}", 0.3) for n in range(10)]

    assert similarity_floor(Rankings(dense=dense, keyword=[]), 0.5) == pytest.approx(0.4)
    assert similarity_floor(Rankings(dense=dense[:3], keyword=[]), 0.5) == pytest.approx(0.5)


def test_a_chunk_is_read_with_its_headings() -> None:
    assert text_with_headings(chunk_of("**Thin** rings.")) == "Lamps The lens Orders Thin rings."


def test_hits_are_numbered_from_one() -> None:
    passages = number_passages([hit_of("One."), hit_of("Two.")])

    assert [(p.number, p.text, p.heading) for p in passages] == [
        (1, "One.", "The lens › Orders"),
        (2, "Two.", "The lens › Orders"),
    ]


def test_a_passage_without_a_sentence_is_kept_where_the_search_put_it() -> None:
    hits = [replace(hit_of(text), rank=rank) for rank, text in enumerate(("One.", "$$"), start=1)]
    evidence = SentenceReranker(WordReranker()).rank(
        "one", number_passages(hits)[:1], TermStatistics()
    )

    same = {hit.chunk.id: 1.0 for hit in hits}
    assert [hit.chunk.text for hit in reorder(hits, same, evidence, 2)] == ["One.", "$$"]


def test_a_sentence_that_fits_a_little_more_overtakes_only_what_is_close() -> None:
    hits = [
        replace(hit_of(text, identity=text), rank=rank)
        for rank, text in enumerate(("A lens.", "A lamp and a lens."), start=1)
    ]
    evidence = SentenceReranker(WordReranker()).rank(
        "lamp lens", number_passages(hits), TermStatistics(), first_pass_quotas=()
    )
    close = {"A lens.": 2.0, "A lamp and a lens.": 1.9}
    far = {"A lens.": 20.0, "A lamp and a lens.": 1.9}

    assert reorder(hits, close, evidence, 1)[0].chunk.text == "A lamp and a lens."
    assert reorder(hits, far, evidence, 1)[0].chunk.text == "A lens."


def test_exercises_and_what_was_cited_before_stand_with_the_last_one_found() -> None:
    hits = [
        hit_of("One.", identity="a"),
        hit_of("Why?", identity="b", role="exercises"),
        hit_of("Cited before.", identity="c"),
    ]

    assert retrieval_scores(hits, {"a": 5.0, "b": 7.0}, 4.0) == {"a": 5.0, "b": 4.0, "c": 4.0}
    assert retrieval_scores(hits, {"a": 5.0, "b": 7.0, "c": 0.5}, 4.0)["c"] == 4.0


async def test_a_search_finds_the_passage_that_answers(tiny: Services) -> None:
    found = await tiny.searcher.search(
        tiny.library.open("tiny"), "What is a Fresnel lens?", filters=Filters(), top_k=3
    )

    assert found.hits[0].chunk.section == "What a Fresnel lens is"
    assert [hit.rank for hit in found.hits] == [1, 2, 3]
    assert all(0 <= hit.similarity <= 1 and 0 <= hit.cosine <= 1 for hit in found.hits)
    assert 0 <= found.answerability <= 1


async def test_a_search_is_the_same_each_time(tiny: Services) -> None:
    index = tiny.library.open("tiny")

    one, two = [
        await tiny.searcher.search(index, "focal length", filters=Filters(), top_k=5)
        for _ in range(2)
    ]

    assert one == two


async def test_filters_leave_out_the_rest_of_the_book(tiny: Services) -> None:
    found = await tiny.searcher.search(
        tiny.library.open("tiny"),
        "What is a Fresnel lens?",
        filters=Filters(chapter=("The keeper",)),
        top_k=5,
    )

    assert {hit.chunk.chapter for hit in found.hits} == {"The keeper"}


async def test_a_filter_that_fits_nothing_finds_nothing(tiny: Services) -> None:
    found = await tiny.searcher.search(
        tiny.library.open("tiny"), "lens", filters=Filters(section=("Nowhere",)), top_k=5
    )

    assert found.hits == ()
    assert found.answerability == 0.0


async def test_of_chunks_with_the_same_text_only_the_best_is_found() -> None:
    shelf = Shelf(
        chunk_of("A lens.", identity="a"),
        chunk_of("A lens.", identity="b"),
        chunk_of("A horn.", identity="c"),
    )
    evidence = SentenceReranker(WordReranker())
    searcher = Searcher(HashEmbedder(), evidence, PLAIN_CALIBRATION, OPTIONS)

    found = await searcher.search(shelf, "lens", filters=Filters(), top_k=2)

    assert [hit.chunk.id for hit in found.hits] == ["a", "c"]


async def test_of_chunks_that_differ_by_a_word_only_the_best_is_found() -> None:
    words = (
        "the lens of the old tower turns once in ten seconds and is cleaned every single morning"
    )
    shelf = Shelf(
        chunk_of(f"{words} by its keeper.", identity="a"),
        chunk_of(f"{words} by the keeper today.", identity="b"),
        chunk_of("A horn sounds in fog.", identity="c"),
    )
    evidence = SentenceReranker(WordReranker())
    searcher = Searcher(HashEmbedder(), evidence, PLAIN_CALIBRATION, OPTIONS)

    found = await searcher.search(shelf, "lens", filters=Filters(), top_k=2)

    assert [hit.chunk.id for hit in found.hits] == ["a", "c"]


async def test_no_more_than_top_k_are_found(tiny_data: Path, tiny: Services) -> None:
    found = await tiny.searcher.search(
        tiny.library.open("tiny"), "lens", filters=Filters(), top_k=1
    )

    assert len(found.hits) == 1


async def test_exercises_come_last_because_they_only_ask() -> None:
    shelf = Shelf(
        chunk_of("A lens bends what?", identity="asks", role="exercises"),
        chunk_of("A lens bends light.", identity="a"),
        chunk_of("A horn.", identity="b"),
        *(chunk_of(f"Oil {n}.", identity=f"c{n}") for n in range(6)),
    )
    searcher = Searcher(
        HashEmbedder(), SentenceReranker(WordReranker()), PLAIN_CALIBRATION, OPTIONS
    )

    found = await searcher.search(shelf, "A lens bends what?", filters=Filters(), top_k=2)

    assert [hit.chunk.id for hit in found.hits] == ["a", "b"]


async def test_passages_named_beside_a_question_are_judged_like_those_found(tiny: Services) -> None:
    index = tiny.library.open("tiny")
    search = tiny.searcher.search
    keeper, lens = Filters(chapter=("The keeper",)), Filters(chapter=("The lens",))
    (horn,) = (await search(index, "horn fog", filters=keeper, top_k=1)).hits

    with_it = await search(
        index,
        "lens",
        filters=Filters(),
        top_k=9,
        conversation_context=ConversationContext((horn.chunk.id, "gone")),
    )
    without = await search(index, "lens", filters=Filters(), top_k=9)
    outside = await search(
        index,
        "horn",
        filters=lens,
        top_k=9,
        conversation_context=ConversationContext((horn.chunk.id,)),
    )

    assert with_it.answerability == without.answerability
    assert horn.chunk.id not in {hit.chunk.id for hit in outside.hits}


async def test_a_passage_ranked_too_low_is_read_if_it_is_named_beside_the_question() -> None:
    rows = [chunk_of(f"Row {n}.", identity=f"{n}") for n in range(30)]
    shelf = Shelf(*rows, chunk_of("The horn is loud.", identity="horn"))
    reader = SentenceReranker(WordReranker())
    searcher = Searcher(HashEmbedder(), reader, PLAIN_CALIBRATION, SearchOptions())

    alone = await searcher.search(shelf, "loud horn", filters=Filters(), top_k=3)
    also = await searcher.search(
        shelf,
        "loud horn",
        filters=Filters(),
        top_k=3,
        conversation_context=ConversationContext(("horn",)),
    )

    assert "horn" not in {hit.chunk.id for hit in alone.hits}
    assert "horn" in {hit.chunk.id for hit in also.hits}
    assert also.answerability > alone.answerability
