"""Memoize functions of a text: cache many short texts, but few long ones."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

LONG_TEXT_CHARS = 2_500
"""Longer than nearly every passage of a book."""
LONG_TEXT_CACHE_SIZE = 32
T = TypeVar("T")


def memoize_text(size: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that caches the results for the last `size` texts.

    Texts may come from clients, so only a few long ones are cached, to bound memory.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        short_texts = lru_cache(size)(function)
        long_texts = lru_cache(LONG_TEXT_CACHE_SIZE)(function)

        @wraps(function)
        def look_up(text: str) -> T:
            return short_texts(text) if len(text) <= LONG_TEXT_CHARS else long_texts(text)

        return look_up

    return decorate
