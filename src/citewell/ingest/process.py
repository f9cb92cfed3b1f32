"""A book read by another process, so that no page can stop, fill or crash this one."""

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
from citewell.ingest.steps import (
    BookFinished,
    BookOpened,
    Fingerprint,
    IngestJob,
    PageChunked,
    PageStarted,
    PipeChannel,
    Step,
    TokenCountRequest,
    steps,
)

MAX_CRASHES = 20
"""So many pages may end the process that reads them; a book with more is given up."""
_UNLIMITED = (
    f"The book was read without limits on time and memory: {sys.executable or 'Python'} cannot be"
    " started a second time."
)
_EFFECTIVE = os.access in os.supports_effective_ids
_PIPE_ERRORS = (EOFError, BrokenPipeError, ConnectionResetError, pickle.UnpicklingError)


def read_steps(job: IngestJob, count: CountTokens) -> Generator[Step]:
    """Yield the steps of reading a book; a page that crashes its process is left out.

    Raises:
        IngestError: there is no book, or it cannot be read at all.
    """
    if not _can_start():
        yield from _read_here(job, count)
        return
    told = 0
    for _ in range(MAX_CRASHES + 1):
        with _Session(job, count) as session:
            for number, step in enumerate(session):
                # After a crash the book is read again, and its first steps are known.
                if number >= told:
                    told = number + 1
                    yield step
            if session.is_finished:
                return
        job = replace(job, left_out={**job.left_out, **session.crashed_page()})
    raise IngestError(f"{job.source} cannot be read: more than {MAX_CRASHES} pages crash.")


def _can_start() -> bool:
    return bool(sys.executable) and os.access(sys.executable, os.X_OK, effective_ids=_EFFECTIVE)


def _read_here(job: IngestJob, count: CountTokens) -> Iterator[Step]:
    """Yield the steps where no other process can be started, without limits; the report says so."""
    for step in steps(job, count):
        if isinstance(step, BookFinished):
            yield replace(step, notes=(*step.notes, _UNLIMITED))
        else:
            yield step


class _Session:
    """One job given to one process."""

    def __init__(self, job: IngestJob, count: CountTokens) -> None:
        self._job = job
        self._count = count
        self._at = ""
        self._asks = False
        self._code = 0
        self.is_finished = False

    def __enter__(self) -> "_Session":
        self._worker = _get_worker()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._asks:  # whether to go on: no
            with suppress(OSError):
                self._worker.wire.send(False)
        if self._asks or self.is_finished:
            _release_worker(self._worker)
        else:
            self._code = self._worker.end(crashed=kind is None)

    def __iter__(self) -> Iterator[Step]:
        """Yield the steps as long as the process lives."""
        wire = self._worker.wire
        with suppress(*_PIPE_ERRORS):
            wire.send(self._job)
            while not self.is_finished:
                match wire.receive():
                    case PageStarted() as name:
                        self._at = str(name)
                    case TokenCountRequest() as texts:
                        wire.send(self._count(texts))
                    case Exception() as error:
                        self.is_finished = True
                        raise error
                    case Fingerprint() as step:
                        self._asks = True
                        yield step
                        self._asks = False
                        wire.send(True)
                    case BookOpened() | PageChunked() | BookFinished() as step:
                        self.is_finished = isinstance(step, BookFinished)
                        yield step

    def crashed_page(self) -> dict[str, str]:
        """Return the page that ended the process, and how.

        Raises:
            IngestError: it was no page.
        """
        options = self._job.options
        budget = Budget(seconds=options.max_page_seconds, memory=options.max_memory_bytes)
        why = {-signal.SIGXCPU: budget.too_long, -signal.SIGKILL: budget.too_large}.get(
            self._code, "crashes the library that reads it"
        )
        if self._at:
            return {self._at: why}
        if self._worker.is_fresh:
            raise IngestError(f"{self._job.source} cannot be read: its configuration {why}.")
        return {}


class _Worker:
    """One process that reads books, with what is said to it and by it."""

    def __init__(self) -> None:
        # Not from the working folder: a book may hold a file that is called like a module.
        command = [sys.executable, "-P", "-m", "citewell.ingest.worker"]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - Citewell itself
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise IngestError(f"No process can be started to read books: {error}.") from error
        assert self._process.stdin
        assert self._process.stdout
        self.wire = PipeChannel(self._process.stdout, self._process.stdin)
        self.is_fresh = True
        self._owner = _owner()

    def is_alive(self) -> bool:
        """Whether it waits for work that this process and user may give it."""
        return self._owner == _owner() and self._process.poll() is None

    def end(self, *, crashed: bool = False) -> int:
        """End the process, and return how it ended."""
        with suppress(subprocess.TimeoutExpired):
            # One that is about to crash is not killed, or it would say only that.
            self._process.wait(timeout=1 if crashed else 0)
        with suppress(OSError):
            self._process.kill()
        self.close()
        return self._process.wait()

    def close(self) -> None:
        """Close this side of the pipes; a process that is still there ends by itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()


def _owner() -> tuple[int, int, int]:
    return os.getpid(), os.geteuid(), os.getegid()


_idle: list[_Worker] = []
_lock = Lock()


def _get_worker() -> _Worker:
    """Return a process that waits for work, or a new one."""
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.is_alive():
                worker.is_fresh = False
                return worker
            worker.close()
    return _Worker()


def _release_worker(worker: _Worker) -> None:
    """Keep a process for the next book: starting one takes longer than reading a few pages."""
    with _lock:
        if not _idle:
            _idle.append(worker)
            return
    worker.end()


@atexit.register
def _end_idle() -> None:
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.is_alive():
                worker.end()
