"""A client that was written after one of the data models works as it is, with keys or without."""

import asyncio
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.options import WorkflowOptions
from citewell.wiring import Services
from tests.api import serving as keyed
from tests.api.contracts.serving import COVERED, LENS, Body, ask, ask_streamed, serving
from tests.api.live_server import Gated
from tests.api.serving import ORIGIN, access, bearer, limits, new_key
from tests.servers import build_services


@dataclass(frozen=True)
class Dialect:
    """What a client of one contract says and reads."""

    path: str
    text: str
    id: str
    """The name of the conversation in a request."""
    given: str
    """Its name in a response."""
    says: str
    """The text of a response."""
    view: str
    history: str
    at: str
    begun: str
    latest: str
    extra: Any = ()

    def body(self, text: str = COVERED, session: str | None = None, **more: Any) -> Body:
        sent = {"timestamp": datetime.now(UTC).isoformat(), "sessionId": "tab"}
        own = sent if self.text == "queryText" else {}
        return {self.text: text, **own, **({self.id: session} if session else {}), **more}

    @property
    def stream(self) -> str:
        return self.path.removesuffix("/run") + "/stream"

    def times(self, shown: Body) -> tuple[str, str]:
        """Give when the first question came and when its answer was finished."""
        history = shown[self.history]
        if self.path == "/query":
            return history[0]["metadata"]["received_at"], history[0]["timestamp"]
        return history[0][self.at], history[1][self.at]


AGENT = Dialect(
    "/agent/ask",
    "query_text",
    "conversation_id",
    "conversation_id",
    "response_text",
    "/agent/sessions/{}",
    "conversation_history",
    "timestamp",
    "created_at",
    "last_interaction",
)
ASSISTANT = Dialect(
    "/assistant/chat",
    "message",
    "session_id",
    "session_id",
    "message",
    "/assistant/sessions/{}",
    "turns",
    "timestamp",
    "created_at",
    "last_activity",
)
WORKFLOW = Dialect(
    "/workflows/book/chat",
    "queryText",
    "conversationId",
    "threadId",
    "responseText",
    "/conversations/{}",
    "messages",
    "timestamp",
    "createdAt",
    "lastActivityAt",
)
CHAT = Dialect(
    "/chat/run",
    "message",
    "session_id",
    "session_id",
    "response",
    "/threads/{}",
    "messages",
    "timestamp",
    "created_at",
    "updated_at",
)
QUERY = Dialect(
    "/query",
    "query",
    "session_id",
    "session_id",
    "response",
    "/sessions/{}",
    "conversation_history",
    "timestamp",
    "created_at",
    "last_activity",
)
DIALECTS = [AGENT, ASSISTANT, WORKFLOW, CHAT, QUERY]
every = pytest.mark.parametrize("said", DIALECTS, ids=lambda one: one.path)
NULLS: dict[str, Body] = {
    "/agent/ask": {"context_mode": None, "filters": None, "user_context": None, "thread_id": None},
    "/assistant/chat": {"session_id": None},
    "/workflows/book/chat": {"conversationId": None},
    "/chat/run": {
        "stream": None,
        "top_k": None,
        "similarity_threshold": None,
        "context_mode": None,
        "filters": None,
        "book": None,
        "metadata": None,
    },
    "/query": {"user_context": None, "timestamp": None, "session_id": None},
}


@every
async def test_unknown_fields_are_ignored_and_null_is_the_default(
    client: httpx.AsyncClient, said: Dialect
) -> None:
    plain = await ask(client, said.path, said.body())
    more = said.body(**NULLS[said.path], temperature=0.2, nested={"a": [1]})

    assert (await ask(client, said.path, more))[said.says] == plain[said.says]
    streamed = await ask_streamed(client, said.stream, more)
    assert streamed[-1][1][said.says] == plain[said.says]


@pytest.mark.parametrize("path", ["/search", "/search_book"])
async def test_unknown_fields_are_ignored_beside_the_contracts(
    client: httpx.AsyncClient, path: str
) -> None:
    assert (await client.post(path, json={"query": "a lens", "limit": 3, "top_k": None})).is_success


