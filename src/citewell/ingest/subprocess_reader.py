"""Read books in a worker process, so that no page can hang, exhaust or crash this one."""

import atexit
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Lock

from citewell.errors import IngestError
from citewell.ingest.chunking import CountTokens
from citewell.ingest.formats.time_limit import Budget
from citewell.ingest.reader import (
    BookFinished,
    BookOpened,
    Fingerprint,
    IngestJob,
    PageChunked,
    PageStarted,
    PipeChannel,
    ReadEvent,
    TokenCountRequest,
    read_book,
)

MAX_CRASHES = 20
"""A book with more pages that end the worker is not read."""
_UNLIMITED_NOTE = (
    f"The book was read without limits on time and memory, because {sys.executable or 'Python'}"
    " cannot be started as a worker process."
)
_CHANNEL_ERRORS = (EOFError, BrokenPipeError, ConnectionResetError, pickle.UnpicklingError)


def read_in_subprocess(job: IngestJob, count: CountTokens) -> Generator[ReadEvent]:
    """Yield the events of reading a book; skip pages that end the worker.

    Raises:
        IngestError: there is no book, or it cannot be read.
    """
    if not _can_start_process():
        yield from _read_in_process(job, count)
        return
    yielded = 0
    for _ in range(MAX_CRASHES + 1):
        with _JobRun(job, count) as run:
            for number, event in enumerate(run):
                # After a crash the book is read from the start; do not repeat events.
                if number >= yielded:
                    yielded = number + 1
                    yield event
            if run.is_finished:
                return
        job = replace(job, skipped_pages={**job.skipped_pages, **run.crashed_page()})
    raise IngestError(f"{job.source} cannot be read: more than {MAX_CRASHES} pages crash.")


def _can_start_process() -> bool:
    effective_ids = os.access in os.supports_effective_ids
    return bool(sys.executable) and os.access(sys.executable, os.X_OK, effective_ids=effective_ids)


def _read_in_process(job: IngestJob, count: CountTokens) -> Iterator[ReadEvent]:
    """Read the book without a worker and its limits, and note that in the report."""
    for event in read_book(job, count):
        if isinstance(event, BookFinished):
            yield replace(event, notes=(*event.notes, _UNLIMITED_NOTE))
        else:
            yield event


class _JobRun:
    def __init__(self, job: IngestJob, count: CountTokens) -> None:
        self._job = job
        self._count = count
        self._current_page = ""
        self._awaits_reply = False
        self._exit_code = 0
        self.is_finished = False

    def __enter__(self) -> "_JobRun":
        self._worker = _get_worker()
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if self._awaits_reply:  # tell the worker to stop
            with suppress(OSError):
                self._worker.channel.send(False)
        if self._awaits_reply or self.is_finished:
            _release_worker(self._worker)
        else:
            self._exit_code = self._worker.end(crashed=error_type is None)

    def __iter__(self) -> Iterator[ReadEvent]:
        """Yield events until the book is finished or the worker ends."""
        channel = self._worker.channel
        with suppress(*_CHANNEL_ERRORS):
            channel.send(self._job)
            while not self.is_finished:
                match channel.receive():
                    case PageStarted() as name:
                        self._current_page = str(name)
                    case TokenCountRequest() as texts:
                        channel.send(self._count(texts))
                    case Exception() as error:
                        self.is_finished = True
                        raise error
                    case Fingerprint() as event:
                        self._awaits_reply = True
                        yield event
                        self._awaits_reply = False
                        channel.send(True)
                    case BookOpened() | PageChunked() | BookFinished() as event:
                        self.is_finished = isinstance(event, BookFinished)
                        yield event

    def crashed_page(self) -> dict[str, str]:
        """Return the name of the page that ended the worker, with the reason.

        Raises:
            IngestError: the worker ended before the first page.
        """
        options = self._job.options
        budget = Budget(seconds=options.max_page_seconds, memory=options.max_memory_bytes)
        reason = {-signal.SIGXCPU: budget.too_long, -signal.SIGKILL: budget.too_large}.get(
            self._exit_code, "crashes the library that reads it"
        )
        if self._current_page:
            return {self._current_page: reason}
        if self._worker.is_new:
            raise IngestError(f"{self._job.source} cannot be read: its configuration {reason}.")
        return {}


class _Worker:
    def __init__(self) -> None:
        # -P: a book may hold a file named like a module, which must not be imported.
        command = [sys.executable, "-P", "-m", "citewell.ingest.worker"]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - Citewell itself
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise IngestError(f"The worker process cannot be started: {error}.") from error
        assert self._process.stdin
        assert self._process.stdout
        self.channel = PipeChannel(self._process.stdout, self._process.stdin)
        self.is_new = True
        self._parent = _process_identity()

    def is_alive(self) -> bool:
        """Return whether the worker runs and was started by this process and user."""
        return self._parent == _process_identity() and self._process.poll() is None

    def end(self, *, crashed: bool = False) -> int:
        """End the process and return its exit code."""
        with suppress(subprocess.TimeoutExpired):
            # Killing a crashing process would hide the signal that ended it.
            self._process.wait(timeout=1 if crashed else 0)
        with suppress(OSError):
            self._process.kill()
        self.close()
        return self._process.wait()

    def close(self) -> None:
        """Close the pipes; a worker that still runs then ends by itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()


def _process_identity() -> tuple[int, int, int]:
    return os.getpid(), os.geteuid(), os.getegid()


_idle_workers: list[_Worker] = []
_lock = Lock()


def _get_worker() -> _Worker:
    """Return the idle worker, or start one."""
    with _lock:
        while _idle_workers:
            worker = _idle_workers.pop()
            if worker.is_alive():
                worker.is_new = False
                return worker
            worker.close()
    return _Worker()


def _release_worker(worker: _Worker) -> None:
    """Keep the worker for the next book: starting one takes longer than reading a few pages."""
    with _lock:
        if not _idle_workers:
            _idle_workers.append(worker)
            return
    worker.end()


@atexit.register
def _end_idle_worker() -> None:
    with _lock:
        while _idle_workers:
            worker = _idle_workers.pop()
            if worker.is_alive():
                worker.end()
