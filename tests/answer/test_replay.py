"""What a replay sees of a book that changed since."""

from pathlib import Path
from typing import Any

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call

from citewell.answer.prompts import NOT_IN_BOOK
from citewell.answer.replay import Replay
from citewell.domain import Answer, Filters, Question
from citewell.errors import UnknownAnswer, UnknownBook
from citewell.events import Done
from citewell.ingest.pipeline import ingest
from citewell.ingest.staging import remove_book
from citewell.wiring import Services
from tests.servers import HashEmbedder, build_services, write_tiny_book

LENS = Question(text="What is a Fresnel lens made of?", top_k=1)
PAGE = "docs/lamps/01-lens.md"


class Living:
    """A tiny book that can be rewritten between a question and its replay."""

    def __init__(self, folder: Path) -> None:
        self.book = write_tiny_book(folder / "book")
        self.data = folder / "data"
        self.ingest()

    def ingest(self) -> None:
        ingest(self.book, self.data / "books", HashEmbedder(), book="tiny")

    def rewrite(self, page: str, old: str, new: str) -> None:
        path = self.book / page
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")
        self.ingest()

    async def ask(self, question: Question = LENS) -> Answer:
        async with build_services(self.data) as services:
            return await _answer(services, question)

    async def replay(self, answer: Answer) -> Replay:
        async with build_services(self.data) as services:
            return await services.receipts.replay(answer.id)


async def _answer(services: Services, question: Question) -> Answer:
    async for event in services.answerer.answer(question):
        if isinstance(event, Done):
            return event.answer
    raise AssertionError


@pytest.fixture
def living(tmp_path: Path) -> Living:
    return Living(tmp_path)


async def test_a_new_revision_that_leaves_the_passages_alone_is_no_difference(
    living: Living,
) -> None:
    answer = await living.ask()
    living.rewrite("docs/lamps/02-keeper.mdx", "sounds a horn", "rings a bell")

    replay = await living.replay(answer)

    assert replay.revision_changed
    assert not replay.differs


async def test_a_passage_that_only_stands_elsewhere_is_the_same(living: Living) -> None:
    answer = await living.ask()
    living.rewrite(PAGE, "## What a Fresnel", "## Before\n\nOil burns.\n\n## What a Fresnel")

    replay = await living.replay(answer)

    assert replay.revision_changed
    assert not replay.differs


async def test_a_reworded_sentence_is_a_lost_quote_and_an_edited_passage(living: Living) -> None:
    answer = await living.ask()
    living.rewrite(PAGE, "concentric rings of glass", "polished brass")

    replay = await living.replay(answer)

    assert replay.differs
    assert [change.kind for change in replay.passages] == ["edited"]
    assert [lost.quote for lost in replay.lost_quotes] == [
        "A Fresnel lens is a lens made of concentric rings of glass."
    ]
    (verdict,) = replay.verdicts
    assert verdict.claim == replay.lost_quotes[0].claim
    assert verdict.before == "supported"
    assert verdict.after != "supported"


async def test_a_page_that_is_gone_takes_the_answer_with_it(living: Living) -> None:
    answer = await living.ask()
    (living.book / PAGE).unlink()
    living.ingest()

    replay = await living.replay(answer)

    assert replay.lost_quotes
    assert (replay.answered_before, replay.answered_after) == (True, False)
    assert replay.level_after == "insufficient"
    assert {"vanished", "appeared"} == {change.kind for change in replay.passages}


async def test_a_question_that_was_refused_may_be_answered_now(living: Living) -> None:
    answer = await living.ask(Question(text="What is a foghorn bellows?", top_k=1))
    living.rewrite(PAGE, "## Orders", "## Bellows\n\nA foghorn bellows is leather.\n\n## Orders")

    replay = await living.replay(answer)

    assert (replay.answered_before, replay.answered_after) == (False, True)


async def test_a_quote_that_moved_to_another_page_is_not_lost(living: Living) -> None:
    answer = await living.ask()
    text = (living.book / PAGE).read_text("utf-8")
    (living.book / PAGE).unlink()
    (living.book / "docs/lamps/09-lens.md").write_text(text, "utf-8")
    living.ingest()

    replay = await living.replay(answer)

    assert not replay.lost_quotes
    assert not replay.verdicts


