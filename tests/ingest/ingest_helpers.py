"""What the tests of ingest share."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from citewell.domain import Chunk
from citewell.index.library import DiskLibrary
from citewell.index.revision import current_revision, read_chunks
from citewell.ingest.pipeline import IngestReport, ingest
from tests.servers import HashEmbedder, doubles

Files = Mapping[str, str]
WriteBook = Callable[[Files], Path]
NOBODY = 65534
Content = list[tuple[Chunk, list[float]]]

LAMPS = {
    f"page{p}.md": "".join(
        f"## Lamp {n}\n\nLamp number {p}.{n} burns word{p * 10 + n}.\n\n" for n in range(10)
    )
    for p in range(10)
}
"""A book of a hundred chunks: more than one batch of the embedder."""


def ingest_lamps(book: Path, library: Path, embedder: HashEmbedder | None = None) -> IngestReport:
    """Ingest the book under the name that `content` and the child process use."""
    return ingest(book, library, embedder or HashEmbedder(), book="lamps")


def content(library: Path) -> tuple[str, Content]:
    """Give what readers see: the revision, and every chunk with its vector, without the clock."""
    shelf = DiskLibrary(library, embedder=HashEmbedder.id)
    index = shelf.open("lamps")
    folder = current_revision(library / "lamps")
    assert folder
    ids = [chunk.id for chunk in read_chunks(folder)]
    when = datetime(2024, 5, 1, tzinfo=UTC)
    found = [(replace(c, processed_at=when), v.tolist()) for c, v in index.fetch(ids)]
    shelf.close()
    return index.revision, found


def _child(book: Path, library: Path, pause_at: str = "-", file_limit: int = 0) -> list[str]:
    script = Path(__file__).with_name("child_ingest.py")
    places = (script, doubles.__file__, book, library)
    return [sys.executable, *map(str, places), pause_at, str(file_limit)]


@contextmanager
def paused_ingest(book: Path, library: Path, at: str) -> Iterator[None]:
    """Another process ingests the book as far as `at`; at the end it is killed with signal 9."""
    command = _child(book, library, pause_at=at)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout
            assert child.stdout.readline() == "paused\n"
            yield
        finally:
            child.kill()
    assert child.returncode == -signal.SIGKILL


def child_ingest(book: Path, library: Path, *, file_limit: int = 0) -> tuple[int, str]:
    """Another process ingests the book; gives its exit code and what it said."""
    command = _child(book, library, file_limit=file_limit)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, so these tests step down for a moment."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def chunks(library: Path) -> list[Chunk]:
    """Give every chunk of the book that `ingest_lamps` read last."""
    folder = current_revision(library / "lamps")
    assert folder
    return list(read_chunks(folder))


def texts(library: Path) -> list[str]:
    """Return the text of every chunk of the book that `ingest_lamps` read last."""
    return [chunk.text for chunk in chunks(library)]
