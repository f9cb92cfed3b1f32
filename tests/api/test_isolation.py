"""Nobody reads, continues or deletes what is another's, whatever contract it was asked by."""

from pathlib import Path
from types import ModuleType

import httpx
import pytest

from citewell.wiring import Services
from tests.api.contracts import (
    test_seed_000,
    test_seed_001,
    test_seed_002,
    test_seed_003,
    test_seed_004,
)
from tests.api.serving import bearer, new_key, serving
from tests.servers import build_services

CONTRACTS = [
    pytest.param(test_seed_000, "/agent/sessions/{}", "conversation_id", id="agent"),
    pytest.param(test_seed_001, "/assistant/sessions/{}", "session", id="assistant"),
    pytest.param(test_seed_002, "/conversations/{}", "conversationId", id="workflow"),
    pytest.param(test_seed_003, "/threads/{}", "session_id", id="chat"),
    pytest.param(test_seed_004, "/sessions/{}", "session_id", id="query"),
]


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


async def doors(client: httpx.AsyncClient, thread: str, answer: str, session: str | None) -> set:
    """Return the statuses of every way to a conversation and its answer."""
    reads = [
        f"/threads/{thread}",
        f"/threads/{thread}/messages",
        f"/answers/{answer}",
        f"/streams/{answer}",
        *([session.format(thread)] if session else []),
    ]
    found = [await client.get(path) for path in reads]
    found.append(await client.post(f"/answers/{answer}/replay"))
    found.append(await client.post("/feedback", json={"answer_id": answer, "verdict": "down"}))
    found.append(await client.patch(f"/threads/{thread}", json={"topic_summary": "mine"}))
    found += [await client.delete(path) for path in reads[:1] + reads[4:]]
    return {reply.status_code for reply in found}


@pytest.mark.parametrize(("seed", "session", "field"), CONTRACTS)
async def test_one_key_can_do_nothing_with_what_another_asked(
    services: Services, seed: ModuleType, session: str, field: str
) -> None:
    hers, his = bearer(await new_key(services)), bearer(await new_key(services))
    async with serving(services) as client:
        path = seed.PATH.removesuffix("/run") + "/stream"
        streamed = await client.post(path, json=seed.query(), headers=hers)
        answer = streamed.text.partition("id: ")[2].partition(":")[0]
        own = await client.get(f"/answers/{answer}", headers=hers)
        thread = own.json()["session_id"]
        before = await client.get(session.format(thread), headers=hers)
        client.headers.update(his)

        listed = (await client.get("/threads")).json()
        seen = await doors(client, thread, answer, session)
        continued = await client.post(seed.PATH, json=seed.query(**{field: thread}))
        after = await client.get(session.format(thread), headers=hers)

    assert (own.status_code, before.status_code) == (200, 200)
    assert listed == []
    assert seen == {404}
    assert continued.status_code == 404
    assert after.json() == before.json()


async def test_what_a_chat_client_asked_is_its_own_as_well(services: Services) -> None:
    hers, his = bearer(await new_key(services)), bearer(await new_key(services))
    body = {"model": "tiny", "messages": [{"role": "user", "content": test_seed_003.COVERED}]}
    async with serving(services) as client:
        path = "/v1/chat/completions"
        whole = await client.post(path, json=body, headers=hers)
        streamed = await client.post(path, json=body | {"stream": True}, headers=hers)
        answers = [
            whole.json()["citewell"]["answer_id"],
            streamed.text.partition("chatcmpl-")[2].partition('"')[0],
        ]
        threads = (await client.get("/threads", headers=hers)).json()
        own = [(await client.get(f"/answers/{one}", headers=hers)).status_code for one in answers]
        client.headers.update(his)

        listed = (await client.get("/threads")).json()
        seen = [
            await doors(client, thread["thread_id"], answer, None)
            for thread in threads
            for answer in answers
        ]

    assert own == [200, 200]
    assert len(threads) == 2
    assert listed == []
    assert seen == [{404}] * 4