async def test_better_passages_push_the_old_ones_down(living: Living) -> None:
    answer = await living.ask(Question(text="Which lens is a Fresnel lens made of?", top_k=3))
    living.rewrite(
        "docs/intro.md",
        "It has three pages.",
        "It has three pages about which lens is Fresnel made.",
    )

    replay = await living.replay(answer)

    assert replay.differs
    assert {change.kind for change in replay.passages} & {"moved", "edited", "rescored"}


async def test_a_renamed_chapter_changes_what_is_said_of_the_contents(living: Living) -> None:
    answer = await living.ask(Question(text="List the chapters."))
    living.rewrite("docs/lamps/02-keeper.mdx", "The keeper\n", "The watchman\n")

    replay = await living.replay(answer)

    assert {lost.quote for lost in replay.lost_quotes} == {"The keeper"}
    assert {(v.before, v.after) for v in replay.verdicts} == {("supported", "unsupported")}


async def test_a_selection_whose_source_was_rewritten_is_lost_in_the_book(living: Living) -> None:
    selected = "In fog the keeper sounds a horn."
    answer = await living.ask(
        Question(text="What does the keeper do in fog?", selected_text=selected)
    )
    same = await living.replay(answer)
    living.rewrite("docs/lamps/02-keeper.mdx", "sounds a horn", "rings a bell")

    replay = await living.replay(answer)

    assert not same.differs
    assert [lost.quote for lost in replay.lost_quotes] == [selected]
    assert replay.answered_after


@pytest.mark.parametrize(
    "turns",
    [
        [[assistant_message(NOT_IN_BOOK)]],
        [[assistant_message("Fresnel lenses were invented on the Moon. [1]")]],
        [
            [function_call("read_section", {"section": "The keeper"}, call_id="call-1")],
            [assistant_message("In fog the keeper sounds a horn. [2]")],
        ],
    ],
)
async def test_what_a_model_declined_invented_or_read_on_its_own_replays_the_same(
    living: Living, turns: list[Any]
) -> None:
    async with build_services(living.data, model=lambda _: ScriptedModel(turns)) as services:
        answer = await _answer(services, LENS)
        replay = await services.receipts.replay(answer.id)

    assert not replay.differs, replay
    assert replay.answered_after is (answer.status == "answered")


async def test_what_is_gone_cannot_be_replayed(living: Living) -> None:
    answer = await living.ask()
    async with build_services(living.data) as services:
        with pytest.raises(UnknownAnswer):
            await services.receipts.replay("nothing")
    remove_book(living.data / "books", "tiny")

    with pytest.raises(UnknownBook):
        await living.replay(answer)


async def test_a_follow_up_is_replayed_with_the_passages_it_read_again(living: Living) -> None:
    # A long page, and many short ones with the follow-up's words: the search alone passes it by.
    filler = " ".join(f"Rope{n} holds plank{n} over tide{n}." for n in range(20))
    mast = "The mast carries two bells."
    pages = {"mast": f"{mast} {filler} The mast is painted in winter by divers."}
    pages |= {f"hull-{n}": f"Hull {n} is painted in winter by divers." for n in range(15)}
    pages |= {f"sail-{n}": f"Sail {n} hangs from the mast." for n in range(15)}
    for name, text in pages.items():
        (living.book / f"docs/{name}.md").write_text(f"# {name}\n\n{text}\n", "utf-8")
    living.ingest()
    first = await living.ask(
        Question(text="What does the mast carry?", filters=Filters(chapter=("mast",)))
    )
    follow_up = "Is it painted in winter by divers?"

    second = await living.ask(Question(text=follow_up, thread_id=first.thread_id, top_k=3))

    async with build_services(living.data) as services:
        alone = await services.searcher.search(
            services.library.open("tiny"), second.standalone_question, filters=Filters(), top_k=3
        )
    assert "mast" in {hit.chunk.chapter for hit in second.hits}
    assert "mast" not in {hit.chunk.chapter for hit in alone.hits}
    assert not (await living.replay(second)).differs
