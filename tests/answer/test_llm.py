"""A language model where it helps: by setting, and never where it is needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.answer.pipeline import Pipeline
from citewell.answer.prompts import CHECK_CLAIMS, REWRITE, SUMMARISE
from citewell.domain import Answer, Question
from citewell.events import Done
from citewell.options import LlmOptions
from citewell.wiring import Services
from tests.servers import ChatServer, Reply, build_services

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
FOLLOW_UP = "And who winds it?"
WINDS = "Who winds the rings of a Fresnel lens?"
FIRST, SECOND = "What is a Fresnel lens made of?", "How many orders of lenses are there?"


class Told(ChatServer):
    """Replies by the instructions that it is given, and by a quote to all others."""

    def __init__(self, **said: Reply) -> None:
        super().__init__(Reply(f"{LENS} [1]"))
        self.said = {REWRITE: said.get("rewrite"), SUMMARISE: said.get("summarise")}
        self.said[CHECK_CLAIMS] = said.get("check")
        self.told: list[str] = []

    def next_reply(self, request: dict[str, Any], key: str) -> Reply:
        instructions = request["messages"][0]["content"]
        self.told.append(instructions)
        return self.said.get(instructions) or super().next_reply(request, key)


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    with Told(**request.param) as server:
        yield server


def wired(data: Path, server: ChatServer, **options: Any) -> Services:
    options = {"check_claims": False, "fallback": False} | options
    llm = LlmOptions(base_url=server.url, retries=0, **options)
    return build_services(data, model="openai/told", llm=llm)


async def ask(services: Services, text: str, thread: str | None = None) -> Answer:
    question = Question(text=text, thread_id=thread)
    (*_, done) = [event async for event in services.answerer.answer(question)]
    assert isinstance(done, Done)
    return done.answer


async def standalone(services: Services) -> str:
    """Return the follow-up as it was searched for."""
    async with services:
        first = await ask(services, FIRST)
        later = await ask(services, FOLLOW_UP, first.thread_id)
    return later.standalone_question


@pytest.mark.parametrize("told", [{"rewrite": Reply(f"Reader: {WINDS}\n")}], indirect=True)
async def test_a_follow_up_is_put_as_the_model_puts_it_if_that_is_set(
    tiny_copy: Path, told: Told
) -> None:
    by_model = await standalone(wired(tiny_copy, told, rewrite=True))
    asked = told.told.count(REWRITE)
    by_rules = await standalone(wired(tiny_copy, told))

    assert by_model == WINDS != by_rules
    assert (asked, told.told.count(REWRITE)) == (1, 1)


@pytest.mark.parametrize(
    "told",
    [
        {"rewrite": Reply(status=500)},
        {"rewrite": Reply("")},
        {"rewrite": Reply("Who is the president of Atlantis?")},
        {"rewrite": Reply("winds " * 200)},
    ],
    indirect=True,
)
async def test_what_the_model_puts_wrongly_is_put_by_the_rules(tiny_copy: Path, told: Told) -> None:
    by_model = await standalone(wired(tiny_copy, told, rewrite=True, break_after=99))
    by_rules = await standalone(wired(tiny_copy, told))

    assert by_model == by_rules
    assert told.told.count(REWRITE) == 1


async def summary_after(services: Services, turns: int) -> str | None:
    pipeline = services.answerer
    assert isinstance(pipeline, Pipeline)
    async with services:
        thread = (await ask(services, FIRST)).thread_id
        for number in range(1, turns):
            await ask(services, (FIRST, SECOND)[number % 2], thread)
        if pipeline.topics:
            await pipeline.topics.wait_until_idle()
        kept = await services.threads.load(thread)
    assert kept is not None
    return kept.topic_summary


@pytest.mark.parametrize("told", [{"summarise": Reply("“Orders of lenses.”")}], indirect=True)
async def test_the_model_chooses_what_a_summary_names_if_that_is_set(
    tiny_copy: Path, told: Told
) -> None:
    early = await summary_after(wired(tiny_copy, told, summarise=True), 4)
    due = await summary_after(wired(tiny_copy, told, summarise=True), 5)
    by_rules = await summary_after(wired(tiny_copy, told), 5)

    assert early is None
    assert due == "Orders and lenses"
    assert due != by_rules
    assert told.told.count(SUMMARISE) == 1


INVENTED = "The Fresnel lens never breaks, see https://evil.example"


@pytest.mark.parametrize("told", [{"summarise": Reply(INVENTED)}], indirect=True)
async def test_no_word_of_the_model_itself_comes_into_a_summary(
    tiny_copy: Path, told: Told
) -> None:
    assert await summary_after(wired(tiny_copy, told, summarise=True), 5) == "Fresnel lens"


@pytest.mark.parametrize(
    "told",
    [{"summarise": Reply(status=500)}, {"summarise": Reply("All about submarines.")}],
    indirect=True,
)
async def test_a_summary_that_the_model_does_not_write_is_made_by_the_rules(
    tiny_copy: Path, told: Told
) -> None:
    by_model = await summary_after(wired(tiny_copy, told, summarise=True), 5)

    assert by_model == await summary_after(wired(tiny_copy, told), 5)
    assert by_model


async def test_a_summary_that_someone_wrote_is_not_replaced(tiny_copy: Path) -> None:
    with Told() as server:
        services = wired(tiny_copy, server)
        async with services:
            thread = (await ask(services, FIRST)).thread_id
            by_model = await services.threads.describe(thread, "A model's", by_hand=False)
            by_hand = await services.threads.describe(thread, "Mine")
            again = await services.threads.describe(thread, "A model's", by_hand=False)
            kept = await services.threads.load(thread)

    assert (by_model, by_hand, again) == (True, True, False)
    assert kept is not None
    assert kept.topic_summary == "Mine"


REWORDED = "The Fresnel lens consists of concentric glass rings."
WRONG = "A first-order lens has a focal length of about 940 mm, it seems."


async def answered(data: Path, server: Told, text: str, **options: Any) -> Answer:
    server.replies[0] = Reply(text)
    async with wired(data, server, **options) as services:
        return await ask(services, FIRST)


@pytest.mark.parametrize("told", [{"check": Reply("1: supported 1.1")}], indirect=True)
async def test_the_model_may_prove_other_words_by_naming_the_sentence(
    tiny_copy: Path, told: Told
) -> None:
    without = await answered(tiny_copy, told, REWORDED)
    answer = await answered(tiny_copy, told, REWORDED, check_claims=True)

    assert without.status == "answered"
    assert REWORDED not in without.text
    assert answer.text == f"{REWORDED} [1]"
    (claim,) = answer.claims
    assert claim.decided_by == "llm"
    assert [citation.quote for citation in claim.citations] == [LENS]


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"check": Reply("1: supported 1.1")}, WRONG),
        ({"check": Reply("1: unsupported")}, REWORDED),
        ({"check": Reply("1: supported")}, REWORDED),
        ({"check": Reply("1: supported 9.9")}, REWORDED),
        ({"check": Reply("Yes, sentence 1 says so.")}, REWORDED),
        ({"check": Reply(status=500)}, REWORDED),
    ],
    indirect=["told"],
)
async def test_the_model_cannot_prove_what_the_sentence_does_not_say(
    tiny_copy: Path, told: Told, text: str
) -> None:
    answer = await answered(tiny_copy, told, text, check_claims=True, break_after=99)

    assert text not in answer.text
    assert [claim.text for claim in answer.withheld] == [text]


async def test_a_sentence_that_fails_is_replaced_by_the_one_of_the_book(tiny_copy: Path) -> None:
    with Told() as told:
        answer = await answered(tiny_copy, told, REWORDED)

    assert answer.text == f"“{LENS}” [1]"
    (claim,) = answer.claims
    assert (claim.decided_by, claim.reason) == ("repair", f"instead of: {REWORDED}")
