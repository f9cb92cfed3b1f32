"""The clients that the five data models have, written after the models alone."""

import asyncio
import json
import shutil
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, SQLiteSession
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI

from citewell.api.app import create_app
from citewell.errors import ModelUnavailable
from citewell.ingest.pipeline import ingest
from tests.api import serving as keyed
from tests.api.contracts.serving import INVENTED, LENS, ask, ask_streamed, serving
from tests.api.contracts.test_unchanged_clients import (
    AGENT,
    ASSISTANT,
    DIALECTS,
    QUERY,
    WORKFLOW,
    Dialect,
    forgetful,
)
from tests.api.live_server import Gated, served
from tests.api.serving import access, bearer, new_key
from tests.servers import HashEmbedder, build_services

every = pytest.mark.parametrize("said", DIALECTS, ids=lambda one: one.path)
FETCH = """
const [url, body] = process.argv.slice(2);
const headers = {"Content-Type": "application/json", Accept: "text/event-stream"};
const reply = await fetch(url, {method: "POST", headers, body});
const events = [];
let buffer = "", event = "message", data = [];
for await (const bytes of reply.body.pipeThrough(new TextDecoderStream())) {
  buffer += bytes;
  const lines = buffer.split(/\\r\\n|\\n|\\r/);
  buffer = lines.pop();
  for (const line of lines) {
    if (line === "") {
      if (data.length) events.push([event, JSON.parse(data.join("\\n"))]);
      [event, data] = ["message", []];
    } else if (line.startsWith("event:")) event = line.slice(6).trimStart();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
}
console.log(JSON.stringify({status: reply.status, events}));
"""


async def fetched(address: str, path: str, body: Any, tmp_path: Path) -> list[tuple[str, Any]]:
    """Ask with `fetch` of JavaScript, and parse the stream as `EventSource` does."""
    script = tmp_path / "client.mjs"
    script.write_text(FETCH)
    command = ["node", str(script), f"{address}{path}", json.dumps(body)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)
    printed = json.loads(done.stdout)
    assert printed["status"] == 200
    return [(name, data) for name, data in printed["events"]]


def searching(*queries: str, text: str) -> Callable[[object], ScriptedModel]:
    """Return what makes a model that searches for each query and then writes."""
    calls = [
        [function_call("search_textbook", {"query": query}, call_id=f"c{n}")]
        for n, query in enumerate(queries)
    ]
    return lambda _: ScriptedModel([*calls, [assistant_message(text)]])


def unreachable(_: object) -> ScriptedModel:
    return ScriptedModel([ModelStep.raise_error(ModelUnavailable("The model is down."))] * 9)


@every
async def test_messages_are_in_order_where_questions_overlap(
    tiny_copy: Path, said: Dialect
) -> None:
    stopped, go_on = asyncio.Event(), asyncio.Event()

    async def gate() -> None:
        stopped.set()
        await go_on.wait()

    services = build_services(tiny_copy)
    workflows = {name: Gated(one, gate) for name, one in services.workflows.items()}
    services = replace(services, answerer=Gated(services.answerer, gate), workflows=workflows)
    session = str(uuid.uuid4())
    async with serving(services) as client:
        asking = [asyncio.create_task(ask(client, said.path, said.body(session=session)))]
        await stopped.wait()
        sent = datetime.now(UTC)
        for _ in range(2):
            asking.append(asyncio.create_task(ask(client, said.path, said.body("thanks", session))))
            await asyncio.sleep(0)
        for _ in range(10_000):
            if len(await services.threads.answers(state="processing", limit=9, offset=0)) == 3:
                break
        waited = datetime.now(UTC)
        go_on.set()
        await asyncio.gather(*asking)
        shown = (await client.get(said.view.format(session))).json()
        record = await services.threads.load(session)

    history = shown[said.history]
    stamps = [datetime.fromisoformat(one[said.at]) for one in history]
    assert len(stamps) == (3 if said is QUERY else 6)
    assert stamps == sorted(stamps)
    assert record
    arrived = [
        datetime.fromisoformat(one.record["received_at"])
        for one in record.messages
        if one.role == "assistant"
    ]
    assert arrived[0] < sent <= min(arrived[1:]) <= max(arrived[1:]) <= waited
    if said is QUERY:
        seen = [datetime.fromisoformat(one["metadata"]["received_at"]) for one in history]
        assert seen == arrived


