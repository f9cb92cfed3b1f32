"""What a reader is shown of what a model says, through the whole pipeline."""

import re
from pathlib import Path

import pytest
from agents.testing import ScriptedModel, assistant_message

from citewell.domain import Answer, Question
from citewell.errors import StoreUnavailable
from citewell.events import Done, Sentence
from citewell.options import AnswerOptions
from citewell.storage.threads import SqlThreadStore
from tests.servers import build_services

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
RINGS = "Its thin rings save nine tenths of the glass of a plain lens."
INVENTED = "Fresnel lenses were invented on the Moon."
ALTERED = "A first-order lens has a focal length of 940 mm."
QUESTION = Question(text="What is a Fresnel lens?")


async def answer_with(
    data: Path, text: str, *, question: Question = QUESTION, **options: object
) -> Answer:
    def model(_: object) -> ScriptedModel:
        return ScriptedModel([[assistant_message(text)]])

    chosen = AnswerOptions(**options)  # type: ignore[arg-type]
    async with build_services(data, model=model, options=chosen) as services:
        events = [event async for event in services.answerer.answer(question)]
    done = events[-1]
    assert isinstance(done, Done)
    if done.answer.status == "answered":
        shown = "".join(event.text for event in events if isinstance(event, Sentence))
        assert shown == done.answer.text
    return done.answer


def verdicts(answer: Answer) -> list[str]:
    return [claim.verdict for claim in answer.claims]


async def test_unsupported_claims_may_be_withheld(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} {INVENTED} {ALTERED}", unsupported="withhold")

    assert answer.text == f"{LENS} [1]"
    assert [(c.text, c.verdict) for c in answer.withheld] == [
        (INVENTED, "unsupported"),
        (ALTERED, "contradicted"),
    ]
    assert answer.state == "flagged"


async def test_unsupported_claims_may_be_shown_with_a_mark(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} {INVENTED} {ALTERED}", unsupported="mark")

    assert answer.text == (
        f"{LENS} [1] {INVENTED} [not supported by the book] {ALTERED} [contradicted by the book]"
    )
    assert verdicts(answer) == ["supported", "unsupported", "contradicted"]
    assert all(answer.text[c.start : c.end] == c.text for c in answer.claims)
    assert answer.withheld == ()
    assert [claim.text for claim in answer.unsupported] == [INVENTED, ALTERED]
    assert answer.state == "flagged"


async def test_unsupported_claims_may_be_shown_with_their_verdict_only(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} {INVENTED}", unsupported="allow")

    assert answer.text == f"{LENS} [1] {INVENTED}"
    assert verdicts(answer) == ["supported", "unsupported"]


@pytest.mark.parametrize("unsupported", ["withhold", "mark", "allow"])
@pytest.mark.parametrize("text", [INVENTED, ALTERED])
async def test_what_proves_nothing_is_a_refusal_whatever_is_shown(
    tiny_data: Path, unsupported: str, text: str
) -> None:
    answer = await answer_with(tiny_data, text, unsupported=unsupported)

    assert answer.status == "no_direct_answer"
    assert text not in answer.text
    assert answer.citations == ()


async def test_what_a_selection_does_not_support_is_not_said_to_be_missing_in_the_book(
    tiny_data: Path,
) -> None:
    question = Question(text=QUESTION.text, selected_text=LENS)

    answer = await answer_with(tiny_data, f"{LENS} {RINGS}", question=question, unsupported="mark")

    assert answer.text == f"{LENS} [1] {RINGS} [not supported by the selected text]"


async def test_a_block_that_is_shown_unproven_has_its_mark_below(tiny_data: Path) -> None:
    code = "```bash\nlaunch --rockets\n```"

    answer = await answer_with(tiny_data, f"{LENS}\n\n{code}", unsupported="mark")

    assert answer.text == f"{LENS} [1]\n\n{code}\n\n[not supported by the book]"


async def test_the_sentence_that_speaks_against_a_claim_is_no_source(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} {ALTERED}", unsupported="mark")

    assert [citation.quote for citation in answer.citations] == [LENS]
    assert "920 mm" in answer.claims[1].citations[0].quote