@every
async def test_a_question_is_dated_when_it_came_and_its_answer_when_it_was_finished(
    tiny_copy: Path, said: Dialect
) -> None:
    stopped, go_on = asyncio.Event(), asyncio.Event()

    async def gate() -> None:
        stopped.set()
        await go_on.wait()

    session = str(uuid.uuid4())
    async with serving(_gated(build_services(tiny_copy), gate)) as client:
        before = datetime.now(UTC)
        asking = asyncio.create_task(ask(client, said.path, said.body(session=session)))
        await stopped.wait()
        begun = await client.get(said.view.format(session))
        writing = datetime.now(UTC)
        go_on.set()
        await asking
        shown = (await client.get(said.view.format(session))).json()

    asked, answered = map(datetime.fromisoformat, said.times(shown))
    created, latest = (datetime.fromisoformat(shown[one]) for one in (said.begun, said.latest))
    assert before <= asked <= writing < answered
    assert before <= created <= writing
    assert latest == answered
    assert begun.status_code == 200
    assert begun.json()[said.history] == []
    assert datetime.fromisoformat(begun.json()[said.begun]) == created
    if said is AGENT:
        assert (begun.json()["state"], shown["state"]) == ("created", "active")
    if said is WORKFLOW:
        assert begun.json()["state"] == "initial"


async def test_a_workflows_message_is_dated_when_its_client_says_it_was_sent(
    client: httpx.AsyncClient,
) -> None:
    now = datetime.now(UTC)
    sent = [now - timedelta(minutes=30), now + timedelta(minutes=4)]
    session = str(uuid.uuid4())
    for moment in sent:
        body = WORKFLOW.body(session=session, timestamp=moment.isoformat())
        await ask(client, WORKFLOW.path, body)

    shown = (await client.get(f"/conversations/{session}")).json()

    first, _, ahead, answer = (datetime.fromisoformat(m["timestamp"]) for m in shown["messages"])
    assert first == sent[0]
    assert now <= ahead < answer  # a clock that is ahead dates nothing after its answer
    assert now <= datetime.fromisoformat(shown["createdAt"])


def _gated(services: Services, gate: Any) -> Services:
    workflows = {name: Gated(one, gate) for name, one in services.workflows.items()}
    return replace(services, answerer=Gated(services.answerer, gate), workflows=workflows)


async def forgetful(client: httpx.AsyncClient, path: str, body: Body, **headers: str) -> Any:
    """Ask as a client that keeps neither cookies nor headers."""
    client.cookies.clear()
    reply = await client.post(path, json=body, headers=headers)
    client.cookies.clear()
    return reply


@every
async def test_a_follow_up_by_its_id_alone_works_where_nobody_needs_a_key(
    tiny_copy: Path, said: Dialect
) -> None:
    services = build_services(tiny_copy)
    async with keyed.serving(services, **access(mode="open")) as client:
        first = (await forgetful(client, said.path, said.body("What is a Fresnel lens?"))).json()
        session = first[said.given]
        follow_up = said.body("What is it made of?", session)
        whole = await forgetful(client, said.path, follow_up)
        streamed = await forgetful(client, said.stream, follow_up)
        client.cookies.clear()
        shown = (await client.get(said.view.format(session))).json()
        client.cookies.clear()
        listed = (await client.get("/threads")).json()
        client.cookies.clear()
        deleted = await client.delete(said.view.format(session))

    assert whole.json()[said.given] == session
    assert LENS in whole.json()[said.says]
    assert streamed.status_code == 200
    assert len(shown[said.history]) == (3 if said is QUERY else 6)
    assert listed == []
    assert deleted.status_code == 204


