"""The overhead of the service over the pipeline under load, and its memory over time.

    make bench-load

The real service runs as a second process on a free port of loopback and gets many questions at
once; the pipeline alone, in a third process, gets the same ones. The two take turns, so that a busy
machine slows both, and the ratios are medians over the rounds. No question is asked twice where an
answer is to be made.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from citewell.domain import Question
from citewell.events import Done
from citewell.settings import Settings
from citewell.wiring import wire_services

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "examples" / "physical-ai"
GOLDEN = sorted((ROOT / "evals/data/golden").glob("*.jsonl"))
SHARE, GROWTH = 0.70, 1.05
"""Goals relative to the pipeline's throughput, and to the memory after the first questions."""
BATCH = 500
PATIENCE = 120.0
UNCACHED = {"CITEWELL_CACHE__ANSWERS": "0", "CITEWELL_CACHE__EMBEDDINGS": "0"}
SAY = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Round:
    """The results of concurrent questions."""

    latencies: list[float]
    failures: list[str]
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds


def golden_questions() -> list[str]:
    """Return standalone questions: follow-ups would need a conversation."""
    lines = [json.loads(line) for file in GOLDEN for line in file.read_text("utf-8").splitlines()]
    return list(dict.fromkeys(one["question"] for one in lines if one["kind"] != "followup"))


def distinct(count: int, start: int) -> list[str]:
    """Yield questions with numbers from `start`, which make them distinct."""
    texts = golden_questions()
    return [f"{texts[n % len(texts)]} ({n})" for n in range(start, start + count)]


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def at_once(
    texts: Sequence[str], ask: Callable[[str], Awaitable[str]], pid: int, most: int
) -> Round:
    """Ask all questions, `most` concurrently; `ask` returns an error or nothing."""
    room = asyncio.Semaphore(most)

    async def one(text: str) -> tuple[float, str]:
        async with room:
            begun = time.perf_counter()
            failure = await ask(text)
            return time.perf_counter() - begun, failure

    cpu, begun = cpu_seconds(pid), time.perf_counter()
    done = await asyncio.gather(*map(one, texts))
    seconds = time.perf_counter() - begun
    latencies = [latency for latency, _ in done]
    failures = [failure for _, failure in done if failure]
    return Round(latencies, failures, seconds, cpu_seconds(pid) - cpu)


async def serve_alone(data: Path, pipe: Connection) -> None:
    """Answer the questions from a pipe with the pipeline, without a service."""
    async with wire_services(Settings(data_dir=data)) as services:

        async def ask(text: str) -> str:
            async for event in services.answerer.answer(Question(text=text)):
                if isinstance(event, Done):
                    return "".join(event.answer.notices)
            return "no answer"

        while texts := pipe.recv():
            pipe.send(await at_once(texts, ask, os.getpid(), len(texts)))


def run_alone(data: Path, pipe: Connection) -> None:
    asyncio.run(serve_alone(data, pipe))


