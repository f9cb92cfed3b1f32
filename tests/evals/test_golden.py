import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from citewell.domain import Answer, Citation, Question
from citewell.errors import BadRequest
from citewell.events import Event, Started
from citewell.wiring import Services
from evals.golden import GoldenQuestion, judge_answer, read_golden, run_golden
from tests.verify.samples import answer_of, claim_of, hit_of

LENS_PAGE = "docs/lamps/01-lens.md"


def golden(**fields: object) -> GoldenQuestion:
    given = {"id": "g1", "kind": "covered", "question": "What is it?", "pages": (LENS_PAGE,)}
    return GoldenQuestion(**(given | fields))  # type: ignore[arg-type]


def answered(text: str = "A **thin** lens.", source: str = LENS_PAGE) -> Answer:
    citation = Citation(
        number=1, chunk_id="c1", chapter="", section="", quote="", start=0, end=0, url=""
    )
    hit = hit_of("A lens.", source_file=source)
    return answer_of(text, hits=(hit,), claims=(claim_of(text, citations=(citation,)),))


def test_an_answer_that_cites_the_page_and_says_the_words_is_right() -> None:
    assert judge_answer(golden(must_contain=(("thin lens", "light lens"),)), answered()) == ""


def test_an_answer_from_another_page_is_wrong() -> None:
    assert judge_answer(golden(), answered(source="docs/other.md")) == "cites docs/other.md"


def test_any_of_the_pages_will_do() -> None:
    assert judge_answer(golden(pages=("docs/other.md", LENS_PAGE)), answered()) == ""


def test_without_pages_any_page_will_do() -> None:
    assert judge_answer(golden(pages=()), answered(source="docs/other.md")) == ""


def test_every_group_of_words_needs_one_of_its_words() -> None:
    question = golden(must_contain=(("THIN",), ("glass", "quartz")))

    assert judge_answer(question, answered()) == "does not say glass / quartz"


@pytest.mark.parametrize("kind", ["covered", "followup"])
def test_a_refusal_of_what_is_covered_is_wrong(kind: str) -> None:
    assert judge_answer(golden(kind=kind), answer_of(status="not_in_book")) == "refused"


def test_a_refusal_of_what_is_not_covered_is_right() -> None:
    assert judge_answer(golden(kind="uncovered"), answer_of(status="not_in_book")) == ""


def test_an_answer_to_what_is_not_covered_is_wrong() -> None:
    reason = judge_answer(golden(kind="uncovered"), answer_of())

    assert reason == "answered what the book does not cover"


def test_a_set_is_read_line_by_line(tmp_path: Path) -> None:
    full = {
        "id": 1,
        "kind": "followup",
        "question": "Is it?",
        "pages": ["a.md"],
        "must_contain": [["x", "y"]],
        "history": ["What?"],
    }
    least = {"id": "two", "kind": "uncovered", "question": "Why?"}
    path = tmp_path / "set.jsonl"
    path.write_text(f"{json.dumps(full)}\n\n{json.dumps(least)}\n", "utf-8")

    first, second = read_golden(path)

    assert first == GoldenQuestion(
        id="1",
        kind="followup",
        question="Is it?",
        pages=("a.md",),
        must_contain=(("x", "y"),),
        history=("What?",),
    )
    assert second == GoldenQuestion(id="two", kind="uncovered", question="Why?")


@pytest.mark.parametrize(
    "line",
    [
        "not JSON",
        "[]",
        "7",
        '{"id": "1", "kind": "covered"}',
        '{"id": "1", "kind": "surprising", "question": "x"}',
        '{"id": "1", "kind": "covered", "question": 7}',
        '{"id": "1", "kind": "covered", "question": "x", "pages": 7}',
        '{"id": "1", "kind": "covered", "question": "x", "pages": "a.md"}',
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text('{"id": "1", "kind": "covered", "question": "x"}\n' + line, "utf-8")

    with pytest.raises(BadRequest, match="line 2 is not a golden question"):
        read_golden(path)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "set.jsonl"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(BadRequest, match=r"set\.jsonl"):
        read_golden(path)


async def test_questions_run_through_the_pipeline_each_in_its_own_thread(tiny: Services) -> None:
    questions = [
        golden(question="What is a Fresnel lens?", must_contain=(("rings",),)),
        golden(
            kind="followup",
            history=("What is a Fresnel lens?",),
            question="What is it made of?",
            must_contain=(("glass",),),
        ),
        golden(kind="uncovered", question="Who painted the Mona Lisa?"),
        golden(question="What is a Fresnel lens?", must_contain=(("plastic",),)),
    ]

    async with tiny:
        results = await run_golden(questions, tiny.answerer, "tiny")

    assert [result.right for result in results] == [True, True, True, False]
    assert results[3].reason == "does not say plastic"
    assert results[1].answer.standalone_question == "What is a Fresnel lens made of?"
    assert len({result.answer.thread_id for result in results}) == 4


async def test_a_pipeline_that_ends_without_an_answer_is_broken() -> None:
    class Silent:
        async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
            yield Started("t1", "a1")

    with pytest.raises(AssertionError, match="without `Done`"):
        await run_golden([golden()], Silent(), None)