@every
async def test_a_follow_up_by_its_id_alone_works_with_a_publishable_key_and_with_no_other(
    tiny_copy: Path, said: Dialect
) -> None:
    services = build_services(tiny_copy)
    ours, theirs = [
        bearer(await new_key(services, origins=(ORIGIN,)), Origin=ORIGIN) for _ in range(2)
    ]
    secret = bearer(await new_key(services))
    async with keyed.serving(services) as client:
        first = (await forgetful(client, said.path, said.body(), **ours)).json()
        session = first[said.given]
        body = said.body("thanks", session)
        own = await forgetful(client, said.path, body, **ours)
        others = [await forgetful(client, said.path, body, **key) for key in (theirs, secret)]
        seen = [await client.get(said.view.format(session), headers=k) for k in (theirs, secret)]

    assert own.status_code == 200
    assert {reply.status_code for reply in (*others, *seen)} == {404}


@every
async def test_what_was_begun_with_a_token_needs_it(tiny_copy: Path, said: Dialect) -> None:
    token = {"X-Citewell-Reader": "a" * 32}
    async with keyed.serving(build_services(tiny_copy), **access(mode="open")) as client:
        session = (await forgetful(client, said.path, said.body(), **token)).json()[said.given]
        body = said.body("thanks", session)
        without = await forgetful(client, said.path, body)
        another = await forgetful(client, said.path, body, **{"X-Citewell-Reader": "b" * 32})
        own = await forgetful(client, said.path, body, **token)
        client.cookies.clear()
        read = await client.get(said.view.format(session))

    assert (without.status_code, another.status_code, own.status_code) == (404, 404, 200)
    assert read.status_code == 404


@pytest.mark.parametrize("said", [AGENT, QUERY], ids=lambda one: one.path)
async def test_an_id_that_can_be_guessed_opens_nothing_without_the_token_of_its_first_answer(
    tiny_copy: Path, said: Dialect
) -> None:
    async with keyed.serving(build_services(tiny_copy), **access(mode="open")) as client:
        first = await forgetful(client, said.path, said.body(session="conv-1"))
        body = said.body("thanks", "conv-1")
        without = await forgetful(client, said.path, body)
        token = {"X-Citewell-Reader": first.json()["reader_token"]}
        own = await forgetful(client, said.path, body, **token)

    assert first.headers["X-Citewell-Reader"] == first.json()["reader_token"]
    assert without.status_code == 404
    assert own.status_code == 200
    assert own.json()["reader_token"] is None


async def test_a_stream_tells_the_token_first_and_last(tiny_copy: Path) -> None:
    async with keyed.serving(build_services(tiny_copy), **access(mode="open")) as client:
        reply = await forgetful(client, "/chat/stream", CHAT.body())

    token = reply.headers["X-Citewell-Reader"]
    assert reply.text.count(f'"reader_token": "{token}"') == 2


async def test_questions_without_a_token_are_counted_for_their_conversation(
    tiny_copy: Path,
) -> None:
    session = str(uuid.uuid4())
    settings = {**access(mode="open"), **limits(per_session="2/minute")}
    async with keyed.serving(build_services(tiny_copy), **settings) as client:
        found = [
            # What the contract does not know must not hide the conversation that it does.
            await forgetful(client, "/assistant/chat", ASSISTANT.body("hi", session, id=str(n)))
            for n in range(3)
        ]

    assert [reply.status_code for reply in found] == [200, 200, 429]


async def test_an_upper_case_id_names_the_same_conversation_everywhere(
    client: httpx.AsyncClient,
) -> None:
    upper = str(uuid.uuid4()).upper()
    for said in (CHAT, ASSISTANT, WORKFLOW):
        body = await ask(client, said.path, said.body(session=upper))
        assert body[said.given] == upper.lower()
        for named in (upper, upper.lower()):
            assert (await client.get(said.view.format(named))).status_code == 200
        assert (await client.delete(said.view.format(upper))).status_code == 204
        assert (await client.get(said.view.format(upper.lower()))).status_code == 404


