"""Conversations about the sample book, through the whole pipeline with the real models."""

import pytest

from citewell.domain import Answer, Question
from citewell.events import Done
from citewell.wiring import Services


async def asked_on(services: Services, *texts: str) -> Answer:
    """Ask one after the other in one conversation and give the last answer."""
    thread: str | None = None
    answer: Answer | None = None
    for text in texts:
        async for event in services.answerer.answer(Question(text=text, thread_id=thread)):
            if isinstance(event, Done):
                answer = event.answer
                thread = answer.thread_id
    assert answer is not None, "every question ends with `Done`"
    return answer


@pytest.mark.parametrize(
    ("before", "question", "said"),
    [
        ("What is a QDD actuator?", "which robot uses it?", "Mini Cheetah"),
        ("What is composition in ROS 2?", "what's the price?", "isolation"),
        ("What is the weak point of passive stereo?", "and of ToF cameras?", "Multipath"),
        ("What is a singularity?", "What is a QoS profile?", "complete set of policies"),
    ],
)
async def test_a_follow_up_is_answered_with_what_was_not_yet_said(
    sample: Services, before: str, question: str, said: str
) -> None:
    async with sample:
        answer = await asked_on(sample, before, question)

    assert answer.status == "answered"
    assert said in answer.text


async def test_what_was_told_does_not_answer_what_the_book_leaves_out(sample: Services) -> None:
    async with sample:
        answer = await asked_on(
            sample, "What is a particle filter?", "and how do I implement it in matlab?"
        )

    assert answer.status == "no_direct_answer"


async def test_the_same_question_asked_again_is_answered_the_same(sample: Services) -> None:
    question = "What is a harmonic drive?"
    async with sample:
        first = await asked_on(sample, question)
        again = await asked_on(sample, question, question)

    assert again.text == first.text
