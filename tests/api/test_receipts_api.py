"""Selections, receipts and replays over HTTP."""

import uuid
from typing import Any

import httpx
import pytest

FOG = "In fog the keeper sounds a horn."
COVERED = "What is a Fresnel lens made of?"


async def ask(client: httpx.AsyncClient, message: str = COVERED, **more: Any) -> dict[str, Any]:
    reply = await client.post("/chat/run", json={"message": message, **more})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def receipt_of(client: httpx.AsyncClient, answer: dict[str, Any]) -> dict[str, Any]:
    reply = await client.get(f"/answers/{answer['answer_id']}")
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def test_the_receipt_tells_what_the_answer_told(client: httpx.AsyncClient) -> None:
    answer = await ask(client, top_k=3, filters={"chapter": "The lens"})

    receipt = await receipt_of(client, answer)

    for name in (
        "answer_id",
        "session_id",
        "standalone_question",
        "book",
        "revision",
        "context_mode",
        "response",
        "claims",
        "metrics",
        "timings",
        "model",
    ):
        assert receipt[name] == answer[name], name
    assert receipt["created_at"] == answer["timestamp"]
    assert receipt["question"] == COVERED
    assert receipt["filters"] == {"chapter": ["The lens"]}
    assert (receipt["top_k"], receipt["similarity_threshold"]) == (3, 0.7)
    assert receipt["instructions_version"]
    assert receipt["withheld"] == []
    used = [passage for passage in receipt["passages"] if passage["used"]]
    assert [(p["chunk_id"], p["similarity"], p["cosine"]) for p in used] == [
        (s["chunk_id"], s["similarity_score"], s["cosine"]) for s in answer["retrieved"]
    ]
    assert [passage["rank"] for passage in receipt["passages"]] == sorted(
        passage["rank"] for passage in receipt["passages"]
    )


async def test_a_follow_up_keeps_both_questions(client: httpx.AsyncClient) -> None:
    first = await ask(client, "What is a Fresnel lens?")
    second = await ask(client, "What is it made of?", session_id=first["session_id"])

    receipt = await receipt_of(client, second)

    assert receipt["question"] == "What is it made of?"
    assert receipt["standalone_question"] == "What is a Fresnel lens made of?"


async def test_a_receipt_tells_what_a_follow_up_read_again_and_what_the_log_says(
    client: httpx.AsyncClient,
) -> None:
    first = await ask(client, "What is a Fresnel lens?")
    second = await ask(
        client,
        "What is it made of?",
        session_id=first["session_id"],
        filters={"url": {"prefix": "https://tiny"}},
    )

    receipt = await receipt_of(client, second)

    cited = {quote["chunk_id"] for claim in first["claims"] for quote in claim["citations"]}
    assert set(receipt["also_read"]) == cited
    assert receipt["filters"] == {"url": [{"prefix": "https://tiny"}]}
    assert receipt["state"] == "delivered"


async def test_a_refusal_has_a_receipt_with_the_passages_it_looked_at(
    client: httpx.AsyncClient,
) -> None:
    receipt = await receipt_of(client, await ask(client, "Who painted the Mona Lisa?"))

    assert receipt["status"] == "not_in_book"
    assert receipt["passages"]
    assert not any(passage["used"] for passage in receipt["passages"])


async def test_deleting_the_conversation_deletes_its_receipts(client: httpx.AsyncClient) -> None:
    answer = await ask(client)
    await client.delete(f"/threads/{answer['session_id']}")

    for reply in (
        await client.get(f"/answers/{answer['answer_id']}"),
        await client.post(f"/answers/{answer['answer_id']}/replay"),
        await client.get(f"/answers/{uuid.uuid4()}"),
    ):
        assert reply.status_code == 404
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["code"] == "UnknownAnswer"
        assert reply.json()["suggested_action"]