async def test_threads_are_those_of_the_native_contract_alone(client: httpx.AsyncClient) -> None:
    for said in (AGENT, ASSISTANT, WORKFLOW, QUERY):
        session = (await ask(client, said.path, said.body()))[said.given]
        listed = {one["thread_id"] for one in (await client.get("/threads?limit=100")).json()}
        address = f"/threads/{session}"
        found = [
            await client.get(address),
            await client.get(f"{address}/messages"),
            await client.patch(address, json={"topic_summary": "Mine"}),
            await client.delete(address),
        ]

        assert session not in listed
        assert {reply.status_code for reply in found} == {404}
        assert (await client.get(said.view.format(session))).status_code == 200


async def test_metadata_is_kept_with_the_thread_and_can_be_changed(
    client: httpx.AsyncClient,
) -> None:
    first = CHAT.body(metadata={"tags": ["ros2"], "level": 1}, user_id="user123")
    session = (await ask(client, CHAT.path, first))["session_id"]
    address = f"/threads/{session}"
    begun = (await client.get(address)).json()["metadata"]
    await ask(client, CHAT.path, CHAT.body("thanks", session, metadata={"level": 2}))
    grown = (await client.get(address)).json()["metadata"]
    patched = await client.patch(address, json={"metadata": {"tags": []}})

    assert begun == {"tags": ["ros2"], "level": 1, "user_id": "user123"}
    assert grown == {"tags": ["ros2"], "level": 2, "user_id": "user123"}
    assert patched.json()["metadata"] == {"tags": []}
    assert (await client.get(address)).json()["metadata"] == {"tags": []}
    assert (await client.patch(address, json={})).status_code == 422


async def test_a_session_names_its_user_by_the_request_or_else_by_the_key(tiny_copy: Path) -> None:
    services = build_services(tiny_copy)
    key = bearer(await new_key(services))
    async with keyed.serving(services) as client:
        for session, more in (("mine", {}), ("ada's", {"user_id": "ada"})):
            body = AGENT.body(session=session, **more)
            assert (await client.post(AGENT.path, json=body, headers=key)).is_success
        mine = (await client.get("/agent/sessions/mine", headers=key)).json()
        adas = (await client.get("/agent/sessions/ada's", headers=key)).json()

    assert mine["user_id"].startswith("key_")
    assert adas["user_id"] == "ada"


async def test_context_was_included_if_it_was_given_whatever_became_of_the_answer(
    tiny_copy: Path,
) -> None:
    from tests.api.contracts.serving import INVENTED, says

    async with serving(build_services(tiny_copy, model=says(f"{INVENTED} [1]"))) as client:
        body = await ask(client, WORKFLOW.path, WORKFLOW.body())
        events = await ask_streamed(client, WORKFLOW.stream, WORKFLOW.body())
        shown = (await client.get(f"/conversations/{body['threadId']}")).json()

    assert "couldn't find" not in body["responseText"]
    assert body["responseText"].startswith("The book doesn't clearly prove what I wrote")
    assert body["ragContextIncluded"] is True
    assert body["ragContext"]["query"] == COVERED
    assert shown["messages"][1]["ragContextUsed"] is True
    (context,) = [data for name, data in events if name == "ragContext"]
    assert (context["query"], context["searchedFor"]) == (COVERED, COVERED)


async def test_a_key_sees_the_workflows_of_its_books(tiny_copy: Path) -> None:
    flows = (
        WorkflowOptions(id="any"),
        WorkflowOptions(id="tiny", book="tiny"),
        WorkflowOptions(id="secret", book="secret"),
    )
    services = build_services(tiny_copy, workflows=flows)
    some, every_book = (
        bearer(await new_key(services, books=("tiny",))),
        bearer(await new_key(services)),
    )
    async with keyed.serving(services) as client:
        mine = (await client.get("/workflows", headers=some)).json()
        every_one = (await client.get("/workflows", headers=every_book)).json()
        hidden = await client.post("/workflows/secret/chat", json=WORKFLOW.body(), headers=some)

    assert [one["workflowId"] for one in mine] == ["any", "tiny"]
    assert len(every_one) == 3
    assert (hidden.status_code, hidden.json()["code"]) == (404, "UnknownWorkflow")
    assert "secret" not in hidden.json()["detail"].partition("known:")[2]