@contextmanager
def pipeline_alone(data: Path) -> Iterator[Callable[[list[str]], Round]]:
    """Start the pipeline in a separate process."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run_alone, args=(data, theirs))
    process.start()

    def ask(texts: list[str]) -> Round:
        ours.send(texts)
        while not ours.poll(1):
            if not process.is_alive():
                raise SystemExit("The pipeline ended by itself.")
        answered: Round = ours.recv()
        return answered

    try:
        yield ask
    finally:
        ours.send([])
        process.join()


@dataclass(frozen=True, slots=True)
class Service:
    """A service in a separate process."""

    pid: int
    url: str

    def ask(self, texts: Sequence[str], most: int) -> Round:
        """Ask over HTTP, `most` concurrently."""
        return asyncio.run(self._ask(texts, most))

    async def _ask(self, texts: Sequence[str], most: int) -> Round:
        limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
        async with httpx.AsyncClient(base_url=self.url, timeout=PATIENCE, limits=limits) as client:

            async def ask(text: str) -> str:
                try:
                    reply = await client.post("/chat/run", json={"message": text})
                except httpx.HTTPError as error:
                    return repr(error)
                # An answer that could not be kept is an error here, too.
                said = reply.json()
                return "" if reply.is_success and not said["notices"] else reply.text

            return await at_once(texts, ask, self.pid, most)


@contextmanager
def service(data: Path, **settings: str) -> Iterator[Service]:
    """Start `citewell serve` on a free port, and stop it at the end."""
    command = [sys.executable, "-m", "citewell", "serve", "--port", "0", "--data", str(data)]
    said = data / "said.log"
    with said.open("w") as log:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stderr=log)
    try:
        while not (found := re.search(r"http://\S+", said.read_text("utf-8"))):
            if process.poll() is not None:
                raise SystemExit(f"The service did not start: {said.read_text('utf-8')}")
            time.sleep(0.1)
        yield Service(process.pid, found[0])
    finally:
        process.terminate()
        process.wait()
        # Its first line is its address; what comes behind it are warnings.
        for line in said.read_text("utf-8").splitlines()[1:11]:
            SAY.print(f"the service said: {line}", markup=False)


def percentiles(rounds: Sequence[Round]) -> str:
    ordered = sorted(latency for one in rounds for latency in one.latencies)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99)]
    return " / ".join(f"{seconds:.2f}" for seconds in at) + " s"


def tell(failures: Sequence[str]) -> None:
    for failure in failures[:3]:
        SAY.print(f"failed: {failure[:300]}", markup=False)


def add_row(table: Table, what: str, rounds: Sequence[Round], ratio: str, goal: str = "") -> int:
    """Print rounds as a line; return the number of errors."""
    failures = [failure for one in rounds for failure in one.failures]
    tell(failures)
    rate = f"{statistics.median(one.rate for one in rounds):.1f}/s"
    table.add_row(what, str(len(failures)), percentiles(rounds), rate, ratio, goal)
    return len(failures)


def measure_share(given: argparse.Namespace, folders: Sequence[Path], table: Table) -> bool:
    """Compare the service with the pipeline; return whether the goals are met."""
    served: list[Round] = []
    alone: list[Round] = []
    cores = os.cpu_count()
    with pipeline_alone(folders[0]) as ask, service(folders[1], **UNCACHED) as other:
        ask(distinct(10, 0))
        other.ask(distinct(10, 0), 10)
        for number in range(given.rounds):
            texts = distinct(given.questions, 1000 + number * given.questions)
            # Who goes first changes, in case the machine gets busier all the time.
            for mine in (number % 2 == 0, number % 2 == 1):
                (alone if mine else served).append(
                    ask(texts) if mine else other.ask(texts, len(texts))
                )
            rates = f"{served[-1].rate:.1f}/s served, {alone[-1].rate:.1f}/s by the pipeline alone"
            SAY.print(f"round {number + 1} of {given.rounds}: {rates}")
    share = statistics.median(s.rate / a.rate for s, a in zip(served, alone, strict=True))
    work = statistics.median(s.cpu / a.cpu for s, a in zip(served, alone, strict=True))
    add_row(table, "pipeline alone", alone, f"1, on {cores} cores")
    said = f"{share:.0%} of the pipeline's throughput, {work:.2f}× its processor time"
    goal = f"0 errors, ≥ {SHARE:.0%}"
    errors = add_row(table, "service, answer cache off", served, said, goal)
    return errors == 0 and share >= SHARE


def measure_cached(other: Service, given: argparse.Namespace, table: Table) -> bool:
    """Ask the same questions twice, with a cache."""
    texts = distinct(given.questions, 100_000)
    made, again = (other.ask(texts, len(texts)) for _ in range(2))
    errors = add_row(table, "service, cache on: asked first", [made], "", "0 errors")
    ratio = f"{again.rate / made.rate:.1f}× the first time"
    return (
        errors + add_row(table, "service, cache on: asked again", [again], ratio, "0 errors") == 0
    )


def measure_memory(other: Service, given: argparse.Namespace, table: Table) -> bool:
    """Measure the memory of a service over many questions, after its caches have filled."""
    failures: list[str] = []
    seen: list[float] = []
    first = min(BATCH, max(1, given.memory // 4))
    for start in range(0, given.memory, first):
        count = min(first, given.memory - start)
        answered = other.ask(distinct(count, 200_000 + start), given.questions)
        tell(answered.failures)
        failures += answered.failures
        seen.append(resident(other.pid))
        SAY.print(f"{start + count:,} of {given.memory:,} questions: {seen[-1]:.0f} MB")
    growth = seen[-1] / seen[0]
    said = f"{seen[0]:.0f} MB after {first:,}, {seen[-1]:.0f} MB: {growth:.2f}×"
    goal = f"0 errors, ≤ {GROWTH}×"
    table.add_row(
        f"memory after {given.memory:,} questions", str(len(failures)), "", "", said, goal
    )
    return not failures and growth <= GROWTH


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100, help="questions at once")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of them")
    parser.add_argument("--memory", type=int, default=5000, help="questions for memory; 0 for none")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    table = Table("what", "errors", "p50 / p95 / p99", "throughput", "ratio", "goal")
    table.title = f"{given.questions} questions at once"
    data = Path(tempfile.mkdtemp(prefix="citewell-load-"))
    try:
        # A folder for each: they must not wait for one another's database.
        folders = [data / name for name in ("alone", "uncached", "cached")]
        command = [sys.executable, "-m", "citewell", "ingest", str(BOOK), "--data"]
        subprocess.run([*command, str(folders[0])], check=True, capture_output=True)
        for other in folders[1:]:
            shutil.copytree(folders[0], other)
        met = [measure_share(given, folders, table)]
        with service(folders[2]) as remembering:
            met.append(measure_cached(remembering, given, table))
            if given.memory:
                met.append(measure_memory(remembering, given, table))
    finally:
        shutil.rmtree(data, ignore_errors=True)
    Console(width=150).print(table)
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
