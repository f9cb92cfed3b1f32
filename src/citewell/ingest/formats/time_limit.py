"""Limit the CPU time of each page and the memory of the worker process.

A page of a few kilobytes can keep a parser busy for hours. In `citewell.ingest.worker`, a timer
interrupts such a page. If the parser does not react, the system ends the worker, and the next one
skips the page.
"""

import math
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

from citewell.domain import SkippedFile
from citewell.errors import UnreadableFile

BOOK_TIME_FACTOR = 30
"""The work outside pages (configuration, navigation) may take this many times a page's limit."""


class PageTimeout(BaseException):
    """A page has used up its time; a `BaseException`, so that no parser swallows it."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """The CPU seconds of each page, and the memory in bytes of the whole book."""

    seconds: float
    memory: int
    on_page_start: Callable[[str], None] = lambda _: None
    """Called with the name of each page before it is read."""
    skipped_pages: Mapping[str, str] = field(default_factory=dict)
    """Pages that ended an earlier worker, with the reason."""
    skip_reason: str = ""
    """Why the current page is skipped."""
    _failures: dict[str, str] = field(default_factory=dict)

    @property
    def too_long(self) -> str:
        """The reason for a page that exceeds the time limit."""
        return f"takes longer than {self.seconds:g} s to read (CITEWELL_INGEST__MAX_PAGE_SECONDS)"

    @property
    def too_large(self) -> str:
        """The reason for a page that exceeds the memory limit."""
        return (
            f"takes more than {self.memory / 1e9:g} GB of memory to read"
            " (CITEWELL_INGEST__MAX_MEMORY_BYTES)"
        )

    @contextmanager
    def page(self, name: str) -> Iterator[None]:
        """Limit the CPU time of the block.

        Raises:
            UnreadableFile: it took too long or too much memory.
        """
        self.skip_reason = self.skipped_pages.get(name) or self._failures.get(name) or ""
        self.on_page_start(name)
        _set_timer(self.seconds)
        try:
            yield
        except PageTimeout as error:
            self._failures[name] = self.too_long
            raise UnreadableFile(self.too_long) from error
        except MemoryError as error:
            self._failures[name] = self.too_large
            raise UnreadableFile(self.too_large) from error
        finally:
            self.skip_reason = ""
            _set_timer(self.seconds * BOOK_TIME_FACTOR)


_budget: Budget | None = None


@contextmanager
def apply_budget(budget: Budget) -> Iterator[None]:
    """Apply the budget to every page read in the block; only in the main thread.

    Raises:
        UnreadableFile: the work outside pages took too long.
    """
    global _budget  # noqa: PLW0603 - signals and limits are global to the process, too
    _set_memory(budget.memory)
    signal.signal(signal.SIGPROF, _interrupt)
    _budget = budget
    _set_timer(budget.seconds * BOOK_TIME_FACTOR)
    try:
        yield
    except PageTimeout as error:
        seconds = budget.seconds * BOOK_TIME_FACTOR
        raise UnreadableFile(
            f"The book takes longer than {seconds:g} s to read, not counting its pages"
            " (CITEWELL_INGEST__MAX_PAGE_SECONDS)."
        ) from error
    finally:
        _set_timer(0)
        _budget = None


@contextmanager
def skip_on_error(source: str, skipped: list[SkippedFile], step: str = "") -> Iterator[None]:
    """Record an unreadable page in `skipped` instead of raising.

    Each `step` of a page has its own time limit.
    """
    try:
        if _budget is None:
            yield
        else:
            with _budget.page(f"{step} {source}" if step else source):
                yield
    except UnreadableFile as error:
        skipped.append(SkippedFile(source=source, reason=str(error)))


def check_time_limit() -> None:
    """Check that the current page may be read; call it before any work on a page.

    Raises:
        UnreadableFile: the page took too long, or ended a worker, before.
    """
    if _budget is not None and _budget.skip_reason:
        raise UnreadableFile(_budget.skip_reason)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise PageTimeout


def _set_timer(seconds: float) -> None:
    """Interrupt after this CPU time and each second from then on; after twice the time, exit.

    Zero disables both.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0 if seconds else 0.0)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(time.process_time() + 2 * seconds) + 1 if seconds else hard
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (_at_most(soft, hard), hard))


def _set_memory(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    # macOS has the limit but refuses to set it.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_at_most(size, hard), hard))


def _at_most(soft: int, hard: int) -> int:
    return soft if hard == resource.RLIM_INFINITY else min(soft, hard)
