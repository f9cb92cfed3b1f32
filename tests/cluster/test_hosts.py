"""Two workers of one host and one of another, on shared Qdrant, PostgreSQL and Redis."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx

from citewell.storage.keys import SqlKeyStore, make_key
from tests.api.live_server import ASKED, numbers, read_some
from tests.api.sse import parse_sse
from tests.cluster.hosts import BOUND, Installation, Worker

TURNS = (
    "What is a Fresnel lens made of?",
    "How much glass do its rings save?",
    "Why does the keeper wind the clockwork?",
    "What does the keeper do in fog?",
)
CONVERSATIONS = int(os.environ.get("CITEWELL_CLUSTER_CONVERSATIONS", "100"))


@dataclass
class Talk:
    """One conversation, and what its reader was told."""

    number: int
    session: str = field(default_factory=lambda: str(uuid4()))
    told: list[tuple[str, str]] = field(default_factory=list)
    """The id and the text of each answer."""


async def ask(client: httpx.AsyncClient, worker: Worker, message: str, session: str) -> dict:
    body = {"message": message, "session_id": session}
    reply = await client.post(f"{worker.address}/chat/run", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def take_turn(client: httpx.AsyncClient, workers: Sequence[Worker], talk: Talk) -> None:
    """Ask the next question at another worker than the last; at the next one, if it is dead."""
    turn = len(talk.told)
    for tries in range(len(workers)):
        worker = workers[(talk.number + turn + tries) % len(workers)]
        try:
            said = await ask(client, worker, TURNS[turn % len(TURNS)], talk.session)
        except httpx.TransportError:
            continue  # as a load balancer would
        talk.told.append((said["answer_id"], said["response"]))
        return
    raise AssertionError("no worker answers")


async def read(client: httpx.AsyncClient, worker: Worker, session: str) -> list[dict]:
    reply = await client.get(f"{worker.address}/threads/{session}")
    assert reply.status_code == 200, reply.text
    return reply.json()["messages"]


def connections() -> httpx.AsyncClient:
    # A connection for each question: a worker may be killed at any of them.
    return httpx.AsyncClient(timeout=BOUND, limits=httpx.Limits(max_keepalive_connections=0))


async def test_conversations_go_on_at_another_worker_at_every_turn(
    hosts: Installation, tiny_book: Path
) -> None:
    hosts.ingest(tiny_book, "ingest")
    workers = [hosts.start("a"), hosts.start("a"), hosts.start("b")]
    talks = [Talk(number) for number in range(CONVERSATIONS)]
    async with connections() as client:
        for _ in TURNS:
            await asyncio.gather(*(take_turn(client, workers, talk) for talk in talks))
        kept = [await read(client, workers[t.number % 3], t.session) for t in talks]
        # The same conversation, all of it at one worker.
        alone = Talk(0)
        for _ in TURNS:
            await take_turn(client, workers[:1], alone)

    expected = [text for _, text in alone.told]
    assert {tuple(text for _, text in talk.told) for talk in talks} == {tuple(expected)}
    for talk, messages in zip(talks, kept, strict=True):
        assert [m["content"] for m in messages[::2]] == list(TURNS)
        assert [(m["id"], m["content"]) for m in messages[1::2]] == talk.told


async def test_nothing_is_lost_when_a_worker_is_killed(
    hosts: Installation, tiny_book: Path
) -> None:
    hosts.ingest(tiny_book, "ingest")
    workers = [hosts.start("a"), hosts.start("a"), hosts.start("b")]
    talks = [Talk(number) for number in range(CONVERSATIONS)]
    answered = asyncio.Event()

    async def talk_on(client: httpx.AsyncClient, talk: Talk) -> None:
        for _ in TURNS:
            await take_turn(client, workers, talk)
            if sum(len(one.told) for one in talks) >= CONVERSATIONS:
                answered.set()

    async with connections() as client:
        talking = asyncio.gather(*(talk_on(client, talk) for talk in talks))
        await answered.wait()
        workers[1].kill()
        await talking
        kept = [await read(client, workers[2], talk.session) for talk in talks]

    for talk, messages in zip(talks, kept, strict=True):
        assert len(talk.told) == len(TURNS)
        said = [(m["id"], m["content"]) for m in messages if m["role"] == "assistant"]
        # What was told is kept, in order. An answer that the worker kept and could not send any
        # more stands there, too: its question was asked again.
        assert [one for one in said if one in talk.told] == talk.told
        assert Counter(m["content"] for m in messages if m["role"] == "user") >= Counter(TURNS)


async def test_a_stream_begun_at_one_host_goes_on_at_another(
    hosts: Installation, tiny_book: Path
) -> None:
    hosts.ingest(tiny_book, "ingest")
    here, there = hosts.start("a", gated=True), hosts.start("b", gated=True)
    async with httpx.AsyncClient(timeout=BOUND) as client:
        before = await read_some(client, f"{here.address}/chat/stream", 2)
        seen = await read_some(client, f"{there.address}/chat/stream", 1, last=before[0][0])
        here.open_gate()
        reply = await client.post(
            f"{there.address}/chat/stream", json=ASKED, headers={"last-event-id": before[-1][0]}
        )
    events = [*before, *parse_sse(reply.text)]

    assert seen == before[1:2]
    assert numbers(events) == list(range(1, len(events) + 1))
    assert events[-1][1] == "done"


async def test_the_same_question_at_two_hosts_at_once_is_made_once(
    hosts: Installation, tiny_book: Path
) -> None:
    hosts.ingest(tiny_book, "ingest")
    workers = [hosts.start("a"), hosts.start("b")]
    async with connections() as client:
        replies = await asyncio.gather(
            *(ask(client, workers[n % 2], TURNS[0], str(uuid4())) for n in range(20))
        )
        figures = [(await client.get(f"{w.address}/metrics")).text for w in workers]

    assert len({reply["response"] for reply in replies}) == 1
    made = sum(
        float(line.rpartition(" ")[2])
        for text in figures
        for line in text.splitlines()
        if line.startswith("citewell_stage_seconds_count") and 'stage="retrieve"' in line
    )
    assert made == 1


async def test_limits_are_counted_for_all_workers_together(
    hosts: Installation, tiny_book: Path
) -> None:
    hosts.ingest(tiny_book, "ingest")
    key, secret = make_key("reader", scopes=frozenset({"ask"}), created_at=datetime.now(UTC))
    await SqlKeyStore(hosts.database, Path(os.devnull)).add(key)
    limit = {"CITEWELL_LIMITS__PER_KEY": "10/hour"}
    workers = [hosts.start("a", **limit), hosts.start("a", **limit), hosts.start("b", **limit)]
    headers = {"authorization": f"Bearer {secret}"}
    async with connections() as client:
        replies = await asyncio.gather(
            *(
                client.get(f"{workers[n % 3].address}/books", headers=headers, timeout=BOUND)
                for n in range(30)
            )
        )

    assert Counter(reply.status_code for reply in replies) == {200: 10, 429: 20}


async def test_hosts_see_what_another_ingested_without_a_restart(
    hosts: Installation, tiny_book: Path, tmp_path: Path
) -> None:
    first = hosts.ingest(tiny_book, "ingest")
    workers = [hosts.start("a"), hosts.start("b")]
    source = tmp_path / "source"
    source.mkdir()
    (source / "fog.md").write_text("# Fog\n\nIn fog the keeper rings a brass bell.\n")

    async def revisions(client: httpx.AsyncClient) -> list[str]:
        replies = [await client.get(f"{worker.address}/books") for worker in workers]
        return [reply.json()[0]["revision"] for reply in replies]

    async with connections() as client:
        assert await revisions(client) == [first.revision] * 2
        # At a host that never had the book: it takes it from the server first.
        second = await asyncio.to_thread(hosts.ingest, source, "another")
        async with asyncio.timeout(BOUND):
            while await revisions(client) != [second.revision] * 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        asked = "What does the keeper ring in fog?"
        told = [await ask(client, worker, asked, str(uuid4())) for worker in workers]

    assert all("brass bell" in reply["response"] for reply in told)
    assert not (hosts.folder / "a" / "books").exists()
    assert not (hosts.folder / "b" / "books").exists()


async def test_no_question_fails_when_a_node_of_the_index_is_killed(
    hosts: Installation, tiny_book: Path
) -> None:
    hosts.ingest(tiny_book, "ingest")
    never = {"CITEWELL_CACHE__ANSWERS": "0", "CITEWELL_CACHE__EMBEDDINGS": "0"}
    workers = [hosts.start("a", **never), hosts.start("b", **never)]
    statuses: list[int] = []
    told: set[str] = set()

    async def load(client: httpx.AsyncClient, worker: Worker) -> None:
        for _ in range(40):
            reply = await client.post(f"{worker.address}/chat/run", json={"message": TURNS[0]})
            statuses.append(reply.status_code)
            told.add(reply.json().get("response", reply.text))

    async with connections() as client:
        loading = asyncio.gather(*(load(client, workers[n % 2]) for n in range(6)))
        for node in hosts.nodes[:2]:  # one after the other; the first is back before the second
            asked = len(statuses)
            while len(statuses) < asked + 40:  # noqa: ASYNC110 - under load
                await asyncio.sleep(0.01)
            node.kill()
            while len(statuses) < asked + 80:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.to_thread(node.start)
        await loading

    assert Counter(statuses) == {200: 240}
    assert len(told) == 1
