"""The metrics of the peers, and their table."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from rich.table import Table

TOOLS = ("pip", "setuptools")
"""The packages of an empty environment."""
CPU = "CPU ms a question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The results of one system."""

    name: str
    gold: Sequence[frozenset[str]]
    found: Sequence[Sequence[str]]
    """The pages of each question's passages, best first."""
    characters: Sequence[int]
    seconds: Sequence[float]
    cpu_seconds: Sequence[float]
    reading_cpu_s: float
    """The reranker's share of it."""
    ingest_s: float
    ingest_cpu_s: float
    peak_mb: float
    install_mb: float
    lines: int

    def right(self, first: int) -> float:
        """Return the share of questions with a relevant page among the `first` passages."""
        pairs = zip(self.found, self.gold, strict=True)
        return fmean(not gold.isdisjoint(found[:first]) for found, gold in pairs)


Figure = tuple[str, str, float]
"""The name, format and value of a metric."""


def quality(one: Measured) -> list[Figure]:
    """Return the metrics of retrieval quality."""
    return [
        ("page@1", "{:.3f}", one.right(1)),
        ("page@5", "{:.3f}", one.right(5)),
        ("characters in five passages", "{:,.0f}", fmean(one.characters)),
    ]


def reading(one: Measured) -> str:
    """Return the reranker's share of a question's CPU time."""
    return f"{one.reading_cpu_s / sum(one.cpu_seconds):.0%}" if one.reading_cpu_s else "–"


def costs(one: Measured) -> list[Figure]:
    """Return the costs."""
    return [
        ("ms a question", "{:.1f}", 1000 * median(one.seconds)),
        (CPU, "{:.1f}", 1000 * fmean(one.cpu_seconds)),
        ("ingest, s", "{:.0f}", one.ingest_s),
        ("ingest, CPU s", "{:.0f}", one.ingest_cpu_s),
        ("peak memory, MB", "{:.0f}", one.peak_mb),
        ("installed, MB", "{:.0f}", one.install_mb),
        ("lines of code", "{:.0f}", float(one.lines)),
    ]


def rows(measured: Sequence[Measured]) -> list[list[str]]:
    """Return a row per metric: its name, then the value and its ratio to the first system."""
    table = [
        [columns[0][0], *(form.format(value) for _, form, value in columns)]
        for columns in zip(*(quality(one) for one in measured), strict=True)
    ]
    for columns in zip(*(costs(one) for one in measured), strict=True):
        first = columns[0][2]
        cells = [form.format(value) for _, form, value in columns]
        ratios = ["", *(f" ({value / first:.2f}×)" for _, _, value in columns[1:])]
        table.append([columns[0][0], *(c + r for c, r in zip(cells, ratios, strict=True))])
    shares = ["of it a model that reads what was found", *map(reading, measured)]
    after = next(n for n, row in enumerate(table) if row[0] == CPU) + 1
    return [*table[:after], shares, *table[after:]]


def shown(measured: Sequence[Measured], title: str) -> Table:
    """Return the table for a terminal."""
    table = Table("", *(one.name for one in measured), title=title)
    for row in rows(measured):
        table.add_row(*row)
    return table


def markdown(measured: Sequence[Measured]) -> str:
    """Return the table as Markdown."""
    head = ["", *(one.name for one in measured)]
    lines = [head, ["---"] * len(head), *rows(measured)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def installed_mb(environment: Path) -> float:
    """Return the size of the installed packages of an environment."""
    (packages,) = environment.glob("lib/python*/site-packages")
    kept = [
        path
        for path in packages.iterdir()
        if path.name != "__pycache__" and not path.name.startswith(TOOLS)
    ]
    files = [file for path in kept for file in (path, *path.rglob("*"))]
    return sum(f.stat().st_size for f in files if f.is_file() and f.suffix != ".pyc") / 1e6


def code_lines(script: Path) -> int:
    """Count the lines of code that a user writes, without the embedder's adapter and our frame.

    The adapter stands for the one line by which a user names a model.
    """
    source = script.read_text("utf-8")
    counted: set[int] = set()
    for node in ast.parse(source).body:
        ours = isinstance(node, ast.ImportFrom) and node.module == "protocol"
        if ours or isinstance(node, ast.ClassDef | ast.If):
            continue
        counted.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for inner in ast.walk(node):
            said = isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant)
            if said and isinstance(inner.value.value, str):
                counted -= set(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    lines = source.splitlines()
    return sum(bool(lines[n - 1].split("#")[0].strip()) for n in counted)
