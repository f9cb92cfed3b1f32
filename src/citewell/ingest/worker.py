"""The process that reads books.

`python -m citewell.ingest.worker`, started by `citewell.ingest.process`.

A page that a stranger wrote can keep a parser busy for hours, fill the memory, or make a library
crash. Here that ends one process that holds nothing, not the one that serves or embeds.

Jobs come on standard input; what is told goes back on standard output.
"""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence

from citewell.errors import CitewellError
from citewell.ingest.formats.time_limit import Budget, apply_budget
from citewell.ingest.steps import (
    Fingerprint,
    IngestJob,
    PageStarted,
    PipeChannel,
    TokenCountRequest,
    steps,
)

IDLE = 30
"""Seconds after which a process without work ends."""


def work(wire: PipeChannel, job: IngestJob) -> None:
    """Read one book and tell its steps; what goes wrong is told as well."""

    def count(texts: Sequence[str]) -> list[int]:
        wire.send(TokenCountRequest(texts))
        sizes = wire.receive()
        assert isinstance(sizes, list)
        return sizes

    budget = Budget(
        seconds=job.options.max_page_seconds,
        memory=job.options.max_memory_bytes,
        begin=lambda name: wire.send(PageStarted(name)),
        left_out=job.left_out,
    )
    try:
        with apply_budget(budget):
            for step in steps(job, count):
                wire.send(step)
                if isinstance(step, Fingerprint) and not wire.receive():
                    return
    except (EOFError, BrokenPipeError):
        raise
    except CitewellError as error:
        wire.send(error)
    except MemoryError:
        wire.send(CitewellError(f"{job.source} {budget.too_large}."))
    except Exception as error:  # noqa: BLE001 - raised where the book was asked for
        error.add_note(traceback.format_exc())
        wire.send(error)


def main() -> None:
    """Work until the other process is gone, or has had nothing to do for a while."""
    # Ctrl-C is for the process that was started by hand; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000)  # a book's parsed nodes are not walked over and over for rubbish
    wire = PipeChannel(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # what a library prints is no message
    try:
        while True:
            # Not `select`: the next job may already wait in the buffer, where it would not be seen.
            signal.alarm(IDLE)
            job = wire.receive()
            signal.alarm(0)
            assert isinstance(job, IngestJob)
            os.chdir(job.folder)
            work(wire, job)
    except (EOFError, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
