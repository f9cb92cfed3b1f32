"""The growth of costs from a thousand to a million chunks, on the embedded engine and a server.

    make bench-growth
    make bench-growth GROWTH='--sizes 1000 --sizes 10000 --engine embedded'

What was measured is kept, in `.growth/figures.jsonl`: run again, only what is missing there is
measured, and `--sizes 1000000 --engine server` measures that alone.

Chunks are made up: words by Zipf's law, vectors around a thousand centres. That costs an engine
what a book of that size costs, while nothing has to be embedded, which would take a day for a
million. Every index is written by one process and asked by another, so that memory is their own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import inf
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from citewell.domain import Chunk, Filters
from citewell.index.bm25 import query_weights
from citewell.options import IndexOptions, SearchOptions
from citewell.ports import Vectors

ROOT = Path(__file__).parent.parent
ENGINES = ("embedded", "server")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
WIDTH = 384
WORDS, VOCABULARY, CENTRES = 100, 20_000, 1_000
BLOCK = 5_000
QUESTIONS = 100
COLLECTION = "growth"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
SIGNS = "bcdfghklmnprstvz"
SHOWN = (
    ("cpu_ms", "one search, CPU ms"),
    ("memory_mb", "memory while asked, MB"),
    ("build_cpu_s", "writing the index, CPU s"),
    ("disk_mb", "on disk, MB"),
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Reproducible synthetic chunks and questions."""

    size: int

    def entries(self) -> Iterator[tuple[Chunk, str, Vectors]]:
        """Yield chunks, their indexed texts and their vectors."""
        for start in range(0, self.size, BLOCK):
            random = np.random.default_rng(start)
            count = min(BLOCK, self.size - start)
            vectors, texts = _vectors(random, count), _texts(random, count, WORDS)
            for place in range(count):
                yield _chunk(start + place, self.size, texts[place]), texts[place], vectors[place]

    def questions(self) -> list[tuple[Vectors, str]]:
        """Yield query vectors and query texts."""
        random = np.random.default_rng(-self.size % 2**32)
        texts = _texts(random, QUESTIONS, 8)
        return list(zip(_vectors(random, QUESTIONS), texts, strict=True))


def _vectors(random: Any, count: int) -> Any:
    centres = np.random.default_rng(7).normal(size=(CENTRES, WIDTH)).astype(np.float32)
    noise = random.normal(size=(count, WIDTH)).astype(np.float32)
    vectors = centres[random.integers(0, CENTRES, count)] + noise
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _texts(random: Any, count: int, words: int) -> list[str]:
    shares = 1 / np.arange(1, VOCABULARY + 1)
    drawn = random.choice(VOCABULARY, (count, words), p=shares / shares.sum())
    return [" ".join(map(_words().__getitem__, row)) for row in drawn.tolist()]


@cache
def _words() -> list[str]:
    places = list(zip((12, 8, 4, 0), "aeio", strict=True))
    return [
        "".join(SIGNS[number >> shift & 15] + vowel for shift, vowel in places)
        for number in range(VOCABULARY)
    ]


def _chunk(number: int, size: int, text: str) -> Chunk:
    page = f"page-{number // 10}"
    return Chunk(
        id=str(UUID(int=number)), book="growth", source_file=f"{page}.md", part="",
        chapter=f"Chapter {number // 1_000}", section=f"Section {number // 5}",
        path=(f"Section {number // 5}",), url=f"https://book.example/{page}", text=text,
        content_hash=f"{number:064x}", sequence=number % 10 + 1, total=min(10, size),
        token_count=2 * WORDS, processed_at=WHEN,
    )  # fmt: skip


def cpu_seconds(pid: int | str = "self") -> float:
    """Return the CPU time of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int | str, which: str = "VmRSS") -> float:
    """Return the memory of a process, or its peak, which `getrusage` inherits from the parent."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith(which)]
    return int(line.split()[1]) / 1024


def build(target: str, serving: str, size: int) -> dict[str, float]:
    """Write the index into a folder or onto a server."""
    entries = Corpus(size).entries()
    begun, used = time.perf_counter(), cpu_seconds(serving)
    own = cpu_seconds()
    if target.startswith("http"):
        from citewell.index import qdrant_library
        from citewell.index.qdrant_server import QdrantServer

        server = QdrantServer(target, IndexOptions(timeout_seconds=60))
        qdrant_library.INDEXING_TIMEOUT = (
            inf  # what is asked afterwards is the index that the server ends with
        )
        qdrant_library.write_passages(server, COLLECTION, entries, width=WIDTH, average=WORDS)
    else:
        from citewell.index.qdrant_local import build_shard

        build_shard(Path(target), entries, width=WIDTH, average=WORDS)
    used = cpu_seconds(serving) - used + (cpu_seconds() - own if serving != "self" else 0)
    peak = memory_mb("self", "VmHWM")
    return {
        "build_s": time.perf_counter() - begun,
        "build_cpu_s": used,
        "build_peak_mb": peak,
    }


