"""The comparison with peers: what it needs is pinned, and what it counts is what it says."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from citewell.models.embedder import GraniteEmbedder, prepare_granite

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
SCRIPT = '''\
"""A peer."""

import os
from protocol import measure


class Adapter:
    """The embedder in the peer's interface."""


def ingest(book, store):
    """Ingest."""
    # Read what is there.
    found = os.listdir(
        book
    )

    return lambda question: found


if __name__ == "__main__":
    measure(ingest)
'''


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the benchmark by its name."""
    monkeypatch.syspath_prepend(PEERS)
    return importlib.import_module


def measured(peer: Any, **changed: Any) -> Any:
    figures = {
        "name": "Peer",
        "gold": [frozenset({"a"}), frozenset({"b"})],
        "found": [["a", "c"], ["c", "b"]],
        "characters": [100, 300],
        "seconds": [0.01, 0.03],
        "cpu_seconds": [0.01, 0.03],
        "reading_cpu_s": 0.0,
        "ingest_s": 10.0,
        "ingest_cpu_s": 20.0,
        "peak_mb": 500.0,
        "install_mb": 100.0,
        "lines": 10,
    }
    return peer("figures").Measured(**figures | changed)


def test_every_peer_has_a_script_and_exact_versions(peer: Any) -> None:
    peers = peer("run").PEERS

    assert [one.name for one in peers if not (PEERS / one.script).is_file()] == []
    assert all("==" in package for one in peers for package in (*one.first, *one.packages))


def test_without_the_book_the_comparison_says_what_is_missing(peer: Any, tmp_path: Path) -> None:
    done = CliRunner().invoke(peer("run").main, ["--shared", str(tmp_path)])

    assert done.exit_code == 0
    assert "Skipped" in done.output
    assert "CITEWELL_SHARED" in done.output


def test_a_page_counts_where_the_right_one_is_among_the_passages(peer: Any) -> None:
    one = measured(peer)

    assert (one.right(1), one.right(5)) == (0.5, 1.0)


def test_costs_stand_beside_their_ratio_to_the_first_system(peer: Any) -> None:
    table = peer("figures").rows([measured(peer), measured(peer, ingest_s=25.0)])

    assert ["ingest, s", "10", "25 (2.50×)"] in table
    assert ["page@5", "1.000", "1.000"] in table


def test_the_share_of_reading_stands_below_the_time_it_is_part_of(peer: Any) -> None:
    table = peer("figures").rows([measured(peer, reading_cpu_s=0.03), measured(peer)])

    places = {row[0]: place for place, row in enumerate(table)}
    share = table[places["CPU ms a question"] + 1]
    assert share == ["of it a model that reads what was found", "75%", "–"]


def test_an_environment_is_made_once_and_made_again_if_it_was_not_finished(
    peer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, asked = peer("run"), []

    def finished(command: list[str], **_: Any) -> None:
        asked.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)

    monkeypatch.setattr(run.subprocess, "run", finished)
    one = run.Peer("Peer", "peer.py", ("peer==1",))

    made = run.environment(one, tmp_path)
    assert run.environment(one, tmp_path) == made
    assert len(asked) == 2  # the environment, and what is installed in it
    (made / run.MADE).unlink()
    assert run.environment(one, tmp_path) == made
    assert len(asked) == 4
    other = run.Peer("Peer", "peer.py", ("peer==2",))
    assert run.environment(other, tmp_path) != made


def test_lines_of_code_leave_out_the_adapter_the_frame_and_what_is_no_code(
    peer: Any, tmp_path: Path
) -> None:
    script = tmp_path / "peer.py"
    script.write_text(SCRIPT, "utf-8")

    # `import os`, the head of the function, the call on three lines, and `return`.
    assert peer("figures").code_lines(script) == 6


def test_pages_are_written_whole_and_only_as_many_as_asked_for(peer: Any, tmp_path: Path) -> None:
    rows = [
        {"page": "p1", "title": "Lamps", "section": "Lamps > Oil", "text": "Oil\nIt burns."},
        {"page": "p2", "title": "Lenses", "section": "Lenses", "text": "Clear."},
    ]
    lines = [json.dumps({"id": f"{row['page']}#1"} | row) for row in rows]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines), "utf-8")

    assert peer("run").write_pages(tmp_path, tmp_path / "book", 1) == {"p1"}
    assert (tmp_path / "book" / "p1.md").read_text("utf-8") == (
        "# Lamps\n\n\n## Oil\n\nIt burns.\n"
    )
    assert len(list((tmp_path / "book").iterdir())) == 1


def test_the_memory_of_a_peer_is_its_own_and_not_that_of_whoever_started_it(peer: Any) -> None:
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])
    code = "from protocol import peak_mb; print(peak_mb())"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PEERS, capture_output=True, text=True, check=True
    )

    assert 5 < float(done.stdout) < 150


def test_peers_embed_by_the_same_weights_as_citewell(
    peer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["What is a lens?", "A lens bends light. " * 30, "Lamp"]
    own = GraniteEmbedder(tmp_path, threads=1).embed_passages(texts)
    monkeypatch.setenv("PEERS_MODEL", str(prepare_granite(tmp_path)))

    assert peer("granite").embed(texts) == pytest.approx(own, abs=1e-5)
