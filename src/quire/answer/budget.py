"""What models that run elsewhere may take: of time and tokens for one answer, and of a day."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

from quire.errors import BudgetSpent, ModelMisbehaved, ModelTimedOut
from quire.folders import make_private

Clock = Callable[[], datetime]


@dataclass(slots=True)
class Budget:
    """What one answer may take, and what it has taken."""

    seconds: float
    tokens: int
    begun: float = field(default_factory=monotonic)
    read: int = 0
    written: int = 0
    reported: int = 0
    """Tokens that a model counted itself; of a stream that was cut off they are estimated."""

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.begun + self.seconds - monotonic()

    def check(self) -> None:
        """Let another call of a model begin.

        Raises:
            ModelTimedOut: there is no time left.
            ModelMisbehaved: there are no tokens left.
        """
        if self.left <= 0:
            raise ModelTimedOut(f"The answer took longer than {self.seconds:g} seconds.")
        if self.read + self.written >= self.tokens:
            raise ModelMisbehaved(f"The answer took more than {self.tokens} tokens.")

    def wait(self, seconds: float) -> asyncio.Timeout:
        """Wait so long at most, and not longer than there is time."""
        return asyncio.timeout(max(0.0, min(seconds, self.left)))

    def count(self, read: int, written: int, *, estimated: bool = False) -> None:
        """Add what a call took."""
        self.read += read
        self.written += written
        self.reported += 0 if estimated else read + written


@dataclass(slots=True)
class _Day:
    date: str = ""
    read_to: int = 0
    tokens: int = 0
    dollars: float = 0.0


class Spending:
    """What all processes on one data folder spend in a day, a line an answer in a file.

    A short line that is appended arrives whole, so nothing has to be locked; each process reads on
    from where it stopped. Days are those of UTC.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tokens: int | None = None,
        dollars: float | None = None,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        """Keep the files in `folder`; without a limit nothing is written."""
        self._folder = folder
        self._tokens = tokens
        self._dollars = dollars
        self._clock = clock
        self._day = _Day()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._tokens is not None or self._dollars is not None

    def check(self) -> None:
        """Let another answer begin.

        Raises:
            BudgetSpent: what a day may cost has been spent.
        """
        if not self.limited:
            return
        day = self._today()
        over = self._tokens is not None and day.tokens >= self._tokens
        if over or (self._dollars is not None and day.dollars >= self._dollars):
            now = self._clock()
            midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            raise BudgetSpent(
                f"The models' budget for {day.date} is spent: {day.tokens} tokens, "
                f"{day.dollars:.4f} dollars.",
                retry_after=max(1, int((midnight - now).total_seconds())),
            )

    def add(self, tokens: int, dollars: float | None) -> None:
        """Note what an answer took."""
        if not self.limited:
            return
        make_private(self._folder)
        line = f"{tokens} {dollars or 0.0:.6f}\n".encode()
        file = os.open(self._file(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def _file(self) -> Path:
        return self._folder / f"{self._clock():%Y-%m-%d}.txt"

    def _today(self) -> _Day:
        file = self._file()
        if self._day.date != file.stem:
            self._day = _Day(date=file.stem)
        day = self._day
        if file.exists():
            with file.open("rb") as lines:
                lines.seek(day.read_to)
                for line in lines:
                    tokens, dollars = line.split()
                    day.tokens += int(tokens)
                    day.dollars += float(dollars)
                day.read_to = lines.tell()
        return day
