"""The worker process that reads books, started by `citewell.ingest.subprocess_reader`.

An untrusted page can hang a parser, exhaust memory or crash a library. Here it ends only a process
without state, not the one that serves or embeds.

Jobs arrive on standard input; events are written to standard output.
"""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence

from citewell.errors import CitewellError
from citewell.ingest.formats.time_limit import Budget, apply_budget
from citewell.ingest.reader import (
    Fingerprint,
    IngestJob,
    PageStarted,
    PipeChannel,
    TokenCountRequest,
    read_book,
)

IDLE_TIMEOUT_SECONDS = 30


def run_job(channel: PipeChannel, job: IngestJob) -> None:
    """Read one book and send its events, or the error that ended it."""

    def count(texts: Sequence[str]) -> list[int]:
        channel.send(TokenCountRequest(texts))
        sizes = channel.receive()
        assert isinstance(sizes, list)
        return sizes

    budget = Budget(
        seconds=job.options.max_page_seconds,
        memory=job.options.max_memory_bytes,
        on_page_start=lambda name: channel.send(PageStarted(name)),
        skipped_pages=job.skipped_pages,
    )
    try:
        with apply_budget(budget):
            for event in read_book(job, count):
                channel.send(event)
                if isinstance(event, Fingerprint) and not channel.receive():
                    return
    except (EOFError, BrokenPipeError):
        raise
    except CitewellError as error:
        channel.send(error)
    except MemoryError:
        channel.send(CitewellError(f"{job.source} {budget.too_large}."))
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        error.add_note(traceback.format_exc())
        channel.send(error)


def main() -> None:
    """Run jobs until the parent ends or sends nothing for `IDLE_TIMEOUT_SECONDS`."""
    # Ctrl-C is handled by the parent, which ends the worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000)  # parsed documents hold many objects and little garbage
    channel = PipeChannel(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # keeps what libraries print out of the message stream
    try:
        while True:
            # Not `select`, which does not see a job that is already in the buffer.
            signal.alarm(IDLE_TIMEOUT_SECONDS)
            job = channel.receive()
            signal.alarm(0)
            assert isinstance(job, IngestJob)
            os.chdir(job.working_folder)
            run_job(channel, job)
    except (EOFError, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