def ask(target: str, serving: str, size: int) -> dict[str, float]:
    """Search for every question, after an equal number of warm-up searches.

    Memory and processor time are those of the process that holds the index.
    """
    if target.startswith("http"):
        from citewell.index.qdrant_library import ServerEngine
        from citewell.index.qdrant_server import QdrantServer

        engine: Any = ServerEngine(
            QdrantServer(target, IndexOptions(timeout_seconds=60)), COLLECTION
        )
    else:
        from citewell.index.qdrant_local import EdgeEngine

        engine = EdgeEngine(Path(target))
    depth = SearchOptions().depth
    questions = Corpus(size).questions()

    def asked() -> list[float]:
        spent = []
        for vector, text in questions:
            begun = time.perf_counter()
            engine.search(vector, query_weights(text), Filters(), depth)
            spent.append(1000 * (time.perf_counter() - begun))
        return sorted(spent)

    asked()
    used = cpu_seconds(serving)
    spent = asked()
    return {
        "ms": median(spent),
        "p95_ms": spent[int(0.95 * len(spent))],
        "cpu_ms": 1000 * (cpu_seconds(serving) - used) / QUESTIONS,
        "memory_mb": memory_mb(serving),
    }


def in_a_process_of_its_own(what: str, target: str, serving: str, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", what, target, serving, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def disk_mb(folder: Path) -> float:
    # Blocks, not lengths: the engine reserves files that are mostly holes.
    return sum(f.stat().st_blocks * 512 for f in folder.rglob("*") if f.is_file()) / 1e6


def measure(engine: str, size: int) -> dict[str, Any]:
    with ExitStack() as opened:
        if engine == "server":
            sys.path.insert(0, str(ROOT))
            from tests.qdrant_server import running_qdrant

            node = opened.enter_context(running_qdrant())
            target, kept, serving = node.url, node.folder, str(node.process.pid)
        else:
            kept = Path(tempfile.mkdtemp(prefix="citewell-growth-"))
            opened.callback(shutil.rmtree, kept, ignore_errors=True)
            target, serving = str(kept / "shard"), "self"
        figures = in_a_process_of_its_own("build", target, serving, size)
        figures |= in_a_process_of_its_own("ask", target, serving, size)
        return {"engine": engine, "size": size, "disk_mb": disk_mb(kept)} | figures


def kept_rows(file: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return earlier measurements by engine and size."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return {(row["engine"], row["size"]): row for row in map(json.loads, lines)}


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot the four curves on log–log axes."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "growth"}
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for place, (name, title) in zip(axes.flat, SHOWN, strict=True):
        for engine in dict.fromkeys(row["engine"] for row in rows):
            own = sorted((row["size"], row[name]) for row in rows if row["engine"] == engine)
            place.loglog(*zip(*own, strict=True), marker="o", label=engine)
        place.set(title=title, xlabel="chunks")
        place.grid(visible=True, alpha=0.3)
    axes.flat[0].legend()
    figure.savefig(path, metadata={"Date": None})


def table(rows: list[dict[str, Any]]) -> Table:
    shown = Table("engine", "chunks", "search, ms (p95)", "CPU ms", "memory, MB",
                  "written in, s", "CPU s", "peak, MB", "on disk, MB")  # fmt: skip
    for row in rows:
        shown.add_row(
            row["engine"], f"{row['size']:,}", f"{row['ms']:.1f} ({row['p95_ms']:.1f})",
            f"{row['cpu_ms']:.1f}", f"{row['memory_mb']:,.0f}", f"{row['build_s']:,.1f}",
            f"{row['build_cpu_s']:,.1f}", f"{row['build_peak_mb']:,.0f}", f"{row['disk_mb']:,.0f}",
        )  # fmt: skip
    return shown


@click.command()
@click.option("--sizes", multiple=True, type=click.IntRange(1), default=SIZES, show_default=True)
@click.option("--engine", multiple=True, type=click.Choice(ENGINES))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=ROOT / ".growth" / "figures.jsonl",
    help="File that figures are added to; what stands in it is not measured again.",
)
@click.option("--svg", type=click.Path(path_type=Path), help="File for the curves.")
@click.option("--step", hidden=True, nargs=4, type=(str, str, str, int))
def main(
    sizes: tuple[int, ...],
    engine: tuple[str, ...],
    out: Path,
    svg: Path | None,
    step: tuple[str, str, str, int] | None,
) -> None:
    """Measure each engine at each size, and show the growth."""
    if step:
        what, *given = step
        print(json.dumps({"build": build, "ask": ask}[what](*given)))
        return
    for size in sizes:
        for one in engine or ENGINES:
            if (one, size) not in kept_rows(out):
                row = measure(one, size)
                out.parent.mkdir(parents=True, exist_ok=True)
                with out.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps(row) + "\n")
    rows = sorted(kept_rows(out).values(), key=lambda row: (row["engine"], row["size"]))
    Console(width=120).print(table(rows))
    if svg:
        plot(rows, svg)


if __name__ == "__main__":
    main()
