"""The benchmark of growth: made-up books that cost what books cost, measured for real."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZE = 300


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("growth")


def test_a_corpus_has_as_many_chunks_as_asked_for_and_is_the_same_each_time(growth: Any) -> None:
    first, again = (list(growth.Corpus(SIZE).entries()) for _ in range(2))

    assert len({chunk.id for chunk, _, _ in first}) == SIZE
    assert [text for _, text, _ in first] == [text for _, text, _ in again]
    vectors = np.array([vector for _, _, vector in first])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, rel=1e-5)


def test_the_embedded_engine_is_written_asked_and_weighed(
    growth: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    row = growth.measure("embedded", SIZE)

    assert (row["engine"], row["size"]) == ("embedded", SIZE)
    assert 0 < row["ms"] <= row["p95_ms"]
    assert row["build_s"] > 0
    assert row["memory_mb"] > 10
    # A vector alone is 1.5 KB.
    assert row["disk_mb"] > SIZE * 384 * 4 / 1e6
    assert list(tmp_path.iterdir()) == []


def test_what_was_measured_is_not_measured_again(
    growth: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured: list[tuple[str, int]] = []

    def measure(engine: str, size: int) -> dict[str, Any]:
        measured.append((engine, size))
        figures = ("ms", "p95_ms", "cpu_ms", "memory_mb", "build_s", "build_cpu_s", "build_peak_mb")
        return {"engine": engine, "size": size, "disk_mb": 1.0} | dict.fromkeys(figures, 1.0)

    monkeypatch.setattr(growth, "measure", measure)
    out = ["--out", str(tmp_path / "kept" / "figures.jsonl")]

    first = CliRunner().invoke(growth.main, [*out, "--sizes", "1000", "--engine", "server"])
    again = CliRunner().invoke(growth.main, [*out, "--sizes", "1000"])

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert measured == [("server", 1000), ("embedded", 1000)]
    assert "server" in again.output


def test_the_curves_are_drawn(growth: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `bench`")
    rows = [
        {"engine": "embedded", "size": size, **{name: size / 10 for name, _ in growth.SHOWN}}
        for size in (1_000, 10_000)
    ]

    growth.plot(rows, tmp_path / "growth.svg")

    drawn = (tmp_path / "growth.svg").read_text("utf-8")
    assert all(title in drawn for _, title in growth.SHOWN)
