"""Messages that are no plain questions, over HTTP."""

import json
from typing import Any

import httpx
import pytest

from tests.api.sse import parse_sse

FIRST = "What is a Fresnel lens made of?"


async def say(client: httpx.AsyncClient, message: str, **more: Any) -> dict[str, Any]:
    reply = await client.post("/chat/run", json={"message": message, **more})
    assert reply.status_code == 200
    body: dict[str, Any] = reply.json()
    return body


@pytest.mark.parametrize("message", ["Hello!", "who are you?", "What can you do?", "???", "u suck"])
async def test_small_talk_names_the_book_and_chapters_of_it_to_begin_with(
    client: httpx.AsyncClient, message: str
) -> None:
    body = await say(client, message)

    assert (body["status"], body["model"]) == ("small_talk", "small talk")
    assert "“The Tiny Book”" in body["response"]
    assert "You could begin with “Welcome”" in body["response"] or "“The lens”" in body["response"]
    assert [claim["verdict"] for claim in body["claims"]] == ["not_a_claim", "not_a_claim"]


@pytest.mark.parametrize("message", ["Hello!", "???!!", "thanks a lot!", "u suck"])
async def test_what_is_not_from_the_book_measures_nothing(
    client: httpx.AsyncClient, message: str
) -> None:
    body = await say(client, message)

    assert (body["sources"], body["retrieved"]) == ([], [])
    assert (body["confidence"], body["confidence_level"]) == (0.0, "insufficient")
    assert body["should_answer"] is False
    assert body["metrics"] == {
        "average_similarity": 0.0,
        "min_similarity": 0.0,
        "max_similarity": 0.0,
        "num_chunks": 0,
        "chunk_diversity": 0.0,
        "confidence_level": "insufficient",
        "should_answer": False,
        "has_sufficient_context": False,
        "answerability": 0.0,
        "correctness": None,
    }


@pytest.mark.parametrize("message", ["thanks a lot!", "bye", "Great answer", "ok"])
async def test_thanks_and_farewells_are_answered_in_a_few_words(
    client: httpx.AsyncClient, message: str
) -> None:
    body = await say(client, message)

    assert [claim["verdict"] for claim in body["claims"]] == ["not_a_claim"]
    assert body["sources"] == []
    assert body["claims"][0]["text"] == body["response"]


async def test_small_talk_is_streamed_like_any_answer(client: httpx.AsyncClient) -> None:
    events = parse_sse((await client.post("/chat/stream", json={"message": "hi"})).text)

    names = [name for _, name, _ in events]
    assert names == ["start", "retrieved", "sentence", "sentence", "done"]
    said = "".join(data["text"] for _, name, data in events if name == "sentence")
    assert said == events[-1][2]["response"]


async def test_a_question_after_small_talk_is_about_what_was_asked_before_it(
    client: httpx.AsyncClient,
) -> None:
    thread = (await say(client, FIRST))["session_id"]
    await say(client, "thanks!", session_id=thread)

    body = await say(client, "how heavy is it?", session_id=thread)

    assert "Fresnel lens" in body["standalone_question"]


@pytest.mark.parametrize("message", ["hello world program in C?", "thanks to what does it tilt?"])
async def test_a_question_that_begins_like_small_talk_is_searched_for(
    client: httpx.AsyncClient, message: str
) -> None:
    body = await say(client, message)

    assert body["model"] == "embedded"
    assert body["status"] in ("not_in_book", "no_direct_answer")


async def test_a_slip_of_the_keys_is_put_right_and_shown(client: httpx.AsyncClient) -> None:
    body = await say(client, "what is a fresnl lens made of?")

    assert body["standalone_question"] == "what is a fresnel lens made of?"
    assert "concentric rings of glass" in body["response"]


async def test_a_question_in_another_language_is_refused_in_it_and_in_english(
    client: httpx.AsyncClient,
) -> None:
    body = await say(client, "Wie schwer ist so eine Linse?")

    assert body["should_answer"] is False
    assert body["response"].startswith("Das Buch ist auf Englisch geschrieben;")
    assert body["response"].endswith("The book is in English; please ask your question in English.")
    assert body["sources"] == []


async def test_what_is_x_is_answered_in_whatever_language_it_is_asked(
    client: httpx.AsyncClient,
) -> None:
    body = await say(client, "Was ist eine Fresnel lens?")

    assert body["standalone_question"] == "What is Fresnel lens?"
    assert body["should_answer"] is True


async def test_a_place_without_an_answer_is_named_and_nothing_is_called_missing(
    client: httpx.AsyncClient,
) -> None:
    body = await say(client, "How heavy and tall is the brass horn?")

    assert body["status"] == "no_direct_answer"
    assert body["response"].startswith(
        "I couldn't find a direct answer in the book. The closest section is “The keeper"
    )
    assert (body["sources"], body["confidence"]) == ([], 0.0)
    assert body["retrieved"][0]["chapter"] == "The keeper"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Summarise the lens chapter", "The section to read is “The lens”."),
        ("Give me an exercise about lenses", "I can't write exercises."),
        ("What do you think of lighthouses?", "I don't have opinions."),
    ],
)
async def test_what_quoting_cannot_do_is_said_and_not_called_missing(
    client: httpx.AsyncClient, message: str, said: str
) -> None:
    body = await say(client, message)

    assert body["status"] == "unsupported_request"
    assert said in body["response"]
    assert (body["sources"], body["should_answer"]) == ([], False)


async def test_a_thread_with_small_talk_is_kept_whole(client: httpx.AsyncClient) -> None:
    thread = (await say(client, "hi"))["session_id"]

    stored = (await client.get(f"/threads/{thread}")).json()

    assert "Hello!" in json.dumps(stored)
