"""What only one process may do at a time, on SQLite and on PostgreSQL."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from citewell.options import ThreadOptions
from citewell.storage.sweeper import SweepResult, sweep
from citewell.storage.threads import SqlThreadStore

ROOT = Path(__file__).parents[2]
HOLDER = """
import asyncio, sys
from citewell.storage.threads import SqlThreadStore

async def main():
    store = SqlThreadStore(sys.argv[1])
    await store.open()
    await store.lease.acquire()
    if sys.argv[2] == "lead":
        assert await store.lease.is_leader()
        print("held", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    else:
        async with store.turn("talk"):
            print("held", flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await store.close()

asyncio.run(main())
"""


def start(url: str, what: str) -> "subprocess.Popen[str]":
    """Start another process that holds something until it is told to go on, or killed."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, what],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    return other


async def test_a_turn_waits_for_the_one_in_another_process(store: SqlThreadStore, url: str) -> None:
    await store.lease.acquire()
    other = await asyncio.to_thread(start, url, "turn")
    entered = asyncio.Event()

    async def take() -> None:
        async with store.turn("talk"):
            entered.set()

    waiting = asyncio.create_task(take())
    async with store.turn("another talk"):
        pass  # only the same conversation waits
    assert not entered.is_set()
    assert other.stdin is not None
    other.stdin.write("go on\n")
    other.stdin.flush()
    async with asyncio.timeout(60):
        await waiting
    await asyncio.to_thread(other.communicate)
    assert other.returncode == 0


async def test_a_killed_process_gives_its_turn_back(store: SqlThreadStore, url: str) -> None:
    await store.lease.acquire()
    other = await asyncio.to_thread(start, url, "turn")
    other.kill()
    await asyncio.to_thread(other.communicate)

    async with asyncio.timeout(60), store.turn("talk"):
        pass


async def test_one_process_of_all_sweeps_and_another_when_it_is_gone(
    store: SqlThreadStore, url: str
) -> None:
    other = await asyncio.to_thread(start, url, "lead")

    assert not await store.lease.is_leader()
    assert await sweep(store, ThreadOptions()) == SweepResult(0, 0, 0)
    other.kill()
    await asyncio.to_thread(other.communicate)
    async with asyncio.timeout(60):
        # The system says nothing when a lock is free.
        while not await store.lease.is_leader():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert await store.lease.is_leader()
