"""A circuit breaker: a model that fails again and again is left alone for a while."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row; open, it lets one question through after each rest."""

    after: int = 5
    rest: float = 30.0
    clock: Callable[[], float] = field(default=monotonic, repr=False)
    failures: int = 0
    _opened_at: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the model has failed too often to be relied on."""
        return self.failures >= self.after

    @property
    def is_resting(self) -> bool:
        """Whether the model is left alone now; after each rest it is worth a try again."""
        return self.is_open and self.clock() - self._opened_at < self.rest

    def lets_through(self) -> bool:
        """Tell whether the model may be tried now; an open one is tried once a rest."""
        if not self.is_open:
            return True
        if self.is_resting:
            return False
        self._opened_at = self.clock()  # the next ones wait for what this one finds
        return True

    def failed(self) -> None:
        """Note that the model could not be used."""
        self.failures += 1
        self._opened_at = self.clock()

    def succeeded(self) -> None:
        """Note that it could."""
        self.failures = 0