async def test_a_client_whose_clock_was_put_back_gets_its_messages_in_order(
    client: httpx.AsyncClient,
) -> None:
    now, session = datetime.now(UTC), str(uuid.uuid4())
    for minutes in (1, 30):
        stamp = (now - timedelta(minutes=minutes)).isoformat()
        await ask(client, WORKFLOW.path, WORKFLOW.body("thanks", session, timestamp=stamp))

    shown = (await client.get(f"/conversations/{session}")).json()

    stamps = [datetime.fromisoformat(one["timestamp"]) for one in shown["messages"]]
    assert stamps == sorted(stamps)
    assert stamps[0] < now


async def test_each_line_of_the_contents_has_a_source(client: httpx.AsyncClient) -> None:
    body = await ask(client, AGENT.path, AGENT.body("list the chapters"))
    streamed = await ask_streamed(client, AGENT.stream, AGENT.body("list the chapters"))

    lines = [line for line in body["response_text"].splitlines() if line.strip()]
    assert all(line.rstrip().endswith("]") for line in lines), lines
    assert body["grounding_validation"]["is_fully_ground"] is True
    retrieved = [
        chunk["id"]
        for name, data in streamed
        if name == "retrieved_content"
        for chunk in data["content_chunks"]
    ]
    assert {one["content_id"] for one in body["sources"]} <= set(retrieved)


