"""Every way in which a model fails, by the real SDK and the real LiteLLM, over a real socket."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.api.problems import STATUS_BY_ERROR
from citewell.domain import Answer, Question
from citewell.errors import CitewellError, ModelUnavailable
from citewell.events import Done
from citewell.options import LlmOptions
from citewell.wiring import Services
from tests.api.serving import ASKED, serving
from tests.api.sse import parse_sse
from tests.servers import ChatServer, Reply, build_services

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
RINGS = "Its thin rings save nine tenths of the glass of a plain lens."
TEXT = f"{LENS} [1] {RINGS} [1]"
BROKEN = "The answer breaks off here: the model did not finish it."
OWN_WORDS = "Lenses were invented on the Moon."
NAMES = ("openai/told", "litellm/openai/told")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Reply(TEXT)) as server:
        yield server


def wired(data: Path, server: ChatServer | None, model: str, **options: Any) -> Services:
    url = server.url if server else "http://127.0.0.1:9/v1"
    given = {"base_url": url, "retries": 0, "max_tokens": 100} | options
    return build_services(
        data, model=model, llm=LlmOptions(**{"check_claims": False, "fallback": False} | given)
    )


@asynccontextmanager
async def asking(*given: Any, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(wired(*given, **options)) as client:
        yield client


async def asked(*given: Any, **options: Any) -> Answer:
    async with wired(*given, **options) as services:
        async for event in services.answerer.answer(Question(text=ASKED["message"])):
            if isinstance(event, Done):
                return event.answer
    raise AssertionError("no answer")


async def failure_of(*given: Any, **options: Any) -> CitewellError:
    with pytest.raises(CitewellError) as caught:
        await asked(*given, **options)
    return caught.value


@pytest.mark.parametrize("model", NAMES)
async def test_a_model_behind_a_server_answers_with_proof_and_counts_tokens(
    tiny_copy: Path, server: ChatServer, model: str
) -> None:
    server.replies[0] = Reply(f"{LENS} {OWN_WORDS} [1]")

    async with asking(tiny_copy, server, model, input_price=1.0, output_price=2.0) as client:
        reply = (await client.post("/chat/run", json=ASKED)).json()

    (request,) = server.requests
    used = len(str(request["messages"])) // 4, len(server.replies[0].text) // 4
    assert reply["response"] == f"{LENS} [1]"
    assert reply["unsupported_claims"] == [OWN_WORDS]
    assert (reply["model"], reply["notices"]) == (model, [])
    assert reply["usage"]["total_tokens"] == sum(used)
    assert reply["usage"]["cost_usd"] == pytest.approx((used[0] + 2 * used[1]) / 1e6)


@pytest.mark.parametrize("model", NAMES)
@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Reply(status=429), 503, "ModelUnavailable"),
        (Reply(status=500), 503, "ModelUnavailable"),
        (None, 503, "ModelUnavailable"),
        (Reply("A Fresnel", end="cut"), 503, "ModelUnavailable"),
        (Reply(stall=True), 504, "ModelTimedOut"),
        (Reply("A Fresnel", end="stall"), 504, "ModelTimedOut"),
        (Reply(status=401), 502, "ModelRefused"),
        (Reply(status=404), 502, "ModelRefused"),
        (Reply(body=b'{"choices": ['), 502, "ModelMisbehaved"),
        (Reply(tool_calls=[("search_textbook", '{"quer')]), 502, "ModelMisbehaved"),
        (Reply(tool_calls=[("launch_rocket", "{}")]), 502, "ModelMisbehaved"),
        (Reply(OWN_WORDS, end="endless"), 502, "ModelMisbehaved"),
    ],
    ids=lambda one: str(getattr(one, "end", one)),
)
async def test_a_failing_model_is_a_clear_error_and_the_next_of_the_list_answers(
    tiny_copy: Path, server: ChatServer, model: str, reply: Reply | None, status: int, code: str
) -> None:
    options: dict[str, Any] = {"first_token_seconds": 0.5, "idle_seconds": 0.5, "tools": "yes"}
    server.replies[0] = reply or server.replies[0]
    told = server if reply else None

    alone = await failure_of(tiny_copy, told, model, **options)
    saved = await asked(tiny_copy, told, f"{model},embedded", **options)

    assert (STATUS_BY_ERROR[type(alone)], type(alone).__name__) == (status, code)
    assert (saved.model, saved.text) == ("embedded", TEXT)
    assert saved.notices == ("embedded_answer",)


@pytest.mark.parametrize("model", NAMES)
@pytest.mark.parametrize("end", ["cut", "stall", "length", "endless"])
async def test_a_stream_that_breaks_off_ends_with_what_was_proven_and_says_so(
    tiny_copy: Path, server: ChatServer, model: str, end: Any
) -> None:
    rest = TEXT if end == "endless" else f"{TEXT} Zebras never"
    server.replies[0] = Reply(rest, end=end)

    async with asking(tiny_copy, server, f"{model},embedded", idle_seconds=0.5) as client:
        streamed = parse_sse((await client.post("/chat/stream", json=ASKED)).text)
        receipt = (await client.get(f"/answers/{streamed[-1][2]['answer_id']}")).json()

    _, last, done = streamed[-1]
    said = "".join(data["text"] for _, event, data in streamed if event == "sentence")
    assert last == "done"
    assert done["response"] == said == receipt["response"]
    assert said.startswith(TEXT)
    assert said.endswith(f" {BROKEN}")
    assert "Zebras" not in str(streamed)
    assert (done["model"], receipt["model"]) == (model, model)
    assert [notice["code"] for notice in done["notices"]] == ["incomplete"]


async def test_a_stream_without_its_end_is_not_taken_for_a_whole_answer(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies[0] = Reply(f"{TEXT} Zebras never", end="none")

    assert (await asked(tiny_copy, server, "openai/told")).notices == ("incomplete",)


@pytest.mark.parametrize("model", NAMES)
async def test_a_busy_model_is_asked_again_as_it_says(
    tiny_copy: Path, server: ChatServer, model: str
) -> None:
    server.replies.extendleft([Reply(status=503), Reply(status=429, headers={"retry-after": "0"})])

    answer = await asked(tiny_copy, server, model, retries=2)

    assert (answer.text, answer.notices) == (TEXT, ())
    assert len(server.requests) == 3


@pytest.mark.parametrize("model", NAMES)
async def test_a_model_that_asks_for_a_long_pause_is_not_waited_for(
    tiny_copy: Path, server: ChatServer, model: str
) -> None:
    server.replies[0] = Reply(status=429, headers={"retry-after": "3600"})

    error = await failure_of(tiny_copy, server, model, retries=3)

    assert (type(error), error.retry_after) == (ModelUnavailable, 3600)
    assert len(server.requests) == 1


async def test_nothing_is_asked_again_once_a_word_was_said(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies[0] = Reply("A Fresnel", end="cut")

    await failure_of(tiny_copy, server, "openai/told", retries=3)

    assert len(server.requests) == 1


async def test_a_model_of_which_nothing_can_be_proven_gives_way_to_the_next(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies[0] = Reply(OWN_WORDS)

    alone = await asked(tiny_copy, server, "openai/told")
    saved = await asked(tiny_copy, server, "openai/told,embedded")

    assert alone.status == "no_direct_answer"
    assert (saved.text, saved.model) == (TEXT, "embedded")
    for answer in (alone, saved):
        assert OWN_WORDS not in answer.text
        assert [claim.text for claim in answer.unsupported] == [OWN_WORDS]


async def test_a_model_that_finds_no_answer_in_the_passages_is_believed(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies[0] = Reply("NOT IN THE BOOK")

    answer = await asked(tiny_copy, server, "openai/told,embedded")

    assert (answer.status, answer.model, answer.notices) == ("no_direct_answer", "openai/told", ())


async def test_another_language_model_may_stand_in_and_the_answer_says_which(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies.extendleft([Reply(status=500)])

    answer = await asked(tiny_copy, server, "openai/first,openai/second")

    assert [request["model"] for request in server.requests] == ["first", "second"]
    assert (answer.text, answer.model) == (TEXT, "openai/second")
    assert answer.notices == ("fallback_model",)


async def test_a_model_that_keeps_failing_is_left_alone(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies[0] = Reply(status=500)
    options = {"break_after": 2, "rest_seconds": 3600}

    async with asking(tiny_copy, server, "openai/told,embedded", **options) as client:
        replies = [(await client.post("/chat/run", json=ASKED)).json() for _ in range(4)]
        ready = (await client.get("/ready")).json()
    asked_for = len(server.requests)
    async with asking(tiny_copy, server, "openai/told", **options) as client:
        failed = [(await client.post("/chat/run", json=ASKED)).status_code for _ in range(3)]
        unready = (await client.get("/ready")).json()

    assert [reply["model"] for reply in replies] == ["embedded"] * 4
    assert asked_for == 2
    assert failed == [503] * 3
    assert (ready["parts"]["model"]["ready"], unready["parts"]["model"]["ready"]) == (True, False)


async def test_a_day_has_a_budget_that_ends_with_a_clear_error(
    tiny_copy: Path, server: ChatServer
) -> None:
    async with asking(tiny_copy, server, "openai/told", day_tokens=100) as client:
        first = await client.post("/chat/run", json=ASKED)
        second = await client.post("/chat/run", json=ASKED)
    other = await asked(tiny_copy, server, "openai/told,embedded", day_tokens=100)

    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (503, "BudgetSpent")
    assert 0 < int(second.headers["retry-after"]) <= 86_400
    assert other.model == "embedded"
    assert len(server.requests) == 1


async def test_an_answer_has_a_budget_of_time_and_of_tokens(
    tiny_copy: Path, server: ChatServer
) -> None:
    server.replies[0] = Reply(tool_calls=[("table_of_contents", "{}")])
    searching = {"tools": "yes", "answer_tokens": 500}

    tokens = await failure_of(tiny_copy, server, "openai/told", **searching)
    calls = len(server.requests)
    server.replies[0] = Reply(TEXT, end="stall")
    slow = await asked(tiny_copy, server, "openai/told,embedded", answer_seconds=1.0)

    assert "more than 500 tokens" in str(tokens)
    assert calls < 4
    assert slow.notices in (("incomplete",), ("embedded_answer",))  # as far as it came in a second
