"""Install size, import time, and memory when idle and after 1,000 questions.

make footprint
"""

import asyncio
import importlib.metadata
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from citewell.domain import Question
from citewell.events import Done
from citewell.settings import read_settings
from citewell.wiring import wire_services

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "evals/data/golden" / "physical-ai-dev.jsonl"
ASKED = 1000


def resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def installed() -> list[tuple[str, float]]:
    """Return the size in MB of each package in Citewell's environment."""
    sizes = []
    for one in importlib.metadata.distributions():
        files = [Path(str(one.locate_file(f))) for f in one.files or ()]
        size = sum(f.stat().st_size for f in files if f.is_file())
        sizes.append((one.metadata["Name"], size / 1e6))
    return sorted(sizes, key=lambda pair: -pair[1])


def import_seconds(statement: str) -> float:
    """Time an import in a new process, best of three, without the startup of Python."""

    def run(code: str) -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begun

    return min(run(statement) for _ in range(3)) - min(run("pass") for _ in range(3))


def ingest_sample() -> None:
    """Ingest in another process, so that its memory does not count."""
    command = [sys.executable, "-m", "citewell", "ingest", str(ROOT / "examples" / "physical-ai")]
    subprocess.run(command, check=True, capture_output=True)


async def memory() -> tuple[float, float, float]:
    settings = read_settings()
    services = wire_services(settings)
    lines = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    async with services:

        async def ask(text: str) -> None:
            async for event in services.answerer.answer(Question(text=text, book="physical-ai")):
                assert event is not None
                if isinstance(event, Done):
                    return

        await ask("ready?")
        rest = resident()
        begun = time.perf_counter()
        for number in range(ASKED):
            # A number makes each question new, so that nothing remembered helps.
            await ask(f"{lines[number % len(lines)]['question']} ({number})")
        return rest, resident(), (time.perf_counter() - begun) / ASKED


def main() -> None:
    table = Table("what", "figure")
    sizes = installed()
    largest = ", ".join(f"{name} {size:.0f}" for name, size in sizes[:6])
    table.add_row("installed", f"{sum(s for _, s in sizes):.0f} MB (largest: {largest})")
    for statement in (
        "import citewell",
        "from citewell import Citewell",
        "import citewell.api.app",
    ):
        table.add_row(statement, f"{import_seconds(statement):.2f} s")
    ingest_sample()
    rest, after, each = asyncio.run(memory())
    table.add_row("memory at rest, after one question", f"{rest:.0f} MB")
    table.add_row(
        f"memory after {ASKED:,} questions",
        f"{after:.0f} MB ({after / rest:.2f}×, {1000 * each:.0f} ms each)",
    )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
