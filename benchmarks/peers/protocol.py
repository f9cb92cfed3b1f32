"""The common part of the peer scripts: read a book and questions, and print metrics."""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOP_K = 5

Passage = tuple[str, str]
"""A passage's file and text."""
Search = Callable[[str], list[Passage]]
Ingest = Callable[[Path, Path], Search]
"""Ingests a folder of Markdown pages, with another folder for storage, and returns the search."""


_parts: list[float] = []
"""The CPU times of a part of the search."""


def counted(part: Callable[..., Any]) -> Callable[..., Any]:
    """Measure the CPU time of a part of the search."""

    def timed(*given: Any, **named: Any) -> Any:
        used = cpu_seconds()
        try:
            return part(*given, **named)
        finally:
            _parts.append(cpu_seconds() - used)

    return timed


def cpu_seconds() -> float:
    """Return the CPU time of this process, its threads and its finished children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_mb() -> float:
    """Return the peak memory of this process.

    Not by `getrusage`: what it says is inherited, and begins with the peak of whoever started us.
    """
    status = Path("/proc/self/status").read_text("ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) / 1024


def measure(ingest: Ingest) -> None:
    """Ingest the book, ask every question, and print the metrics as one line of JSON."""
    book, store, questions = (Path(argument) for argument in sys.argv[1:4])
    asked = json.loads(questions.read_text("utf-8"))
    begun, used = time.perf_counter(), cpu_seconds()
    search = ingest(book, store)
    ingested = {"ingest_s": time.perf_counter() - begun, "ingest_cpu_s": cpu_seconds() - used}
    search("What is warmed up is not measured?")
    rows = []
    _parts.clear()
    for text in asked:
        begun, used = time.perf_counter(), cpu_seconds()
        found = search(text)
        spent = time.perf_counter() - begun, cpu_seconds() - used
        pages = [Path(page).stem for page, _ in found]
        rows.append((pages, sum(len(passage) for _, passage in found), *spent))
    figures = ingested | {
        "found": [row[0] for row in rows],
        "characters": [row[1] for row in rows],
        "seconds": [row[2] for row in rows],
        "cpu_seconds": [row[3] for row in rows],
        "reading_cpu_s": sum(_parts),
        "peak_mb": peak_mb(),
    }
    print(f"\n{json.dumps(figures)}")