async def test_a_question_has_no_receipt(client: httpx.AsyncClient) -> None:
    answer = await ask(client)
    thread = (await client.get(f"/threads/{answer['session_id']}")).json()

    asked = thread["messages"][0]["id"]

    assert (await client.get(f"/answers/{asked}")).status_code == 404


async def test_an_id_that_is_none_is_named(client: httpx.AsyncClient) -> None:
    reply = await client.get("/answers/42")

    assert reply.status_code == 422
    assert "answer_id" in reply.json()["detail"]


async def test_a_replay_of_a_book_that_did_not_change_shows_no_difference(
    client: httpx.AsyncClient,
) -> None:
    questions = (
        COVERED,
        "List the chapters.",
        "Who painted the Mona Lisa?",
        "Hello!",
        "Thanks!",
        "¿Qué hace el farero cuando hay niebla en la costa?",
    )
    answers = [await ask(client, question) for question in questions]
    near = {"url": {"prefix": "https://tiny.example/lamps/lens"}}
    answers.append(await ask(client, filters=near))
    answers.append(
        await ask(client, "What is it made of?", session_id=answers[0]["session_id"], top_k=1)
    )
    answers.append(
        await ask(
            client,
            "What does the keeper do in fog?",
            context_mode="user_provided",
            user_context=FOG,
        )
    )

    for answer in answers:
        replay = (await client.post(f"/answers/{answer['answer_id']}/replay")).json()

        assert replay["differs"] is False, replay
        assert replay["revision_changed"] is False
        assert replay["answered_before"] is replay["answered_after"]
        assert replay["answered_after"] is (answer["status"] in ("answered", "small_talk"))


async def test_every_field_of_a_receipt_is_documented(client: httpx.AsyncClient) -> None:
    schemas = (await client.get("/openapi.json")).json()["components"]["schemas"]

    assert schemas["ReceiptPassage"]["properties"]["rank"]["description"]
    assert schemas["AnswerReplay"]["properties"]["differs"]["description"]
    assert schemas["ChatRequest"]["properties"]["user_context"]["description"]


async def test_a_selection_is_the_only_source(client: httpx.AsyncClient) -> None:
    answer = await ask(
        client,
        "What does the keeper do in fog?",
        context_mode="user_provided",
        user_context=f"  {FOG}",
    )

    (source,) = answer["sources"]
    (quote,) = answer["claims"][0]["citations"]
    assert answer["context_mode"] == "user_provided"
    assert source["chunk_text"] == f"  {FOG}"
    assert quote["quote"] == f"  {FOG}"[quote["start"] : quote["end"]]
    assert quote["of"] == "selection"
    assert quote["url"].startswith("https://tiny.example/lamps/keeper")
    assert answer["offer"] is None
    receipt = await receipt_of(client, answer)
    assert receipt["selection"]["text"] == f"  {FOG}"
    assert receipt["selection"]["found_in"] == [quote["found_in"]]


async def test_a_selection_without_the_answer_offers_the_whole_book(
    client: httpx.AsyncClient,
) -> None:
    answer = await ask(client, context_mode="user_provided", user_context=FOG)

    assert answer["should_answer"] is False
    assert answer["offer"] == "whole_book"
    assert answer["missing_terms"] == ["Fresnel", "lens"]
    assert "Search the whole book?" in answer["response"]
    assert answer["claims"] == []

    whole = await ask(client, session_id=answer["session_id"])
    assert whole["should_answer"] is True


@pytest.mark.parametrize("context", [None, "", " " * 20, "x" * 64_001])
async def test_the_mode_requires_a_selection_of_the_right_length(
    client: httpx.AsyncClient, context: str | None
) -> None:
    body = {"message": COVERED, "context_mode": "user_provided", "user_context": context}
    reply = await client.post("/chat/run", json=body)

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "user_context"


async def test_a_context_without_the_mode_is_not_used(client: httpx.AsyncClient) -> None:
    answer = await ask(client, user_context=FOG)

    assert answer["context_mode"] == "retrieval_pipeline"
    assert "concentric rings" in answer["response"]
