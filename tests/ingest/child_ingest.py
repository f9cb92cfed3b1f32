"""Ingests a book in a process of its own, so that a test can stop it, kill it or limit its files.

Usage: child_ingest.py DOUBLES BOOK LIBRARY PAUSE_AT FILE_LIMIT

PAUSE_AT is `embed`, which pauses with the first batch kept, or a function of the publishing before
which to pause; `-` pauses nowhere.
"""

import resource
import runpy
import signal
import sys
from pathlib import Path

from citewell.errors import CitewellError
from citewell.index.vectors import VectorStore
from citewell.ingest import pipeline, staging

doubles, book, library, pause_at, limit = sys.argv[1:]


def pause(*_: object, **__: object) -> None:
    sys.stdout.write("paused\n")
    sys.stdout.flush()
    signal.pause()


# Loaded by its file: the package around it takes seconds to import.
embedder = runpy.run_path(doubles)["HashEmbedder"]()
if pause_at == "embed":
    keep = VectorStore.add
    kept: list[VectorStore] = []

    def keep_once(store: VectorStore, *what: object) -> None:
        if kept:
            pause()
        keep(store, *what)  # type: ignore[arg-type]
        kept.append(store)

    VectorStore.add = keep_once  # type: ignore[method-assign]
elif pause_at != "-":
    setattr(staging, pause_at, pause)
if int(limit):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))

try:
    pipeline.ingest(Path(book), Path(library), embedder, book="lamps")
except CitewellError as error:
    sys.exit(f"{type(error).__name__}: {error}")
