"""How long one page may take to read, and what becomes of a page that takes longer.

A page of a few kilobytes can keep a parser busy for hours. Where books are read in a process of
their own (see `citewell.ingest.worker`), a timer interrupts such a page; should the parser not
notice, the system ends the process, and the next one leaves the page out.
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
"""How many times as long as a page the rest of a book may take: its configuration, its order."""


class PageTimeout(BaseException):
    """A page has used up its time; no parser that survives any `Exception` keeps it going."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """The time of every page, in seconds of the processor, and the memory of the whole book."""

    seconds: float
    memory: int
    begin: Callable[[str], None] = lambda _: None
    """Told the name of each page before it is read."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Pages that ended an earlier process, and how."""
    refusal: str = ""
    """Why the page that is begun is not to be looked at."""
    _slow: dict[str, str] = field(default_factory=dict)

    @property
    def too_long(self) -> str:
        """Why a page is left out that used up its time."""
        return f"takes longer than {self.seconds:g} s to read (CITEWELL_INGEST__MAX_PAGE_SECONDS)"

    @property
    def too_large(self) -> str:
        """Why a page is left out that used up the memory."""
        return (
            f"takes more than {self.memory / 1e9:g} GB of memory to read"
            " (CITEWELL_INGEST__MAX_MEMORY_BYTES)"
        )

    @contextmanager
    def page(self, name: str) -> Iterator[None]:
        """Limit the time of what is done inside.

        Raises:
            UnreadableFile: it took too long.
        """
        self.refusal = self.left_out.get(name) or self._slow.get(name) or ""
        self.begin(name)
        _set_timer(self.seconds)
        try:
            yield
        except PageTimeout as error:
            self._slow[name] = self.too_long
            raise UnreadableFile(self.too_long) from error
        except MemoryError as error:
            self._slow[name] = self.too_large
            raise UnreadableFile(self.too_large) from error
        finally:
            self.refusal = ""
            _set_timer(self.seconds * BOOK_TIME_FACTOR)


_budget: Budget | None = None


@contextmanager
def apply_budget(budget: Budget) -> Iterator[None]:
    """Keep every page that is read inside to the budget; only for a process's main thread.

    Raises:
        UnreadableFile: what belongs to no page took too long.
    """
    global _budget  # noqa: PLW0603 - signals and limits belong to the process, too
    _set_memory(budget.memory)
    signal.signal(signal.SIGPROF, _interrupt)
    _budget = budget
    _set_timer(budget.seconds * BOOK_TIME_FACTOR)
    try:
        yield
    except PageTimeout as error:
        seconds = budget.seconds * BOOK_TIME_FACTOR
        raise UnreadableFile(
            f"The book takes longer than {seconds:g} s to read, its pages not counted"
            " (CITEWELL_INGEST__MAX_PAGE_SECONDS)."
        ) from error
    finally:
        _set_timer(0)
        _budget = None


@contextmanager
def skip_on_error(source: str, skipped: list[SkippedFile], step: str = "") -> Iterator[None]:
    """Note why a page cannot be read, and go on with the next.

    A later `step` of the same page has a time of its own.
    """
    try:
        if _budget is None:
            yield
        else:
            with _budget.page(f"{step} {source}" if step else source):
                yield
    except UnreadableFile as error:
        skipped.append(SkippedFile(source=source, reason=str(error)))


def check_budget() -> None:
    """Make sure that the page may be looked at: called before any work on one.

    Raises:
        UnreadableFile: it took too long, or ended a process, before.
    """
    if _budget is not None and _budget.refusal:
        raise UnreadableFile(_budget.refusal)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise PageTimeout


def _set_timer(seconds: float) -> None:
    """Interrupt after so many seconds of work, again each second, and end the process after twice.

    None ends both.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0 if seconds else 0.0)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(time.process_time() + 2 * seconds) + 1 if seconds else hard
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (_at_most(soft, hard), hard))


def _set_memory(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    # macOS knows the limit and does not let it be set.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_at_most(size, hard), hard))


def _at_most(wanted: int, hard: int) -> int:
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
