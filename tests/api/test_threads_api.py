"""Conversations over HTTP."""

import uuid

import httpx


async def _ask(client: httpx.AsyncClient, message: str, session: str | None = None) -> dict:
    body = {"message": message} | ({"session_id": session} if session else {})
    return (await client.post("/chat/run", json=body)).json()


async def test_a_conversation_replays_what_the_reader_saw(client: httpx.AsyncClient) -> None:
    first = await _ask(client, "What is a Fresnel lens made of?")
    await _ask(client, "Why does the keeper wind the clockwork?", first["session_id"])

    thread = (await client.get(f"/threads/{first['session_id']}")).json()

    assert [m["role"] for m in thread["messages"]] == ["user", "assistant"] * 2
    assert thread["message_count"] == 4
    answer = thread["messages"][1]
    assert answer["content"] == first["response"]
    assert answer["id"] == first["answer_id"]
    quotes = [c["quote"] for claim in answer["record"]["claims"] for c in claim["citations"]]
    assert quotes == [c["quote"] for claim in first["claims"] for c in claim["citations"]]
    assert thread["created_at"] <= thread["updated_at"]


async def test_a_session_id_of_the_readers_choice_begins_a_thread(
    client: httpx.AsyncClient,
) -> None:
    chosen = str(uuid.uuid4())

    body = await _ask(client, "What does the keeper do in fog?", chosen)

    assert body["session_id"] == chosen
    assert (await client.get(f"/threads/{chosen}")).status_code == 200


async def test_threads_are_listed_newest_first(client: httpx.AsyncClient) -> None:
    older = (await _ask(client, "What is a Fresnel lens made of?"))["session_id"]
    newer = (await _ask(client, "What does the keeper do in fog?"))["session_id"]

    listed = [t["thread_id"] for t in (await client.get("/threads?limit=2")).json()]

    assert listed == [newer, older]


async def test_delete_means_gone(client: httpx.AsyncClient) -> None:
    session = (await _ask(client, "What is a Fresnel lens made of?"))["session_id"]

    assert (await client.delete(f"/threads/{session}")).status_code == 204

    assert (await client.get(f"/threads/{session}")).json()["code"] == "UnknownThread"
    assert (await client.delete(f"/threads/{session}")).status_code == 404


async def test_an_id_that_is_no_uuid_of_version_4_is_refused(client: httpx.AsyncClient) -> None:
    chosen = str(uuid.uuid1())
    reply = await client.post("/chat/run", json={"message": "What is fog?", "session_id": chosen})

    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "session_id"
    assert (await client.get(f"/threads/{chosen}")).status_code == 404


async def test_what_chat_programs_asked_is_listed_read_and_deleted_like_the_native_threads(
    client: httpx.AsyncClient,
) -> None:
    """They have no view of their own."""
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "What is a Fresnel lens?"}]}
    await client.post("/v1/chat/completions", json=asked)

    (thread,) = (await client.get("/threads?limit=1")).json()
    address = f"/threads/{thread['thread_id']}"
    assert (await client.get(address)).json()["message_count"] == 2
    assert len((await client.get(f"{address}/messages")).json()) == 2
    assert (await client.delete(address)).status_code == 204
    assert (await client.get(address)).status_code == 404


async def test_a_thread_shows_its_last_fifty_messages(client: httpx.AsyncClient) -> None:
    session = str(uuid.uuid4())
    for _ in range(26):
        await _ask(client, "What does the keeper do in fog?", session)

    thread = (await client.get(f"/threads/{session}")).json()

    assert thread["message_count"] == 52
    assert len(thread["messages"]) == 50

    first = (await client.get(f"/threads/{session}/messages?limit=3")).json()
    assert [m["archived"] for m in first] == [True, True, False]
    assert first[2] == thread["messages"][0]


async def test_after_five_exchanges_a_thread_says_what_it_is_about(
    client: httpx.AsyncClient,
) -> None:
    session = str(uuid.uuid4())
    for _ in range(4):
        await _ask(client, "What is a Fresnel lens made of?", session)
    before = (await client.get(f"/threads/{session}")).json()["topic_summary"]
    await _ask(client, "Why does the keeper wind the clockwork?", session)

    summary = (await client.get(f"/threads/{session}")).json()["topic_summary"]

    assert before is None
    assert summary == "Fresnel lens, in “What a Fresnel lens is” and “The keeper”"


async def test_a_reader_can_say_what_a_thread_is_about(client: httpx.AsyncClient) -> None:
    session = (await _ask(client, "What is a Fresnel lens made of?"))["session_id"]

    reply = await client.patch(f"/threads/{session}", json={"topic_summary": "My notes"})

    assert (reply.status_code, reply.json()["topic_summary"]) == (200, "My notes")
    assert (await client.get(f"/threads/{session}")).json()["topic_summary"] == "My notes"


async def test_a_summary_that_cannot_be_used_is_refused(client: httpx.AsyncClient) -> None:
    session = (await _ask(client, "What is a Fresnel lens made of?"))["session_id"]

    for said in ("", " ", "x" * 201):
        reply = await client.patch(f"/threads/{session}", json={"topic_summary": said})
        assert reply.status_code == 422
    nobodys = await client.patch(f"/threads/{uuid.uuid4()}", json={"topic_summary": "Mine"})
    assert nobodys.status_code == 404
    assert (await client.get(f"/threads/{uuid.uuid4()}/messages")).status_code == 404


async def test_a_thread_says_by_which_contract_it_came_and_how_it_is(
    client: httpx.AsyncClient,
) -> None:
    session = (await _ask(client, "What is a Fresnel lens made of?"))["session_id"]

    (thread,) = (await client.get("/threads?limit=1&state=active")).json()

    assert (thread["thread_id"], thread["contract"]) == (session, "chat")
    assert (await client.get("/threads?state=idle")).json() == []
    assert (await client.get("/threads?state=dead")).status_code == 422
