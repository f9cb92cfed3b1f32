"""What was worked out for a text, kept for the next time: many short texts, few long ones."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

LONG_TEXT_CHARS = 2_500
"""Characters of a text that is longer than nearly every passage of a book."""
LONG_TEXT_CACHE_SIZE = 32
T = TypeVar("T")


def memoize_text(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps the results for the last `most` texts.

    Callers choose what is asked about: of long texts only a few are kept, so that memory does not
    grow with their length.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        of_short, of_long = lru_cache(most)(function), lru_cache(LONG_TEXT_CACHE_SIZE)(function)

        @wraps(function)
        def look_up(text: str) -> T:
            return of_short(text) if len(text) <= LONG_TEXT_CHARS else of_long(text)

        return look_up

    return decorate
