"""A book that changes, and a keeper who presses Ctrl-C: real processes, real signals."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Citewell

pytestmark = pytest.mark.slow

PAGES, SECTIONS = 8, 30


@pytest.fixture
def data(sample_data: Path, tmp_path: Path) -> Path:
    """A data folder of its own, with the model that is made already."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "models").symlink_to(sample_data / "models")
    return folder


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "lamps"
    folder.mkdir()
    (folder / "first.md").write_text("# First\n\nThe old words of the keeper.\n")
    return folder


def grow(book: Path) -> None:
    """Add pages: enough to embed that there is time to stop it."""
    for page in range(PAGES):
        sections = (
            f"## Lamp {n}\n\nLamp number {n} of room {page} burns oil of kind {page * n}.\n"
            for n in range(SECTIONS)
        )
        (book / f"page{page}.md").write_text("\n".join(sections))


@contextmanager
def running(*arguments: str, data: Path) -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "CITEWELL_DATA_DIR": str(data), "COLUMNS": "200"}
    command = [sys.executable, "-m", "citewell", *arguments]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(there: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not there():
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
            raise AssertionError(f"it ended too early: {process.stderr and process.stderr.read()}")


def vectors(data: Path) -> int:
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(data / "books/lamps/embeddings.db")) as db,
    ):
        return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])
    return 0


@pytest.mark.parametrize("stage", ["embed", "write"])
def test_ctrl_c_keeps_the_old_index_and_the_next_ingest_goes_on(
    citewell: Citewell, book: Path, data: Path, stage: str
) -> None:
    citewell("ingest", str(book), data=data)
    grow(book)
    embedding, writing = lambda: vectors(data) > 32, lambda: _shard(data).is_dir()
    with running("ingest", str(book), data=data) as process:
        wait_until(embedding if stage == "embed" else writing, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        said = process.stderr.read()
        code = process.wait()
    kept = vectors(data)

    assert (code, said.splitlines()[-1]) == (130, "citewell: stopped.")
    assert "Traceback" not in said
    assert "The old words" in citewell("search", "old words", data=data).stdout
    assert json.loads(citewell("books", "--json", data=data).stdout)[0]["chunks"] == 1
    again = json.loads(citewell("ingest", str(book), "--json", data=data).stdout)
    total = 1 + PAGES * SECTIONS
    assert 32 < kept <= total
    assert (again["chunks"], again["embedded"]) == (total, total - kept)


def _shard(data: Path) -> Path:
    return data / "books" / "lamps" / "revisions" / "new" / "shard"


def read_until(process: "subprocess.Popen[str]", words: str) -> str:
    assert process.stderr
    seen = ""
    for line in process.stderr:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"it never said {words!r}, but:\n{seen}")


def test_a_watched_book_is_ingested_again_whenever_it_changes(
    citewell: Citewell, book: Path, data: Path
) -> None:
    with running("ingest", str(book), "--watch", data=data) as process:
        assert "1 embedded" in read_until(process, "Watching")

        (book / "second.md").write_text("# Second\n\nThe new words of the keeper.\n")
        assert "2 chunks" in (seen := read_until(process, "added second.md"))
        assert "1 embedded" in seen

        (book / "second.md").write_text("---\ntitle: [unclosed\n---\nWords.\n")
        read_until(process, "skipped second.md: front matter is not valid YAML")

        shutil.move(book / "first.md", book.parent / "aside.md")
        (book / "second.md").unlink()
        read_until(process, "is an empty folder.")

        (book / "third.md").write_text("# Third\n\nThe last words of the keeper.\n")
        assert "removed first.md" in read_until(process, "removed first.md")

        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert "Stopped watching" in (said := process.stderr.read())
        assert process.wait() == 0
    assert "Traceback" not in said
    assert "The last words" in citewell("search", "words", data=data).stdout


def test_a_path_that_holds_no_book_is_not_watched(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("ingest", "nowhere", "--watch", data=tmp_path / "data")

    assert run.returncode == 1
    assert "nowhere does not exist." in run.stderr