async def test_headings_and_openings_are_shown_with_what_they_lead_to(tiny_data: Path) -> None:
    text = (
        f"## The lens\n\nHere is how it works:\n\n- {LENS}\n\n## The keeper\n\n- {INVENTED}\n\n"
        "Does that help?"
    )

    answer = await answer_with(tiny_data, text)

    assert answer.text == f"## The lens\n\nHere is how it works:\n\n- {LENS} [1]"
    assert verdicts(answer) == ["not_a_claim", "not_a_claim", "supported"]


async def test_a_question_to_the_reader_may_end_an_answer(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} Would you like to know more?")

    assert answer.text == f"{LENS} [1] Would you like to know more?"


async def test_a_log_that_cannot_be_written_does_not_spoil_an_answer(
    tiny_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(SqlThreadStore, "mark_delivered", broken)

    assert (await answer_with(tiny_data, LENS)).status == "answered"


async def test_a_leaning_sentence_does_not_change_what_it_is_about(tiny_data: Path) -> None:
    horn = "In fog the keeper sounds a horn."
    question = Question(text="What does the keeper do in fog with the lens?", threshold=0.3)

    answer = await answer_with(tiny_data, f"{horn} {RINGS}", question=question)

    assert RINGS not in answer.text
    assert [claim.text for claim in answer.withheld] == [RINGS]
    async with build_services(tiny_data) as services:
        replay = await services.receipts.replay(answer.id)
    assert replay.verdicts == ()


@pytest.mark.parametrize(
    "sneaked",
    [
        "Did you know that the lens weighs 5 tons?",
        "## The lens weighs 5 tons",
        "**The lens weighs 5 tons**",
        "I think the lens weighs 5 tons.",
        "Here is why the lens weighs 5 tons:",
        "![The lens weighs 5 tons](lens.png)",
        "![](https://evil.example/5-tons.png)",
        "[The lens weighs 5 tons](https://evil.example)",
        ":::note The lens weighs 5 tons\n\n:::",
        "```\n5 tons\n```",
        "```\nwind --hours 4\n5 tons",
        "| Order | Weight |\n| --- | --- |\n| first | 5 tons |",
        "> The lens weighs 5 tons",
        "- [x] 5 tons",
        "$$\nm = 5\n$$",
        "<img alt='5 tons'>",
        "[1]: https://evil.example '5 tons'",
        "The lens weighs 5 to\u200bns.",
    ],
)
async def test_no_way_of_writing_gets_a_fact_past_the_check(tiny_data: Path, sneaked: str) -> None:
    answer = await answer_with(tiny_data, f"{LENS} [1]\n\n{sneaked}")

    assert answer.text == f"{LENS} [1]"


@pytest.mark.parametrize("info", ["text 5 tons", "5tons", 'python title="5 tons"', "rm-rf"])
async def test_a_copied_listing_has_the_books_fence_and_no_other(
    tiny_data: Path, info: str
) -> None:
    code = "wind --hours 4\n```"
    question = Question(text="How does the keeper wind the clockwork?")

    answer = await answer_with(tiny_data, f"```{info}\n{code}", question=question)

    assert answer.text == f"```bash\n{code}\n\n[1]"


async def test_passages_are_numbered_as_the_reader_meets_them(tiny_data: Path) -> None:
    horn, wound = "In fog the keeper sounds a horn.", "A first-order lens has a focal length of"
    wound += " 920 mm, and a sixth-order lens has one of 150 mm."
    question = Question(text="What does the keeper do in fog with the lens?", threshold=0.0)

    answer = await answer_with(tiny_data, f"{wound} {horn} {LENS} {wound[:-1]}.", question=question)

    marks = [int(number) for number in re.findall(r"\[(\d+)\]", answer.text)]
    assert marks == [1, 2, 3]
    assert [one.number for claim in answer.claims for one in claim.citations] == marks
    assert [one.number for one in answer.citations] == marks
    cited = [one.chunk_id for one in answer.citations]
    assert cited != [hit.chunk.id for hit in answer.hits][:3]


async def test_what_a_model_says_again_and_again_is_shown_once(tiny_data: Path) -> None:
    answer = await answer_with(tiny_data, f"{LENS} {INVENTED} {LENS} {RINGS} {LENS} {INVENTED}")

    assert answer.text == f"{LENS} [1] {RINGS} [1]"
    assert [claim.text for claim in answer.withheld] == [INVENTED]