async def test_lines_without_a_source_are_not_called_grounded(
    tiny_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.answer.pipeline.MAX_OPENED", 2)
    async with serving(build_services(tiny_copy)) as client:
        body = await ask(client, AGENT.path, AGENT.body("list the chapters"))

    grounding = body["grounding_validation"]
    assert grounding["is_fully_ground"] is grounding["is_fully_grounded"] is False
    assert grounding["unsupported_claims"] == ["Welcome"]


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
async def test_a_browser_is_told_by_the_workflow_that_the_model_is_down(
    tiny_copy: Path, tmp_path: Path
) -> None:
    services = build_services(tiny_copy, model=unreachable)
    async with served(create_app(services)) as address:
        events = await fetched(address, WORKFLOW.stream, WORKFLOW.body(), tmp_path)
        async with httpx.AsyncClient(base_url=address) as client:
            whole = await ask(client, WORKFLOW.path, WORKFLOW.body())
            shown = (await client.get(f"/conversations/{whole['threadId']}")).json()

    names = [name for name, _ in events]
    assert (names[0], names[-1]) == ("start", "done")
    assert "error" not in names
    for body in (whole, events[-1][1]):
        assert body["error"] == "The language model cannot be used right now."
        assert body["responseText"]
        assert body["workflowId"] == "book"
        assert body["responseTime"] >= 0
        assert body["ragContextIncluded"] is True
        assert body["ragContext"]["chunks"]
    assert events[0][1]["threadId"] == events[-1][1]["threadId"]
    question, reply = shown["messages"]
    assert (question["role"], reply["error"]) == ("user", whole["error"])


async def test_only_sessions_of_the_assistant_have_ten_requests_a_minute(tiny_copy: Path) -> None:
    services = build_services(tiny_copy)
    key = bearer(await new_key(services))
    async with keyed.serving(services) as client:
        for said in DIALECTS:
            session = str(uuid.uuid4())
            found = [
                (await client.post(said.path, json=said.body("thanks", session), headers=key))
                for _ in range(11)
            ]
            last = 429 if said is ASSISTANT else 200
            assert [one.status_code for one in found] == [200] * 10 + [last], said.path


@pytest.mark.parametrize("said", [AGENT, QUERY], ids=lambda one: one.path)
@pytest.mark.parametrize(
    ("session", "opens"),
    [
        ("thread_abc123DEF456ghi7JKL", True),
        ("thread_qV5jTz2mXw8RkPn4LhYc7Bd3", True),
        ("5f8d0d55b54764421b7156c9", True),
        ("Zl3kQ9-x_T7vB2mN8wRp4A", True),
        ("0199a3f4-6c1d-7b2e-9f30-1a2b3c4d5e6f", True),
        ("own-id-1", False),
        ("thread_1", False),
        ("my-conversation-about-robots-2026", False),
        ("user42session20260115", False),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", False),
        ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", False),
    ],
)
async def test_an_id_that_cannot_be_guessed_opens_its_conversation(
    tiny_copy: Path, said: Dialect, session: str, opens: bool
) -> None:
    async with keyed.serving(build_services(tiny_copy), **access(mode="open")) as client:
        first = await forgetful(client, said.path, said.body("thanks", session))
        again = await forgetful(client, said.path, said.body("thanks", session))

    assert first.status_code == 200
    assert again.status_code == (200 if opens else 404)


async def test_a_conversation_is_found_by_either_of_its_ids(client: httpx.AsyncClient) -> None:
    ids = {"conversation_id": f"pp-{uuid.uuid4()}", "thread_id": f"thread_{uuid.uuid4().hex}"}
    first = await ask(client, AGENT.path, AGENT.body("What is a Fresnel lens?", **ids))
    second = await ask(
        client, AGENT.path, AGENT.body("What is it made of?", thread_id=ids["thread_id"])
    )
    shown = [(await client.get(AGENT.view.format(one))).json() for one in ids.values()]

    assert first["conversation_id"] == second["conversation_id"] == ids["conversation_id"]
    assert LENS in second["response_text"]
    assert shown[0] == shown[1]
    assert shown[0]["openai_thread_id"] == ids["thread_id"]
    assert len(shown[0]["conversation_history"]) == 4
    assert (await client.delete(AGENT.view.format(ids["thread_id"]))).status_code == 204
    assert (await client.get(AGENT.view.format(ids["conversation_id"]))).status_code == 404


async def test_the_other_id_opens_to_strangers_only_if_it_cannot_be_guessed(
    tiny_copy: Path,
) -> None:
    async with keyed.serving(build_services(tiny_copy), **access(mode="open")) as client:
        found = {}
        for other in ("thread_1", "thread_abc123DEF456ghi7JKL"):
            ids = {"conversation_id": str(uuid.uuid4()), "thread_id": other}
            await forgetful(client, AGENT.path, AGENT.body("thanks", **ids))
            again = await forgetful(client, AGENT.path, AGENT.body("thanks", thread_id=other))
            found[other] = again.json()["conversation_id"] == ids["conversation_id"]

    assert found == {"thread_1": False, "thread_abc123DEF456ghi7JKL": True}


async def test_a_whole_page_of_own_text_is_taken_and_read_where_the_answer_is(
    client: httpx.AsyncClient,
) -> None:
    filler = "The harbour has many boats, and each of them has a name. " * 540
    page = f"{filler}\n\nThe pump of the quay starts at nine bar.\n\n{filler}"[:63_000]
    own = {"context_mode": "user_provided", "user_context": page}
    body = await ask(client, AGENT.path, AGENT.body("When does the pump start?", **own))
    unused = await ask(client, AGENT.path, AGENT.body(user_context="日本" * 60_000))

    assert "The pump of the quay starts at nine bar." in body["response_text"]
    assert LENS in unused["response_text"]


async def test_what_the_model_was_given_is_counted_and_ranked(tmp_path: Path) -> None:
    pages = tmp_path / "harbour"
    pages.mkdir()
    for number, thing in enumerate(("lens", "pump", "rope", "winch", "crane")):
        lines = [f"## The {thing} {n}\n\nThe {thing} {n} is made of glass {n}.\n" for n in range(3)]
        (pages / f"{number}.md").write_text(f"# Of the {thing}\n\n" + "\n".join(lines))
    ingest(pages, tmp_path / "books", HashEmbedder())
    question = "What is the lens made of?"
    queries = ("pump made of glass", "rope made of glass", "crane made of glass")
    model = searching(*queries, text=f"{INVENTED} [1]")
    async with serving(build_services(tmp_path, model=model)) as client:
        withheld = await ask(client, ASSISTANT.path, ASSISTANT.body(question))
        events = await ask_streamed(client, QUERY.stream, QUERY.body(question))

    found = [data["chunks"] for name, data in events if name == "chunks"]
    assert len(found) > 1
    for chunks in found:
        assert [chunk["rank"] for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert withheld["metadata"]["context_chunks"] == len(found[-1])
    assert withheld["sources"] == []
    assert "couldn't find" not in withheld["message"]


async def test_an_agents_own_session_holds_a_conversation_about_the_book(
    tiny_copy: Path, tmp_path: Path
) -> None:
    """A client of the Agents SDK keeps its history itself, and asks the service as its model."""
    config = RunConfig(tracing_disabled=True)
    session = SQLiteSession("reader", tmp_path / "session.db")
    async with (
        served(create_app(build_services(tiny_copy))) as address,
        AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
    ):
        agent = Agent(
            name="Librarian", model=OpenAIChatCompletionsModel("tiny", openai_client=client)
        )
        first = await Runner.run(
            agent, "What is a Fresnel lens?", session=session, run_config=config
        )
        again = await Runner.run(agent, "What is it made of?", session=session, run_config=config)
        items = await session.get_items()
    session.close()

    assert "lens" in first.final_output
    assert LENS in again.final_output
    assert [item.get("role") for item in items] == ["user", "assistant"] * 2
